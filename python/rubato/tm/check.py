"""Finds accesses without a barrier in code that GCC compiled as transactional: `rubato tm check` (T17).

GCC turns a loop that copies or clears into a plain call of memcpy or memset, and with vector extensions a store under
a condition into a masked store, also in the instrumented path of a transaction: other threads then see what may be
undone. It reads arguments of class type and stores returned structures plainly, and writes bit-fields wrongly. It may
give a transaction another one's properties, so that a cancel meets one that was begun as never cancelled.

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
from typing import TYPE_CHECKING

from rubato.errors import UsageError
from rubato.process.child import ask
from rubato.tm import debug_info, plain, spilled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNDECIDED, INSTRUMENTED, PLAIN = "undecided", "instrumented", "plain"

#: Properties that begin gets (T13).
INSTRUMENTED_CODE, UNINSTRUMENTED_CODE, NO_CANCEL, NEVER_IRREVOCABLE = 0x1, 0x2, 0x8, 0x20
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
TESTED_AGAIN = re.compile(r"^test +(%\w+),\1$")  # behind an `and`, without optimization
DEEPEST = 8

FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
RELOCATION = re.compile(r"\t?\b[0-9a-f]+: (R_\w+)\t(\S+)")
COMMENT = re.compile(r"# ([0-9a-f]+) <")
SECTION = re.compile(r"^ *\d+ (\S+) +([0-9a-f]+) +([0-9a-f]+) ")
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+ +(?:\.hidden |\.protected |\.internal )?(\S+)$")
#: Sections whose memory no program writes.
CONSTANT = re.compile(r"\.(rodata|LC|data\.rel\.ro|eh_frame|gcc_except_table)|_ZT[VIST]")
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
    kind: str = ""  #: of the relocation
    comment: int | None = None  #: the address that an operand with %rip names, in a program

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
class Open:
    """An open transaction: the code that it runs, and whether its begin says that nothing cancels it."""

    mode: str
    is_never_cancelled: bool | None = None  #: None if it is not known


@dataclasses.dataclass(frozen=True)
class State:
    """Open transactions, innermost last; the bit of the answer that was tested last."""

    stack: tuple[Open, ...] = ()
    tested: int = 0

    def with_innermost(self, mode: str) -> State:
        return State((*self.stack[:-1], dataclasses.replace(self.stack[-1], mode=mode)))


def disassemble(file: Path) -> list[Instruction]:
    if shutil.which("objdump") is None:
        raise UsageError("objdump is missing; install binutils.")
    if not file.is_file():
        raise UsageError(f"there is no file {file}.")
    command = ["objdump", "-drl", "--no-show-raw-insn", "--wide", str(file)]
    result = ask(command, seconds=None)
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
            if match := COMMENT.search(words[0]):
                last.comment = int(match[1], 16)
            if relocation:
                last.kind, last.relocation = relocation[1], relocation[2]
        elif last is not None and (match := RELOCATION.search(text)) and text.startswith("\t"):
            last.kind, last.relocation = match[1], match[2]
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
        self.inner: set[int] = set()  #: begins inside of a transaction, to which no retry and no cancel leads back
        self.indirect: set[int] = set()
        self.entries: set[tuple[str, str]] = set()
        self.exposed: set[int] = set()  #: instructions of instrumented paths
        self.outside: set[int] = set()  #: and of code outside of transactions
        self.memory = _Memory(file)
        self.first_of: dict[str, int] = {}  #: the first instruction of each function
        self.firsts: list[int] = []  #: of each instruction's function
        for n, one in enumerate(self.code):
            before = self.code[n - 1] if n else None
            is_first = before is None or (one.section, one.function) != (before.section, before.function)
            if is_first:
                self.first_of.setdefault(one.function, n)
            self.firsts.append(n if is_first else self.firsts[-1])
        self.returning: dict[int, bool] = {}  #: by the first instruction

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
            self._follow(n, State((Open(INSTRUMENTED),) if is_clone else ()))
        self._find_plain_accesses()
        self._find_spilled()
        ordered = [self.found[key] for key in sorted(self.found)]
        findings = list({(f.place, f.function, f.what.split(" (")[0]): f for f in reversed(ordered)}.values())[::-1]
        if self.begins or clones:
            findings += self._said_by_debug_info()
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
        if self._is_exposed(state):
            self.exposed.add(n)
        elif not state.stack:
            self.outside.add(n)
        if mnemonic.startswith(("ret", "hlt", "ud2")):
            return
        if mnemonic.startswith("j"):
            yield from self._jump(n, state)
            return
        if mnemonic.startswith("call"):
            target = one.target()
            self._judge_call(n, target, state)
            if self._ends(n):
                return
            state = self._after_call(n, target, state)
        else:
            if self._is_exposed(state) and self._is_masked_access(one):
                self._report(n, f"masked access without a barrier ({mnemonic})")
            match = TESTED.match(one.text)
            if match:
                state = State(state.stack, int(match[1], 16))
            elif state.tested and not KEEPS_FLAGS.match(mnemonic) and not TESTED_AGAIN.match(one.text):
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
        if state.stack[-1].mode == UNDECIDED:
            if bit == RUN_UNINSTRUMENTED:
                return state.with_innermost(PLAIN)
            if bit == WAS_CANCELLED:
                return State(state.stack[:-1])
        return state

    @staticmethod
    def _answer_lacks(state: State, bit: int) -> State | None:
        if state.stack[-1].mode == UNDECIDED and bit == RUN_UNINSTRUMENTED:
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
        return bool(state.stack) and all(one.mode != PLAIN for one in state.stack)

    @staticmethod
    def _is_masked_access(one: Instruction) -> bool:
        if one.mnemonic == "maskmovq" or "maskmovdqu" in one.mnemonic:  # their memory is not among the operands
            return True
        return "(" in one.text and (MASKED.match(one.mnemonic) is not None or "{%k" in one.text)

    def _judge_call(self, n: int, target: str, state: State) -> None:
        if self._is_exposed(state) and target in PLAIN_CALLS:
            self._report(n, f"plain {target} without a barrier")
        if target == "_ITM_abortTransaction" and state.stack and state.stack[-1].is_never_cancelled:
            self._report(n, "cancel of a transaction that GCC begins as one that nothing cancels")

    def _after_call(self, n: int, target: str, state: State) -> State:
        if target == "_ITM_beginTransaction":
            self.begins.add(n)
            opened = self._after_begin(n)
            if state.stack and opened.is_never_cancelled is not False:
                self.inner.add(n)
            return State((*state.stack, opened) if len(state.stack) < DEEPEST else state.stack)
        if target in ("_ITM_commitTransaction", "_ITM_commitTransactionEH"):
            is_clone = self.code[n].function.startswith("_ZGTt")
            return State(state.stack[:-1] if len(state.stack) > is_clone else state.stack)
        if target == "_ITM_changeTransactionMode":  # serial from here on: accesses are plain on purpose
            return State(tuple(dataclasses.replace(one, mode=PLAIN) for one in state.stack))
        return State(state.stack)

    def _after_begin(self, n: int) -> Open:
        """What the constant that begin gets leaves open."""
        one = self.code[n]
        for before in reversed(self.code[max(0, n - 32) : n]):
            if before.function != one.function or before.mnemonic.startswith("call"):
                break
            if match := PROPERTIES.match(re.sub(r" +", " ", before.text)):
                properties = int(match[1], 16)
                if self.relaxed and not properties & NEVER_IRREVOCABLE:
                    self._report(n, "relaxed transaction")
                mode = UNDECIDED if properties & INSTRUMENTED_CODE else PLAIN
                return Open(mode, bool(properties & NO_CANCEL))
        return Open(UNDECIDED)

    def _following(self, n: int) -> Iterator[int]:
        """Of an instruction, in its function."""
        mnemonic = self.code[n].mnemonic
        if mnemonic.startswith(("ret", "hlt", "ud2")):
            return
        if mnemonic.startswith("j"):
            to = self._destination(self.code[n])
            if to is not None:
                yield to
            if mnemonic.startswith("jmp"):
                return
        elif mnemonic.startswith("call") and self._ends(n):
            return
        for to, _ in self._next(n, State()):
            yield to

    def _ends(self, n: int) -> bool:
        """Does a call not return?"""
        if self.code[n].target() in ENDS:
            return True
        called = self._called(n)
        return called is not None and not self._returns(called)

    def _returns(self, first: int) -> bool:
        if first not in self.returning:
            self.returning[first] = True  # for a function that calls itself
            seen, waiting = {first}, [first]
            returns = False
            while waiting and not returns:
                n = waiting.pop()
                after = list(self._following(n))
                mnemonic = self.code[n].mnemonic
                returns = mnemonic.startswith("ret") or (mnemonic.startswith("j") and not after)
                waiting += [to for to in after if to not in seen]
                seen.update(after)
            self.returning[first] = returns
        return self.returning[first]

    def _called(self, n: int) -> int | None:
        """The first instruction of the function that is called, if it is in this file."""
        one = self.code[n]
        if one.relocation:
            match = re.fullmatch(r"([.\w$]+?)(?:@\w+)?([-+]0x[0-9a-f]+)?", one.relocation)
            if match is None:
                return None
            offset = int(match[2], 16) + 4 if match[2] else 4
            section = one.section[: one.section.index(":") + 1] if ":" in one.section else ""
            to = self.at.get((section + match[1], offset))
            return self.first_of.get(match[1]) if to is None else to
        return self.first_of.get(one.target())

    def _find_plain_accesses(self) -> None:
        """Only where no path from outside leads, so that what is not understood of a path is no false alarm."""
        exposed = sorted(self.exposed - self.outside)
        self.code_of = {n: (one.mnemonic, one.text, one.target()) for n, one in enumerate(self.code)}
        functions: dict[int, plain.Function] = {}

        def function_at(first: int) -> plain.Function:
            if first not in functions:
                functions[first] = plain.Function(self.code_of, first, self._following, self._named)
            return functions[first]

        for n in exposed:
            one = self.code[n]
            whole = self.first_of.get(one.function.split(".cold")[0], self.firsts[n])
            function = function_at(whole)
            for access in function.accesses(n):
                if access.source == plain.FIRST_ARGUMENT and function.returns_first_argument():
                    continue  # it is reported where it is called
                what = "store" if access.is_store else "load"
                self._report(n, f"plain {what} without a barrier ({self._shown(one)})")
            if one.mnemonic.startswith("call") and function.before.get(n, {}).get("rdi") in plain.SHARED:
                called = self._called(n)
                if called is not None and function_at(called).stores_what_it_returns():
                    self._report(n, "structure returned into shared memory without a barrier")

    def _find_spilled(self) -> None:
        """Only in functions that begin transactions: those of a clone begin anew with another frame."""
        exposed = self.exposed - self.outside
        for first in sorted({self.first_of[self.code[n].function.split(".cold")[0]] for n in self.begins}):
            function = spilled.Function(self.code_of, first, self._following)
            for n in function.changed_in_place(self.begins - self.inner, exposed.__contains__):
                shown = self._shown(self.code[n])
                self._report(n, f"local variable changed in place, which a retry does not undo ({shown})")

    @staticmethod
    def _shown(one: Instruction) -> str:
        text = re.sub(r"\s+", " ", one.text.split(" <")[0])
        name = re.split(r"[-+]0x|@", one.relocation)[0] if one.relocation else ""
        if name.startswith("."):
            name = ""  # a section
        return re.sub(r"-?0x[0-9a-f]+\(%rip\)", f"{name or 'memory'}(%rip)", text)

    def _named(self, n: int) -> str | None:
        """The kind of memory that a relocation or an address of the instruction names."""
        one = self.code[n]
        if one.relocation:
            if "GOTPCREL" in one.kind:
                return "address"
            if "TPOFF" in one.kind or "TLS" in one.kind:
                return None
            return self.memory.kind(re.split(r"[-+]0x|@", one.relocation)[0])
        return self.memory.kind_at(one.comment) if one.comment is not None else None

    def _said_by_debug_info(self) -> Iterator[Finding]:
        stores = {
            one.line: one.function
            for n, one in enumerate(self.code)
            if n in self.exposed and re.match(r"_ITM_W\w*U[1248]$", one.target()) and one.line
        }
        info = debug_info.read(self.file)
        for place, name in info.written_bit_fields(stores):
            yield Finding(place, stores[place], f"bit-field {name} written, which GCC stores to the wrong bits")
        for unit in info.unoptimized:
            yield Finding(unit, "all functions", "compiled with -O0, by which GCC stores structures plainly")

    def _report(self, n: int, what: str) -> None:
        one = self.code[n]
        place = one.line or f"{self.file}:{one.function}+{one.offset:#x}"
        self.found[one.section, one.address] = Finding(place, one.function, what)


class _Memory:
    """Which memory of a file is written by programs."""

    def __init__(self, file: Path) -> None:
        command = ["objdump", "-ht", "--wide", str(file)]
        listing = ask(command, seconds=None).stdout
        if "__gnu_lto_slim" in listing:
            raise UsageError(f"{file} is not compiled to machine code, since -flto leaves that to the linker: "
                             "check the program that is linked, or compile without -flto.")  # fmt: skip
        self._sections: list[tuple[int, int, str]] = []
        self._symbols: dict[str, str] = {}
        for line in listing.splitlines():
            if match := SECTION.match(line):
                start = int(match[3], 16)
                self._sections.append((start, start + int(match[2], 16), match[1]))
            elif match := SYMBOL.match(line):
                self._symbols[match[3]] = "" if match[1].endswith(("F", "f")) else match[2]

    def kind(self, name: str) -> str | None:
        if CONSTANT.match(name):
            return plain.CONSTANT
        section = self._symbols.get(name, name)
        if section.startswith((".text", "*ABS*", "*UND*")) or not section:
            return plain.VARIABLE if section == "*UND*" and name not in ("_GLOBAL_OFFSET_TABLE_",) else None
        return self._kind_of_section(section)

    def kind_at(self, address: int) -> str | None:
        section = next((name for first, last, name in self._sections if first <= address < last), "")
        return self._kind_of_section(section)

    @staticmethod
    def _kind_of_section(section: str) -> str | None:
        if section.startswith(".got"):
            return "address"
        if CONSTANT.match(section):
            return plain.CONSTANT
        return plain.VARIABLE if section.startswith((".data", ".bss", ".sdata", "COMMON", "*COM*")) else None


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
    result = ask(["c++filt", *names])
    shown = result.stdout.splitlines()
    return shown if result.returncode == 0 and len(shown) == len(names) else names
