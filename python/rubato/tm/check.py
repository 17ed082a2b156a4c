"""Finds accesses without a barrier in code that GCC compiled as transactional: `rubato tm check` (rule T17).

GCC turns a loop that copies or clears into a plain call of memcpy or memset, and with vector extensions a store under
a condition into a masked store, also in the instrumented path of a transaction: other threads then see what may be
undone.

The disassembly is followed from each function's first instruction. A state is the stack of open transactions, each
of which runs instrumented code, the code without instrumentation, or is not decided yet: the program tests the answer
of _ITM_beginTransaction (bit 1: run uninstrumented) and branches. A transaction clone (_ZGTt...) is instrumented as a
whole.

Not followed: jumps through a table, which are counted, and landing pads of exceptions.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from rubato.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNDECIDED, INSTRUMENTED, PLAIN = "undecided", "instrumented", "plain"

#: Properties that begin gets (rule T13).
INSTRUMENTED_CODE, UNINSTRUMENTED_CODE, NEVER_IRREVOCABLE = 0x1, 0x2, 0x20
#: Answers of begin.
RUN_UNINSTRUMENTED, WAS_CANCELLED = 0x2, 0x10

PLAIN_CALLS = frozenset({
    "memcpy", "memmove", "memset", "bzero", "mempcpy", "__memcpy_chk", "__memmove_chk", "__memset_chk",
})  # fmt: skip
ENDS = frozenset({
    "abort", "exit", "_exit", "_ITM_abortTransaction", "_ITM_cxa_throw", "__cxa_throw", "__cxa_rethrow",
    "_Unwind_Resume", "__stack_chk_fail", "__assert_fail", "_ZSt9terminatev",
})  # fmt: skip
MASKED = re.compile(r"v?p?maskmov|v?p?gather|v?p?scatter")
KEEPS_FLAGS = re.compile(r"c?mov|lea|push|pop|nop|xchg|bnd|endbr|v?movap|v?movup|v?movdq|v?movs|v?movq")
DEEPEST = 8

FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
RELOCATION = re.compile(r"\t?\b[0-9a-f]+: R_\w+\t(\S+)")
SOURCE = re.compile(r"^(\S.*):(\d+)(?: \(discriminator \d+\))?$")
ADDRESS = re.compile(r"^(?:\*)?([0-9a-f]+) <([^>+]+)")
PROPERTIES = re.compile(r"^mov[lq]? +\$0x([0-9a-f]+),%[er]?di$")
TESTED = re.compile(r"^(?:test|and)[bwlq]? +\$0x([0-9a-f]+),%\w+$")


@dataclasses.dataclass(frozen=True)
class Finding:
    """An access without a barrier, or a relaxed block."""

    place: str  #: FILE:LINE, or FILE: FUNCTION+OFFSET without debug information
    function: str
    what: str


@dataclasses.dataclass
class Checked:
    findings: list[Finding]
    transactions: int  #: places that begin one, and clones
    indirect_jumps: int  #: in transactions; not followed


@dataclasses.dataclass
class Instruction:
    section: str
    address: int
    function: str
    offset: int
    text: str
    line: str
    relocation: str = ""

    @property
    def mnemonic(self) -> str:
        words = self.text.split()
        prefixes = {"bnd", "notrack", "rep", "repz", "lock", "cs", "data16"}
        return next((word for word in words if word not in prefixes), "")

    def target(self) -> str:
        """The function that a call or jump leads to, without version and `@plt`; empty if it is not known."""
        if self.relocation:
            return re.split(r"[-+]0x|@", self.relocation)[0]
        match = re.search(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>$", self.text)
        return match[1].split("@")[0] if match else ""


@dataclasses.dataclass(frozen=True)
class State:
    """Open transactions, innermost last; the bit of the answer that was tested last."""

    stack: tuple[str, ...] = ()
    tested: int = 0

    def with_innermost(self, mode: str) -> State:
        return State((*self.stack[:-1], mode))


def disassemble(file: Path) -> list[Instruction]:
    if shutil.which("objdump") is None:
        raise UsageError("objdump is missing; install binutils.")
    if not file.is_file():
        raise UsageError(f"there is no file {file}.")
    command = ["objdump", "-drl", "--no-show-raw-insn", "--wide", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode != 0:
        raise UsageError(f"{file} is no object file or program that objdump can read.")
    if "file format elf64-x86-64" not in result.stdout:
        raise UsageError(f"{file} is not for x86-64, which alone is checked.")
    return list(_parse(result.stdout))


def _parse(listing: str) -> Iterator[Instruction]:
    section = function = line = member = ""
    start = 0
    last: Instruction | None = None
    for text in listing.splitlines():
        if match := INSTRUCTION.match(text):
            if last is not None:
                yield last
            address = int(match[1], 16)
            words = match[2].split("\t")
            relocation = RELOCATION.search(text, match.end(1) + 2)
            last = Instruction(section, address, function, address - start, words[0].split(" #")[0].strip(), line)
            if "# " in words[0] and words[0].lstrip().startswith(("call", "jmp", "bnd", "notrack")):
                last.text += " " + words[0].split("# ", 1)[1].split(" ", 1)[-1]
            if relocation:
                last.relocation = relocation[1]
        elif last is not None and (match := RELOCATION.search(text)) and text.startswith("\t"):
            last.relocation = match[1]
        elif match := FUNCTION.match(text):
            function, start, line = match[2], int(match[1], 16), ""
        elif match := SOURCE.match(text):
            line = f"{match[1]}:{match[2]}"
        elif text.startswith("Disassembly of section "):
            section = member + text.removeprefix("Disassembly of section ").rstrip(":")
        elif "file format " in text:  # in an archive each member has its own addresses
            member = text.split(":")[0] + ":"
    if last is not None:
        yield last


def _part_of(target: str, function: str) -> bool:
    return target == function or re.fullmatch(re.escape(function) + r"\.(cold|part)[.\d]*", target) is not None


class _Checker:
    def __init__(self, file: Path, relaxed: bool) -> None:
        self.file = file
        self.relaxed = relaxed
        self.code = disassemble(file)
        self.at = {(one.section, one.address): n for n, one in enumerate(self.code)}
        self.found: dict[tuple[str, int], Finding] = {}
        self.begins: set[int] = set()
        self.indirect: set[int] = set()
        self.entries: set[tuple[str, str]] = set()

    def check(self) -> Checked:
        previous = None
        clones = 0
        for n, one in enumerate(self.code):
            name = (one.section, one.function)
            if name == previous:
                continue
            previous = name
            is_clone = one.function.startswith("_ZGTt")
            if ".cold" in one.function:
                continue  # reached from its function, in that one's state
            clones += is_clone
            self._follow(n, State((INSTRUMENTED,) if is_clone else ()))
        findings = [self.found[key] for key in sorted(self.found)]
        return Checked(list(dict.fromkeys(findings)), len(self.begins) + clones, len(self.indirect))

    def _follow(self, first: int, state: State) -> None:
        seen: set[tuple[int, State]] = set()
        waiting = [(first, state)]
        while waiting:
            n, state = waiting.pop()
            if (n, state) in seen:
                continue
            seen.add((n, state))
            waiting.extend(self._step(n, state))

    def _step(self, n: int, state: State) -> Iterator[tuple[int, State]]:
        one = self.code[n]
        mnemonic = one.mnemonic
        if mnemonic.startswith(("ret", "hlt", "ud2")):
            return
        if mnemonic.startswith("j"):
            yield from self._jump(n, state)
            return
        if mnemonic.startswith("call"):
            target = one.target()
            self._judge_call(n, target, state)
            if target in ENDS:
                return
            state = self._after_call(n, target, state)
        else:
            if self._is_exposed(state) and self._is_masked_access(one):
                self._report(n, f"masked access without a barrier ({mnemonic})")
            match = TESTED.match(one.text)
            if match:
                state = State(state.stack, int(match[1], 16))
            elif state.tested and not KEEPS_FLAGS.match(mnemonic):
                state = State(state.stack)
        yield from self._next(n, state)

    def _next(self, n: int, state: State) -> Iterator[tuple[int, State]]:
        if n + 1 < len(self.code):
            one, after = self.code[n], self.code[n + 1]
            if (one.section, one.function) == (after.section, after.function):
                yield n + 1, state

    def _jump(self, n: int, state: State) -> Iterator[tuple[int, State]]:
        one = self.code[n]
        to = self._destination(one)
        if one.mnemonic.startswith("jmp"):
            target = one.target()
            if to is not None:
                yield to, state
            elif "*" in one.text and not target:
                if self._is_exposed(state):
                    self.indirect.add(n)
            else:
                self._judge_call(n, target, state)  # a call in the last place
            return
        taken = fall = state
        if state.stack and state.tested and one.mnemonic in ("je", "jne", "jz", "jnz"):
            is_set = self._answer_has(state, state.tested)
            is_clear = self._answer_lacks(state, state.tested)
            jumps_if_set = one.mnemonic in ("jne", "jnz")
            taken, fall = (is_set, is_clear) if jumps_if_set else (is_clear, is_set)
        if to is not None and taken is not None:
            yield to, State(taken.stack)
        if fall is not None:
            # One comparison may serve two jumps.
            yield from self._next(n, State(fall.stack, state.tested))

    @staticmethod
    def _answer_has(state: State, bit: int) -> State | None:
        if state.stack[-1] == UNDECIDED:
            if bit == RUN_UNINSTRUMENTED:
                return state.with_innermost(PLAIN)
            if bit == WAS_CANCELLED:
                return State(state.stack[:-1])
        return state

    @staticmethod
    def _answer_lacks(state: State, bit: int) -> State | None:
        if state.stack[-1] == UNDECIDED and bit == RUN_UNINSTRUMENTED:
            return state.with_innermost(INSTRUMENTED)
        return state

    def _destination(self, one: Instruction) -> int | None:
        """Of a jump inside its function, cold parts included."""
        if one.relocation:
            match = re.fullmatch(r"(\.[\w.]+|[\w.]+)([-+]0x[0-9a-f]+)?", one.relocation)
            if match is None:
                return None
            offset = int(match[2], 16) + 4 if match[2] else 4  # relative to the next instruction
            member = one.section[: one.section.index(":") + 1] if ":" in one.section else ""
            n = self.at.get((member + match[1], offset))
            if n is None:
                return None
        else:
            match = ADDRESS.match(one.text.split()[-2] + " " + one.text.split()[-1]) if "<" in one.text else None
            n = self.at.get((one.section, int(match[1], 16))) if match and "*" not in one.text else None
            if n is None:
                return None
        target = self.code[n].function
        whole = one.function.split(".cold")[0]
        return n if _part_of(target, whole) else None

    @staticmethod
    def _is_exposed(state: State) -> bool:
        return bool(state.stack) and PLAIN not in state.stack

    @staticmethod
    def _is_masked_access(one: Instruction) -> bool:
        if one.mnemonic == "maskmovq" or "maskmovdqu" in one.mnemonic:  # their memory is not among the operands
            return True
        return "(" in one.text and (MASKED.match(one.mnemonic) is not None or "{%k" in one.text)

    def _judge_call(self, n: int, target: str, state: State) -> None:
        if self._is_exposed(state) and target in PLAIN_CALLS:
            self._report(n, f"plain {target} without a barrier")

    def _after_call(self, n: int, target: str, state: State) -> State:
        if target == "_ITM_beginTransaction":
            self.begins.add(n)
            return State((*state.stack, self._mode_after_begin(n)) if len(state.stack) < DEEPEST else state.stack)
        if target in ("_ITM_commitTransaction", "_ITM_commitTransactionEH"):
            is_clone = self.code[n].function.startswith("_ZGTt")
            return State(state.stack[:-1] if len(state.stack) > is_clone else state.stack)
        return State(state.stack)

    def _mode_after_begin(self, n: int) -> str:
        """What the constant that begin gets leaves open."""
        one = self.code[n]
        for before in reversed(self.code[max(0, n - 32) : n]):
            if before.function != one.function or before.mnemonic.startswith("call"):
                break
            if match := PROPERTIES.match(re.sub(r" +", " ", before.text)):
                properties = int(match[1], 16)
                if self.relaxed and not properties & NEVER_IRREVOCABLE:
                    self._report(n, "relaxed transaction")
                return PLAIN if not properties & INSTRUMENTED_CODE else UNDECIDED
        return UNDECIDED

    def _report(self, n: int, what: str) -> None:
        one = self.code[n]
        place = one.line or f"{self.file}:{one.function}+{one.offset:#x}"
        self.found[one.section, one.address] = Finding(place, one.function, what)


def check(file: Path, relaxed: bool = False) -> Checked:
    """All that is wrong in an object file, an archive, a library or a program."""
    checked = _Checker(file, relaxed).check()
    names = _demangled([finding.function for finding in checked.findings])
    checked.findings = [
        dataclasses.replace(finding, function=name) for finding, name in zip(checked.findings, names, strict=True)
    ]
    return checked


def _demangled(names: list[str]) -> list[str]:
    if not names or shutil.which("c++filt") is None:
        return names
    result = subprocess.run(["c++filt", *names], capture_output=True, text=True, check=False)
    shown = result.stdout.splitlines()
    return shown if result.returncode == 0 and len(shown) == len(names) else names
