"""Reader of litmus tests for RISC-V in the format of herd and litmus7: initial state, code in columns, condition."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ABI_NAMES = ["zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", *(f"a{n}" for n in range(8)),
             *(f"s{n}" for n in range(2, 12)), "t3", "t4", "t5", "t6"]  # fmt: skip
REGISTERS = {name: n for n, name in enumerate(ABI_NAMES)} | {f"x{n}": n for n in range(32)} | {"fp": 8}
RESERVED = {2: "sp", 3: "gp", 4: "tp"}

#: (thread, register) or a location's name, and the values of both in an outcome.
Place = tuple[int, int] | str
Outcome = Mapping[Place, int | str]


class LitmusError(Exception):
    """A file that is no litmus test, or has something in it that this runner does not know."""


@dataclass(frozen=True)
class Instruction:
    """An instruction of a thread; `labels` stand before it."""

    name: str
    operands: tuple[str, ...]
    labels: tuple[str, ...] = ()


@dataclass
class LitmusTest:
    """A litmus test as it is in its file."""

    name: str
    threads: list[list[Instruction]]
    registers: dict[tuple[int, int], int | str]  #: initial values: a number, or the location whose address it is
    memory: dict[str, int | str]
    condition: str  #: the source text of the clause, without the quantifier
    quantifier: str  #: exists, ~exists or forall
    holds: Callable[[Outcome], bool] = field(repr=False)  #: the clause, of one outcome
    observed: list[Place]  #: what the condition and `locations` name


def register(text: str) -> int:
    """The number of a register that tests may use."""
    number = REGISTERS.get(text.strip())
    if number is None:
        raise LitmusError(f"{text.strip()} is no integer register")
    if number in RESERVED:
        raise LitmusError(f"{text.strip()} is {RESERVED[number]}, which the runner needs itself")
    return number


def number(text: str) -> int | None:
    """The integer that a text is, or None."""
    try:
        return int(text.strip(), 0)
    except ValueError:
        return None


def place(text: str) -> Place:
    """`1:x5`, `x` or `[x]`."""
    text = text.strip()
    if match := re.fullmatch(r"(\d+)\s*:\s*(\w+)", text):
        return int(match[1]), register(match[2])
    if match := re.fullmatch(r"\[?\s*([A-Za-z_]\w*)\s*\]?", text):
        return match[1]
    raise LitmusError(f"'{text}' is no register of a thread and no location")


def _without_comments(text: str) -> str:
    text = re.sub(r"\(\*.*?\*\)", " ", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def _initial_state(text: str) -> tuple[dict[tuple[int, int], int | str], dict[str, int | str]]:
    registers: dict[tuple[int, int], int | str] = {}
    memory: dict[str, int | str] = {}
    for entry in filter(None, (e.strip() for e in text.split(";"))):
        left, equals, right = entry.partition("=")
        # A type may stand before the place: int x = 0; uint64_t 0:x5 = 1.
        left = re.sub(r"^[A-Za-z_]\w*\s*\*?\s+(?=[\[\w])", "", left.strip())
        where = place(left)
        value: int | str = 0
        if equals:
            as_number = number(right)
            value = right.strip().lstrip("&") if as_number is None else as_number
            if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_]\w*", value):
                raise LitmusError(f"initial value '{right.strip()}' is no number and no location")
        if isinstance(where, str):
            memory[where] = value
        else:
            registers[where] = value
    for value in [*registers.values(), *memory.values()]:
        if isinstance(value, str):
            memory.setdefault(value, 0)
    return registers, memory


def _cell(text: str) -> tuple[list[str], Instruction | None]:
    labels = []
    while match := re.match(r"\s*([A-Za-z_.]\w*)\s*:\s*", text):
        labels.append(match[1])
        text = text[match.end() :]
    text = text.strip()
    if not text:
        return labels, None
    name, _, rest = text.partition(" ")
    operands = tuple(o.strip() for o in rest.split(",")) if rest.strip() else ()
    return labels, Instruction(name.lower(), operands)


def _code(text: str) -> list[list[Instruction]]:
    rows = [row for row in (r.strip() for r in text.split(";")) if row]
    if not rows:
        raise LitmusError("there is no code")
    names = [c.strip() for c in rows[0].split("|")]
    if names != [f"P{n}" for n in range(len(names))]:
        raise LitmusError(f"the first row of the code names the threads P0 | P1 ..., not {rows[0]}")
    threads: list[list[Instruction]] = [[] for _ in names]
    waiting: list[list[str]] = [[] for _ in names]
    for row in rows[1:]:
        cells = row.split("|")
        if len(cells) != len(names):
            raise LitmusError(f"the row '{row}' has {len(cells)} columns, the test {len(names)} threads")
        for thread, cell in enumerate(cells):
            labels, instruction = _cell(cell)
            waiting[thread] += labels
            if instruction is not None:
                threads[thread].append(Instruction(instruction.name, instruction.operands, tuple(waiting[thread])))
                waiting[thread] = []
    for thread, labels in enumerate(waiting):
        if labels:
            threads[thread].append(Instruction("nop", (), tuple(labels)))
    return threads


# ---- The condition ----

_TOKEN = re.compile(r"\s*(/\\|\\/|~|\(|\)|not\b|true\b|false\b|=|[^\s()~=/\\]+)")


class _Condition:
    """Parser of /\\, \\/, ~ over place=value."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        text = text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise LitmusError(f"the condition cannot be read from '{text[at:]}' on")
            self.tokens.append(match[1])
            at = match.end()
        self.places: list[Place] = []
        self.holds = self._or()
        if self.tokens:
            raise LitmusError(f"the condition goes on with '{' '.join(self.tokens)}' where it should end")

    def _next(self) -> str:
        if not self.tokens:
            raise LitmusError("the condition ends too early")
        return self.tokens.pop(0)

    def _or(self) -> Callable[[Outcome], bool]:
        parts = [self._and()]
        while self.tokens[:1] == ["\\/"]:
            self.tokens.pop(0)
            parts.append(self._and())
        return lambda outcome: any(part(outcome) for part in parts)

    def _and(self) -> Callable[[Outcome], bool]:
        parts = [self._not()]
        while self.tokens[:1] == ["/\\"]:
            self.tokens.pop(0)
            parts.append(self._not())
        return lambda outcome: all(part(outcome) for part in parts)

    def _not(self) -> Callable[[Outcome], bool]:
        token = self._next()
        if token in {"~", "not"}:
            inner = self._not()
            return lambda outcome: not inner(outcome)
        if token == "(":
            inner = self._or()
            if self._next() != ")":
                raise LitmusError("a parenthesis of the condition is not closed")
            return inner
        if token in {"true", "false"}:
            return lambda _: token == "true"
        if self._next() != "=":
            raise LitmusError(f"the condition has no '=' behind {token}")
        where, text = place(token), self._next()
        as_number = number(text)
        value: int | str = text if as_number is None else as_number
        self.places.append(where)
        return lambda outcome: outcome[where] == value


def parse(text: str) -> LitmusTest:
    """The test that a file's text is. @raises LitmusError."""
    text = _without_comments(text)
    head = re.match(r"\s*(\S+)[ \t]+(\S+)", text)
    if head is None or head[1].upper() != "RISCV":
        raise LitmusError("a litmus test for RISC-V begins with the word RISCV and its name")
    begin, end = text.find("{"), text.find("}")
    if begin < 0 or end < begin:
        raise LitmusError("the initial state {...} is missing")
    clause = re.search(r"(~\s*exists|not\s+exists|exists|forall)\b", text[end:])
    if clause is None:
        raise LitmusError("there is no exists, ~exists or forall")
    body = text[end + 1 : end + clause.start()]
    observed: list[Place] = []
    if listed := re.search(r"\blocations\s*\[(.*?)\]\s*$", body, flags=re.DOTALL):
        observed += [place(p) for p in listed[1].split(";") if p.strip()]
        body = body[: listed.start()]
    body = re.sub(r"\bfilter\b.*", "", body, flags=re.DOTALL)
    registers, memory = _initial_state(text[begin + 1 : end])
    threads = _code(body)
    source = text[end + clause.end() :].strip()
    condition = _Condition(source)
    observed += [p for p in condition.places if p not in observed]
    observed = list(dict.fromkeys(observed))
    for p in observed:
        if isinstance(p, str) and p not in memory:
            memory[p] = 0
        if not isinstance(p, str) and p[0] >= len(threads):
            raise LitmusError(f"the condition names thread {p[0]}, and there are {len(threads)}")
    quantifier = clause[1] if clause[1] in {"exists", "forall"} else "~exists"
    return LitmusTest(
        name=head[2],
        threads=threads,
        registers=registers,
        memory=memory,
        condition=" ".join(source.split()),
        quantifier=quantifier,
        holds=condition.holds,
        observed=observed,
    )


def shown(outcome: Outcome, order: list[Place]) -> str:
    """An outcome as litmus7 prints it."""
    names = {p: p if isinstance(p, str) else f"{p[0]}:x{p[1]}" for p in order}
    return " ".join(f"{f'[{names[p]}]' if isinstance(p, str) else names[p]}={outcome[p]};" for p in order)
