"""A litmus test, as a file's text, whose condition is that its accesses make the given cycle."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import zip_longest

from cycle_edges import Edge
from litmus_cycle import Access, Cycle
from litmus_file import LitmusError

_SUFFIX = {"P": "", "X": "", "Amo": "", "Aq": ".aq", "Rl": ".rl", "AR": ".aqrl"}
FIRST_REGISTER, LAST_REGISTER = 5, 31  # sp, gp and tp are the runner's


def _pair_suffix(edge: Edge) -> str:
    """The bits of one instruction that is both ends of the edge."""
    bits = "".join(edge.atoms)
    acquires, releases = "Aq" in bits or "AR" in bits, "Rl" in bits or "AR" in bits
    return "." + "aq" * acquires + "rl" * releases if acquires or releases else ""


class _Thread:
    """The code of one thread, with the registers that it begins with."""

    def __init__(self, number: int, accesses: list[Access]) -> None:
        self.number = number
        self.lines: list[str] = []
        self.initial: dict[int, int | str] = {}
        self.expected: list[tuple[int, int]] = []  #: registers, and their values in the cycle's outcome
        self._next = FIRST_REGISTER
        self._labels = 0
        self._result = 0  # the register of the last read
        self._pair_address = 0  # the register of the address of an amo whose read has come
        for access in accesses:
            self._access(access)

    def _new(self) -> int:
        if self._next > LAST_REGISTER:
            raise LitmusError(f"P{self.number} needs more registers than there are: it has too many accesses")
        self._next += 1
        return self._next - 1

    def _holding(self, value: int | str) -> int:
        """The register that has a constant or a location's address from the beginning."""
        for register, held in self.initial.items():
            if held == value:
                return register
        register = self._new()
        self.initial[register] = value
        return register

    def _access(self, a: Access) -> None:
        before = a.before if not a.before.is_external else None
        kind = before.kind if before is not None else ""
        if kind.startswith("Fence."):
            sets = kind.removeprefix("Fence.")
            self.lines.append("fence.tso" if sets == "tso" else f"fence {sets.replace('.', ',')}")
        if kind.startswith("DpCtrl"):
            label = f"LC{self.number}{self._labels}"
            self._labels += 1
            self.lines += [f"bne x{self._result},x0,{label}", f"{label}:"]
            if kind == "DpCtrlFenceI":
                self.lines.append("fence.i")
        address = self._holding(a.location)
        if kind == "DpAddr":
            zero, sum_of = self._zero(), self._new()
            self.lines.append(f"add x{sum_of},x{address},x{zero}")
            address = sum_of
        if a.is_read:
            self._read(a, address)
        else:
            self._write(a, before, address)

    def _zero(self) -> int:
        """A zero that depends on the last read."""
        zero = self._new()
        self.lines.append(f"xor x{zero},x{self._result},x{self._result}")
        return zero

    def _read(self, a: Access, address: int) -> None:
        self._result = self._new()
        self.expected.append((self._result, a.value))
        if a.edge.kind.startswith("Amo."):
            self._pair_address = address  # the write of the pair is the same instruction
        elif a.edge.kind == "LxSx" or a.atom != "P":
            self.lines.append(f"lr.w{_SUFFIX[a.atom]} x{self._result},(x{address})")
        else:
            self.lines.append(f"lw x{self._result},0(x{address})")

    def _write(self, a: Access, before: Edge | None, address: int) -> None:
        kind = before.kind if before is not None else ""
        if kind == "DpData":
            source = self._zero()
            self.lines.append(f"addi x{source},x{source},{a.value}")
        elif kind == "Amo.Add":
            source = self._holding(a.value - self.expected[-1][1])
        else:
            source = self._holding(a.value)
        if before is not None and kind.startswith("Amo."):
            name = {"Amo.Swap": "amoswap", "Amo.Add": "amoadd"}[kind]
            self.lines.append(f"{name}.w{_pair_suffix(before)} x{self._result},x{source},(x{self._pair_address})")
        elif kind == "LxSx" or a.atom == "X":
            if kind != "LxSx":
                self.lines.append(f"lr.w x{self._new()},(x{address})")
            done = self._new()
            self.lines.append(f"sc.w{_SUFFIX[a.atom]} x{done},x{source},(x{address})")
            self.expected.append((done, 0))
        elif a.atom != "P":
            self.lines.append(f"amoswap.w{_SUFFIX[a.atom]} x0,x{source},(x{address})")
        else:
            self.lines.append(f"sw x{source},0(x{address})")


def text_of(cycle: Cycle) -> str:
    """The file of the cycle's test."""
    threads = [
        _Thread(t, [a for a in cycle.accesses if a.thread == t]) for t in range(cycle.threads)
    ]  # fmt: skip
    initial = [
        " ".join(f"{t.number}:x{register}={value};" for register, value in sorted(t.initial.items()))
        for t in threads
    ]  # fmt: skip
    widths = [max(map(len, [f"P{t.number}", *t.lines])) for t in threads]
    rows = [[f"P{t.number}" for t in threads], *zip_longest(*(t.lines for t in threads), fillvalue="")]
    code = [
        " " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " ;"
        for row in rows
    ]  # fmt: skip
    clauses = [f"{t.number}:x{register}={value}" for t in threads for register, value in t.expected]
    clauses += [f"[{location}]={value}" for location, value in sorted(cycle.last_writes().items())]
    head = [f"RISCV {cycle.name}", f'"{cycle}"', "{", *initial, "}"]
    condition = " /\\ ".join(clauses)
    return "\n".join([*head, *code, f"exists ({condition})"]) + "\n"
