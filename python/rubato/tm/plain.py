"""Plain loads and stores of memory that is not the stack's, in code that GCC compiled as transactional.

GCC reads arguments of class type, stores returned structures, and reads behind a nested commit without a barrier. Such
an access is an ordinary instruction. It is found by where its address comes from: registers are followed through a
function, and an address is the stack's, of a variable, from memory or an argument, of memory that the transaction has
allocated, or unknown. Nothing is said of unknown addresses, so findings are few and certain.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: Where an address comes from. A constant's memory is never written, so a plain load of it is right; GCC knows that
#: memory that the transaction allocated is its own.
STACK, VARIABLE, CONSTANT, POINTER, ALLOCATED = "stack", "variable", "constant", "pointer", "allocated"
#: The first argument: of a function that returns a structure, the place for it.
FIRST_ARGUMENT = "first argument"
SHARED = frozenset({VARIABLE, POINTER, FIRST_ARGUMENT})

_NAMES = {
    name: full
    for full, names in {
        **{f"r{c}x": (f"r{c}x", f"e{c}x", f"{c}x", f"{c}l", f"{c}h") for c in "abcd"},
        **{f"r{c}": (f"r{c}", f"e{c}", c, f"{c}l") for c in ("si", "di", "bp", "sp")},
        **{f"r{n}": (f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16)},
    }.items()
    for name in names
}
_WIDE = frozenset(_NAMES.values())
CHANGED_BY_CALLS = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
_ARGUMENTS = ("rsi", "rdx", "rcx", "r8", "r9")
_ALLOCATES = re.compile(r"_ITM_malloc|_ITM_calloc|_ZGTtn[wa]m")
_LOADS_WORD = re.compile(r"_ITM_R\w*U8")
_CHANGES_ACCUMULATOR = re.compile(r"i?mul|i?div|cqto|cltq|cwtl|cltd|xchg|cmpxchg|cpuid|rdtsc|lods|scas|movs[bwlq]?$")
_MEMORY = re.compile(r"^(%[cdefgs]s:)?(-?0x[0-9a-f]+|-?\d+)?\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)$")
_TOUCHES_NOTHING = re.compile(r"lea|nop|prefetch|endbr|clflush|j|call|ret")
_READS_ONLY = re.compile(r"cmp|test|push|v?u?comis|bt[lqw]?$|mul|div|imul|idiv|ptest")
_WRITES_ONLY = re.compile(r"v?mov|set|pop|st|fst|fist|v?extract|v?pextr|cmov")


@dataclasses.dataclass(frozen=True)
class Memory:
    """A memory operand."""

    segment: str
    displacement: int
    base: str
    index: str
    scale: int


@dataclasses.dataclass(frozen=True)
class Access:
    n: int
    is_store: bool
    source: str


def operands(text: str) -> list[str]:
    """Of an instruction in AT&T syntax: what a store changes is the last one."""
    words = text.split(None, 1)
    while len(words) == 2 and words[0] in ("rep", "repz", "repnz", "lock", "bnd", "notrack", "data16", "cs"):
        words = words[1].split(None, 1)
    if len(words) < 2:
        return []
    return [part.strip() for part in re.split(r",(?![^(]*\))", words[1].split(" <")[0])]


def memory_of(operand: str) -> Memory | None:
    match = _MEMORY.match(operand)
    if match is None:
        return None
    register = [_NAMES.get((match[k] or "").lstrip("%"), (match[k] or "").lstrip("%")) for k in (3, 4)]
    return Memory(match[1] or "", int(match[2] or "0", 0), register[0], register[1], int(match[5] or "1"))


def register_of(operand: str) -> str:
    """The whole register that an operand names, or an empty string."""
    return _NAMES.get(operand.lstrip("%"), "") if operand.startswith("%") else ""


def changes_last(mnemonic: str) -> bool:
    """Does an instruction that is no load by one operand change its last operand?"""
    return not _READS_ONLY.match(mnemonic)


def only_writes_last(mnemonic: str) -> bool:
    """Does it so without reading it?"""
    return _WRITES_ONLY.match(mnemonic) is not None


class Function:
    """The registers of one function, from its first instruction on.

    `following` gives the instructions that may come next; `variable_at` the kind of memory, CONSTANT or VARIABLE, that
    an operand with %rip or an immediate address names, or None.
    """

    def __init__(
        self,
        code: Mapping[int, tuple[str, str, str]],
        first: int,
        following: Callable[[int], Iterator[int]],
        named: Callable[[int], str | None],
    ) -> None:
        self._code = code
        self._following = following
        self._named = named
        self.before: dict[int, dict[str, str]] = {}
        self._run(first)

    def _run(self, first: int) -> None:
        start = {"rsp": STACK, "rdi": FIRST_ARGUMENT} | dict.fromkeys(_ARGUMENTS, POINTER)
        self.before[first] = start
        waiting = [first]
        while waiting:
            n = waiting.pop()
            after = self._after(n, self.before[n])
            for to in self._following(n):
                known = self.before.get(to)
                joined = after if known is None else {r: k for r, k in known.items() if after.get(r) == k}
                if joined != known:
                    self.before[to] = joined
                    waiting.append(to)

    def _after(self, n: int, before: dict[str, str]) -> dict[str, str]:
        mnemonic, text, target = self._code[n]
        kinds = dict(before)
        if mnemonic.startswith("call"):
            for register in CHANGED_BY_CALLS:
                kinds.pop(register, None)
            if _ALLOCATES.match(target):
                kinds["rax"] = ALLOCATED
            elif _LOADS_WORD.match(target):
                kinds["rax"] = POINTER
            return kinds
        parts = operands(text)
        if mnemonic.startswith(("push", "pop")):  # the words of the stack have other displacements now
            kinds = {r: k for r, k in kinds.items() if "(" not in r}
        if _CHANGES_ACCUMULATOR.match(mnemonic):
            for register in ("rax", "rdx"):
                kinds.pop(register, None)
        if not parts or mnemonic.startswith(("j", "cmp", "test", "push", "nop", "ret")):
            return kinds
        last = parts[-1]
        register = _NAMES.get(last.lstrip("%")) if last.startswith("%") else None
        if register is None:
            self._keep_in_slot(mnemonic, parts, kinds)
            return kinds
        if register == "rsp":
            return {r: k for r, k in kinds.items() if "(" not in r}
        kind = self._kind_of_result(n, mnemonic, parts, register, kinds)
        if kind is None:
            kinds.pop(register, None)
        else:
            kinds[register] = kind
        return kinds

    @staticmethod
    def _slot(operand: str) -> str | None:
        """The stack's word that an operand names, if it does so by the stack pointer alone."""
        memory = memory_of(operand)
        if memory is None or memory.base != "rsp" or memory.index:
            return None
        return f"{memory.displacement}(rsp)"

    def _keep_in_slot(self, mnemonic: str, parts: list[str], kinds: dict[str, str]) -> None:
        slot = self._slot(parts[-1])
        if slot is None:
            return
        kinds.pop(slot, None)
        source = parts[0].lstrip("%")
        if mnemonic in ("mov", "movq") and source in _WIDE and source in kinds:
            kinds[slot] = kinds[source]

    def _kind_of_result(
        self, n: int, mnemonic: str, parts: list[str], register: str, kinds: dict[str, str]
    ) -> str | None:
        source = parts[0]
        is_wide = parts[-1].lstrip("%") in _WIDE
        if mnemonic.startswith("lea"):
            memory = memory_of(source)
            if memory is None:
                return None
            if memory.base == "rip":
                return self._named(n)
            return kinds.get(memory.base) or (kinds.get(memory.index) if not memory.base else None)
        if mnemonic in ("mov", "movq", "movabs", "movl"):
            if source.startswith("%"):
                return kinds.get(_NAMES.get(source.lstrip("%"), "")) if is_wide else None
            if source.startswith("$"):
                return self._named(n)
            if not is_wide:
                return None
            slot = self._slot(source)
            if slot is not None:
                return kinds.get(slot)
            return self._kind_of_loaded(n, source, kinds)
        if mnemonic.startswith(("add", "sub")) and len(parts) == 2:
            if source.startswith("$"):
                return kinds.get(register)
            other = kinds.get(_NAMES.get(source.lstrip("%"), ""))
            mine = kinds.get(register)
            return mine if other is None else other if mine is None else None
        return None

    def _kind_of_loaded(self, n: int, source: str, kinds: dict[str, str]) -> str | None:
        memory = memory_of(source)
        if memory is None or memory.segment:
            return None
        if memory.base == "rip":
            return VARIABLE if self._named(n) == "address" else POINTER
        return POINTER if kinds.get(memory.base) in SHARED else None

    def source(self, n: int, memory: Memory) -> str | None:
        """Where the address of an operand comes from."""
        if memory.segment:
            return None
        if memory.base == "rip":
            kind = self._named(n)
            return None if kind == "address" else kind
        kinds = self.before.get(n, {})
        found = {kinds.get(r) for r in (memory.base, memory.index) if r}
        if STACK in found or ALLOCATED in found:
            return STACK
        if not memory.base:
            return self._named(n)
        if memory.index and memory.scale == 1 and kinds.get(memory.index) is None:
            return None  # either may be the address, and the other a number
        return kinds.get(memory.base)

    def accesses(self, n: int) -> Iterator[Access]:
        """Plain accesses of an instruction to what is not the stack's."""
        mnemonic, text, _ = self._code[n]
        if mnemonic.startswith("call") or n not in self.before:
            return
        if re.match(r"(rep\w* )?(movs[bwlq]? |stos)", text) and "(%rdi)" in text.replace("%es:", ""):
            yield from self._of_string(n, text)
            return
        if _TOUCHES_NOTHING.match(mnemonic):
            return
        parts = operands(text)
        for k, part in enumerate(parts):
            memory = memory_of(part)
            if memory is None:
                continue
            source = self.source(n, memory)
            if source not in SHARED:
                continue
            is_last = k == len(parts) - 1 and not _READS_ONLY.match(mnemonic)
            yield Access(n, is_last and not (len(parts) == 1 and mnemonic.startswith("fld")), source)

    def _of_string(self, n: int, text: str) -> Iterator[Access]:
        kinds = self.before[n]
        if "movs" in text and kinds.get("rsi") in SHARED:
            yield Access(n, False, kinds["rsi"])
        if kinds.get("rdi") in SHARED:
            yield Access(n, True, kinds["rdi"])

    def stores_what_it_returns(self) -> bool:
        """Does it store plainly to the place that its first argument names, and return it?"""
        if not self.returns_first_argument():
            return False
        found = (access for n in self.before for access in self.accesses(n))
        return any(access.is_store and access.source == FIRST_ARGUMENT for access in found)

    def returns_first_argument(self) -> bool:
        """Does every way out return the place that the first argument names: of a structure?"""
        ways = [n for n in self.before if self._code[n][0].startswith("ret")]
        return bool(ways) and all(self.before[n].get("rax") == FIRST_ARGUMENT for n in ways)
