"""RVWMO by axioms: the outcomes that the RISC-V manual allows a litmus test, by enumeration of candidate executions.

Each thread is executed with every value that a load may find; for each combination of threads, each source of every
load and each order of the stores to a location, the axioms are checked as the manual's appendix states them: coherence
by location, atomicity, and a global order that has the preserved program order (its thirteen rules), external reads
and the orders of stores. An amo is one event that reads and writes. Accesses have the size of their location.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from litmus_file import Instruction, LitmusError, LitmusTest, Outcome, Place, number, register

MASK = (1 << 64) - 1
INITIAL = -1  #: the event that wrote every initial value
MOST_BRANCHES = 2_000_000  #: candidate executions of a test; more are refused

Edges = set[tuple[int, int]]


@dataclass
class Event:
    """A memory operation of a thread."""

    thread: int
    position: int  #: in the thread's program order
    location: str
    reads: int | None = None  #: the value, as in memory
    writes: int | None = None
    acquire: bool = False
    release: bool = False
    is_amo: bool = False
    is_conditional: bool = False
    pair: int | None = None  #: of a successful sc: the position of its lr
    address_of: frozenset[int] = frozenset()  #: positions of events on whose results the address depends
    data_of: frozenset[int] = frozenset()
    control_of: frozenset[int] = frozenset()


@dataclass
class Trace:
    """One way through a thread."""

    events: list[Event] = field(default_factory=list)
    fences: list[tuple[int, str, str]] = field(default_factory=list)  #: before position, predecessors, successors
    registers: dict[int, int] = field(default_factory=dict)


def signed(value: int, bits: int = 64) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


_ALU = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "sll": lambda a, b: a << (b & 63),
    "srl": lambda a, b: a >> (b & 63),
    "slt": lambda a, b: int(signed(a) < signed(b)),
    "sltu": lambda a, b: int(a < b),
    "addw": lambda a, b: signed(a + b, 32),
    "mul": lambda a, b: a * b,
}  # fmt: skip
_BRANCHES = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}  # fmt: skip
_AMOS = {
    "amoswap": lambda old, new: new,
    "amoadd": lambda old, new: old + new,
    "amoxor": lambda old, new: old ^ new,
    "amoand": lambda old, new: old & new,
    "amoor": lambda old, new: old | new,
}  # fmt: skip


def access(operand: str) -> tuple[int, int]:
    """Offset and base register of `8(x5)` or `(x5)`."""
    offset, _, base = operand.partition("(")
    if not base.endswith(")"):
        raise LitmusError(f"'{operand}' is no address: it should be like 0(x5)")
    value = number(offset) if offset.strip() else 0
    if value is None:
        raise LitmusError(f"'{offset}' is no offset")
    return value, register(base[:-1])


class _Thread:
    """All traces of one thread, given the values that each location may hold."""

    def __init__(self, test: LitmusTest, thread: int, model: Model, values: dict[str, set[int]]) -> None:
        self.code = test.threads[thread]
        self.thread = thread
        self.model = model
        self.values = values
        self.labels = {label: i for i, ins in enumerate(self.code) for label in ins.labels}
        self.traces: list[Trace] = []
        start = {r: model.number_of(v) for (t, r), v in test.registers.items() if t == thread}
        self._run(0, start, {}, Trace(), frozenset(), None)

    def _run(
        self,
        at: int,
        regs: dict[int, int],
        taints: dict[int, frozenset[int]],
        trace: Trace,
        control: frozenset[int],
        reserved: int | None,
    ) -> None:
        """Goes on at instruction `at`; a load branches out over its values."""
        while at < len(self.code):
            ins = self.code[at]
            at += 1
            name, ops = ins.name, ins.operands
            base, *suffixes = name.split(".")
            if name == "nop":
                continue
            if base == "fence":
                self._fence(ins, trace)
                continue
            if base in _BRANCHES or base in {"beqz", "bnez", "j"}:
                taken, sources = self._branch(base, ops, regs, taints)
                control |= sources
                if not taken:
                    continue
                target = self.labels.get(ops[-1])
                if target is None:
                    raise LitmusError(f"the label {ops[-1]} is not in P{self.thread}")
                if target < at:
                    raise LitmusError(f"P{self.thread} branches backwards: tests with loops are not judged")
                at = target
                continue
            if base in {"lw", "ld", "lwu", "sw", "sd", "lr", "sc"} or base in _AMOS:
                for after in self._access(base, suffixes, ops, regs, taints, trace, control, reserved):
                    self._run(at, *after)
                return
            self._compute(base, ops, regs, taints)
        self.traces.append(Trace(trace.events, trace.fences, regs))

    def _fence(self, ins: Instruction, trace: Trace) -> None:
        position = len(trace.events)
        if ins.name == "fence.i":
            return
        if ins.name == "fence.tso":
            trace.fences += [(position, "r", "rw"), (position, "w", "w")]
            return
        before, after = ins.operands if ins.operands else ("rw", "rw")
        trace.fences.append((position, before.lower(), after.lower()))

    @staticmethod
    def _branch(
        base: str, ops: tuple[str, ...], regs: dict[int, int], taints: dict[int, frozenset[int]]
    ) -> tuple[bool, frozenset[int]]:
        if base == "j":
            return True, frozenset()
        names = [ops[0], "x0"] if base in {"beqz", "bnez"} else list(ops[:2])
        a, b = (register(n) for n in names)
        taken = _BRANCHES[base.removesuffix("z")](regs.get(a, 0), regs.get(b, 0))
        return taken, taints.get(a, frozenset()) | taints.get(b, frozenset())

    @staticmethod
    def _compute(base: str, ops: tuple[str, ...], regs: dict[int, int], taints: dict[int, frozenset[int]]) -> None:
        rd = register(ops[0])
        if base == "li":
            value, sources = number(ops[1]) or 0, frozenset[int]()
        elif base in {"mv", "sext.w"}:
            source = register(ops[1])
            value, sources = regs.get(source, 0), taints.get(source, frozenset())
        elif base in _ALU:
            a, b = register(ops[1]), register(ops[2])
            value = _ALU[base](regs.get(a, 0), regs.get(b, 0))
            sources = taints.get(a, frozenset()) | taints.get(b, frozenset())
        elif base in {"addi", "andi", "ori", "xori", "slli", "srli", "slti", "sltiu", "addiw"}:
            a, immediate = register(ops[1]), number(ops[2])
            if immediate is None:
                raise LitmusError(f"'{ops[2]}' is no immediate")
            operation = {"sltiu": "sltu", "addiw": "addw"}.get(base, base[:-1])
            value = _ALU[operation](regs.get(a, 0), immediate & MASK)
            sources = taints.get(a, frozenset())
        else:
            raise LitmusError(f"the model does not know the instruction {base}")
        if rd != 0:
            regs[rd], taints[rd] = value & MASK, sources

    def _access(
        self,
        base: str,
        suffixes: list[str],
        ops: tuple[str, ...],
        regs: dict[int, int],
        taints: dict[int, frozenset[int]],
        trace: Trace,
        control: frozenset[int],
        reserved: int | None,
    ) -> Iterator[tuple[dict[int, int], dict[int, frozenset[int]], Trace, frozenset[int], int | None]]:
        is_double = base in {"ld", "sd"} or "d" in suffixes
        bits = 64 if is_double else 32
        offset, base_register = access(ops[-1])
        location = self.model.location((regs.get(base_register, 0) + offset) & MASK, bits)
        position = len(trace.events)
        annotation = {"aq": "aq" in suffixes or "aqrl" in suffixes, "rl": "rl" in suffixes or "aqrl" in suffixes}

        def after(event: Event | None, rd: int, result: int, sources: frozenset[int], now: int | None):  # type: ignore[no-untyped-def]
            new_regs, new_taints = dict(regs), dict(taints)
            if rd != 0:
                new_regs[rd], new_taints[rd] = result & MASK, sources
            events = [*trace.events, event] if event is not None else trace.events
            return new_regs, new_taints, Trace(events, list(trace.fences)), control, now

        def event(reads: int | None, writes: int | None, **more: object) -> Event:
            return Event(
                self.thread, position, location, reads, writes, annotation["aq"], annotation["rl"],
                address_of=taints.get(base_register, frozenset()), control_of=control, **more,  # type: ignore[arg-type]
            )  # fmt: skip

        def loaded(value: int) -> int:
            return value if is_double or base == "lwu" else signed(value, 32)

        own = frozenset({position})
        if base in {"lw", "ld", "lwu", "lr"}:
            now = position if base == "lr" else reserved
            for value in sorted(self.values[location]):
                yield after(event(value, None), register(ops[0]), loaded(value), own, now)
            return
        source = register(ops[0] if base in {"sw", "sd"} else ops[1])
        stored, data = regs.get(source, 0) & ((1 << bits) - 1), taints.get(source, frozenset())
        if base in {"sw", "sd"}:
            yield after(event(None, stored, data_of=data), 0, 0, frozenset(), reserved)
        elif base == "sc":
            rd = register(ops[0])
            yield after(None, rd, 1, frozenset(), None)
            if reserved is not None and trace.events[reserved].location == location:
                success = event(None, stored, data_of=data, is_conditional=True, pair=reserved)
                yield after(success, rd, 0, own, None)
        else:
            for value in sorted(self.values[location]):
                written = _AMOS[base](value, stored) & ((1 << bits) - 1)
                amo = event(value, written, data_of=data, is_amo=True)
                yield after(amo, register(ops[0]), loaded(value), own, reserved)


class Model:
    """A test under RVWMO, or under sequential consistency (`rvwmo` false), to show that a check can fail."""

    def __init__(self, test: LitmusTest, rvwmo: bool = True) -> None:
        self.test = test
        self.rvwmo = rvwmo
        self.addresses = {name: 0x10000 * (i + 1) for i, name in enumerate(sorted(test.memory))}
        self.names = {address: name for name, address in self.addresses.items()}
        self.bits: dict[str, int] = {}
        self.initial = {name: self.number_of(value) for name, value in test.memory.items()}

    def number_of(self, value: int | str) -> int:
        return self.addresses[value] if isinstance(value, str) else value & MASK

    def location(self, address: int, bits: int) -> str:
        name = self.names.get(address)
        if name is None:
            raise LitmusError("an access does not go to the start of a location")
        if self.bits.setdefault(name, bits) != bits:
            raise LitmusError(f"{name} is accessed as a word and as a doubleword: mixed sizes are not judged")
        return name

    def shown_value(self, value: int) -> int | str:
        return self.names.get(value & MASK, signed(value))

    def _traces(self) -> list[list[Trace]]:
        """To a fixed point: the values of loads are those that some trace writes."""
        values = {name: {value} for name, value in self.initial.items()}
        writing = {"sw", "sd", "sc"} | _AMOS.keys()
        stores = sum(1 for thread in self.test.threads for i in thread if i.name.split(".")[0] in writing)
        for _ in range(stores + 1):
            threads = [_Thread(self.test, t, self, values).traces for t in range(len(self.test.threads))]
            more = {name: set(v) for name, v in values.items()}
            for trace in itertools.chain(*threads):
                for e in trace.events:
                    if e.writes is not None:
                        more[e.location].add(e.writes)
            if more == values:
                break
            values = more
        return threads

    def outcomes(self) -> list[Outcome]:
        """All that the model allows, each once."""
        found: dict[tuple[int | str, ...], Outcome] = {}
        tried = 0
        for traces in itertools.product(*self._traces()):
            events = [e for trace in traces for e in trace.events]
            for sources, orders in _choices(events, self.initial):
                tried += 1
                if tried > MOST_BRANCHES:
                    raise LitmusError(f"the test has more than {MOST_BRANCHES} candidate executions")
                outcome = self._outcome(traces, events, orders)
                key = tuple(outcome[p] for p in self.test.observed)
                if key not in found and _Execution(events, traces, sources, orders).is_allowed(self.rvwmo):
                    found[key] = outcome
        return list(found.values())

    def _outcome(self, traces: tuple[Trace, ...], events: list[Event], orders: dict[str, list[int]]) -> Outcome:
        outcome: dict[Place, int | str] = {}
        for p in self.test.observed:
            if isinstance(p, str):
                order = orders.get(p, [])
                value = events[order[-1]].writes if order else self.initial[p]
                assert value is not None
                outcome[p] = self.names.get(value, signed(value, self.bits.get(p, 64)))
            else:
                outcome[p] = self.shown_value(traces[p[0]].registers.get(p[1], 0))
        return outcome


def _choices(
    events: list[Event], initial: dict[str, int]
) -> Iterator[tuple[dict[int, int], dict[str, list[int]]]]:
    """Sources of all loads, and orders of all stores, that fit the values."""
    writes: dict[str, list[int]] = defaultdict(list)
    for i, e in enumerate(events):
        if e.writes is not None:
            writes[e.location].append(i)
    reads = [i for i, e in enumerate(events) if e.reads is not None]
    candidates = []
    for i in reads:
        e = events[i]
        fits = [w for w in writes[e.location] if w != i and events[w].writes == e.reads]
        if initial[e.location] & MASK == e.reads:
            fits.append(INITIAL)
        if not fits:
            return
        candidates.append(fits)
    names = sorted(writes)
    for orders in itertools.product(*(itertools.permutations(writes[n]) for n in names)):
        by_name = {n: list(o) for n, o in zip(names, orders, strict=True)}
        for chosen in itertools.product(*candidates):
            yield dict(zip(reads, chosen, strict=True)), by_name


class _Execution:
    """A candidate execution: events with their relations."""

    def __init__(
        self, events: list[Event], traces: tuple[Trace, ...], sources: dict[int, int], orders: dict[str, list[int]]
    ) -> None:
        self.events = events
        self.traces = traces
        self.sources = sources
        self.orders = orders
        self.index = {(e.thread, e.position): i for i, e in enumerate(events)}
        self.rank = {i: n for order in orders.values() for n, i in enumerate(order)}
        self.co = {(a, b) for order in orders.values() for a, b in itertools.combinations(order, 2)}
        self.rf = {(w, r) for r, w in sources.items() if w != INITIAL}
        self.fr = {
            (r, later)
            for r, w in sources.items()
            for later in orders.get(events[r].location, [])
            if later != r and (w == INITIAL or self.rank[later] > self.rank[w])
        }
        self.po = [
            (a, b) for a, b in itertools.permutations(range(len(events)), 2)
            if events[a].thread == events[b].thread and events[a].position < events[b].position
        ]  # fmt: skip
        self.po_loc = [(a, b) for a, b in self.po if events[a].location == events[b].location]

    def is_allowed(self, rvwmo: bool) -> bool:
        if not self._is_atomic() or not _is_acyclic(len(self.events), self.co | self.rf | self.fr | set(self.po_loc)):
            return False
        external = {(a, b) for a, b in self.rf if self.events[a].thread != self.events[b].thread}
        order = self._preserved() | external if rvwmo else set(self.po) | self.rf
        return _is_acyclic(len(self.events), order | self.co | self.fr)

    def _is_atomic(self) -> bool:
        for i, e in enumerate(self.events):
            if e.is_amo and self.rank[i] != self._rank_of_source(i) + 1:
                return False
            if e.pair is not None:
                first = self._rank_of_source(self.index[e.thread, e.pair]) + 1
                between = self.orders[e.location][first : self.rank[i]]
                if self.rank[i] < first or any(self.events[w].thread != e.thread for w in between):
                    return False
        return True

    def _rank_of_source(self, read: int) -> int:
        source = self.sources[read]
        return -1 if source == INITIAL else self.rank[source]

    def _preserved(self) -> Edges:
        """Preserved program order, by the rules of the manual's chapter on RVWMO, numbered as there."""
        ev = self.events
        ppo: Edges = set()
        for a, b in self.po:
            x, y = ev[a], ev[b]
            ordered = (
                (x.acquire)  # 5
                or y.release  # 6
                or ((x.acquire or x.release) and (y.acquire or y.release))  # 7
                or (y.pair is not None and y.pair == x.position)  # 8
                or x.position in y.address_of  # 9
                or (y.writes is not None and x.position in y.data_of)  # 10
                or (y.writes is not None and x.position in y.control_of)  # 11
            )
            if ordered:
                ppo.add((a, b))
        ppo |= self._same_address() | self._fenced() | self._through_others()
        return ppo

    def _same_address(self) -> Edges:
        """Rules 1 to 3."""
        ev = self.events
        ppo: Edges = set()
        for a, b in self.po_loc:
            x, y = ev[a], ev[b]
            if y.writes is not None:
                ppo.add((a, b))
            elif y.reads is not None and x.reads is not None:
                between = any(
                    ev[c].writes is not None for p, c in self.po_loc if p == a and (c, b) in set(self.po_loc)
                )
                if not between and x.writes is None and self.sources[a] != self.sources[b]:
                    ppo.add((a, b))
            if (x.is_amo or x.is_conditional) and self.sources.get(b) == a:
                ppo.add((a, b))
        return ppo

    def _fenced(self) -> Edges:
        """Rule 4."""
        ppo: Edges = set()
        for a, b in self.po:
            x, y = self.events[a], self.events[b]
            for position, before, after in self.traces[x.thread].fences:
                if x.position < position <= y.position and _in_set(x, before) and _in_set(y, after):
                    ppo.add((a, b))
        return ppo

    def _through_others(self) -> Edges:
        """Rules 12 and 13: pipeline dependences."""
        ev = self.events
        ppo: Edges = set()
        for a, m in self.po:
            if ev[a].position not in ev[m].address_of | ev[m].data_of:
                continue
            if ev[m].writes is not None:
                ppo |= {(a, b) for mm, b in self.po if mm == m and self.sources.get(b) == m}
            if ev[a].position in ev[m].address_of:
                ppo |= {(a, b) for mm, b in self.po if mm == m and ev[b].writes is not None}
        return ppo


def _in_set(event: Event, letters: str) -> bool:
    return ("r" in letters and event.reads is not None) or ("w" in letters and event.writes is not None)


def _is_acyclic(count: int, edges: Edges) -> bool:
    """By removal of events without predecessors."""
    after: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * count
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    free = [i for i in range(count) if waiting[i] == 0]
    for i in free:
        for b in after[i]:
            waiting[b] -= 1
            if waiting[b] == 0:
                free.append(b)
    return len(free) == count
