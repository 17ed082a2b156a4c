"""Local variables that a transaction changes in place on the stack, although a retry needs their old value.

GCC keeps a local variable in a word of the stack if registers are short. It may then change that word in the
transaction, without a call that logs it, and forget that the transaction can begin anew. The next attempt finds the
changed value: `x += f()` adds twice. A cancel finds it, too.

A word counts if each path to _ITM_beginTransaction stores to it, and a path from there reads it before any other store.
A word whose address the function takes does not count: GCC logs what it stores there.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from rubato.tm import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

#: Instructions before a store that may have loaded what it stores.
LOOKS_BACK = 64

_BEGIN, _COMMITS = "_ITM_beginTransaction", ("_ITM_commitTransaction", "_ITM_commitTransactionEH")
_MOVES_STACK = re.compile(r"^(push|pop|sub|add|and|lea|leave|mov)")
#: By size; the stack pointer of an address is none.
_REGISTERS = {
    1: re.compile(r"%([abcd][lh]|[sd]il|r\d+b)\b"),
    2: re.compile(r"%([abcd]x|[sd]i|r\d+w)\b"),
    4: re.compile(r"%(e[abcd]x|e[sdb][ip]|r\d+d)\b"),
}
_NOT_AN_ACCESS = re.compile(r"nop|prefetch|endbr|j|ret")


@dataclasses.dataclass(frozen=True)
class Word:
    """Bytes of a frame, from the stack pointer at the function's entry, or from where it was aligned."""

    frame: int  #: the instruction that aligned the stack pointer, or -1
    first: int
    size: int

    def overlaps(self, other: Word) -> bool:
        return (
            self.frame == other.frame
            and self.first < other.first + other.size
            and other.first < self.first + self.size
        )


@dataclasses.dataclass(frozen=True)
class Touched:
    word: Word
    is_read: bool
    is_written: bool


#: Where the stack pointer and the frame pointer are: (frame, displacement); None if it is not known.
Place = tuple[int, int] | None


class Function:
    """Words of one function's stack. `code` gives mnemonic, text and called function."""

    def __init__(
        self,
        code: Mapping[int, tuple[str, str, str]],
        first: int,
        following: Callable[[int], Iterator[int]],
    ) -> None:
        self._code = code
        self._following = following
        self._first = first
        self.before: dict[int, tuple[Place, Place]] = {}
        self._follow_stack(first)
        self._touched = {n: list(self._touches(n)) for n in self.before}
        self._taken = {(word.frame, word.first) for n in self.before for word in self._addresses(n)}

    def changed_in_place(self, outermost: Collection[int], is_exposed: Callable[[int], bool]) -> Iterator[int]:
        """Stores, in instrumented code, to words of which a retry of an outermost transaction needs the old value."""
        for begin in sorted(n for n in self.before if n in outermost):
            is_needed: dict[Word, bool] = {}
            for n in sorted(self._in_transaction(begin)):
                if not is_exposed(n):
                    continue
                for one in self._touched[n]:
                    if not one.is_written or (one.word.frame, one.word.first) in self._taken:
                        continue
                    if not one.is_read and self._is_own_value(n, one.word):
                        continue
                    if one.word not in is_needed:
                        is_set = self._is_set_before(begin, one.word)
                        is_needed[one.word] = is_set and self._is_needed_after(begin, one.word)
                    if is_needed[one.word]:
                        yield n

    def _follow_stack(self, first: int) -> None:
        self.before[first] = ((-1, 0), None)
        waiting = [first]
        while waiting:
            n = waiting.pop()
            after = self._stack_after(n, *self.before[n])
            for to in self._following(n):
                if to not in self.before:
                    self.before[to] = after
                    waiting.append(to)

    def _stack_after(self, n: int, stack: Place, frame: Place) -> tuple[Place, Place]:
        mnemonic, text, _ = self._code[n]
        if not _MOVES_STACK.match(mnemonic):
            return stack, frame
        if mnemonic.startswith("leave"):
            return _moved(frame, 8), None
        parts = plain.operands(text)
        if mnemonic.startswith("push"):
            return _moved(stack, -8), frame
        if mnemonic.startswith("pop"):
            return _moved(stack, 8), None if parts == ["%rbp"] else frame
        if parts[-1:] == ["%rbp"]:
            return stack, stack if mnemonic.startswith("mov") and parts[0] == "%rsp" else None
        if parts[-1:] != ["%rsp"]:
            return stack, frame
        if mnemonic.startswith("and"):
            return (n, 0), frame
        if mnemonic.startswith(("add", "sub")) and parts[0].startswith("$"):
            by = int(parts[0][1:], 0)
            return _moved(stack, by if mnemonic.startswith("add") else -by), frame
        if mnemonic.startswith("lea") and (memory := plain.memory_of(parts[0])) and not memory.index:
            base = {"rsp": stack, "rbp": frame}.get(memory.base)
            return _moved(base, memory.displacement), frame
        return (frame if parts[0] == "%rbp" else None), frame

    def _word(self, n: int, operand: str, size: int) -> Word | None:
        memory = plain.memory_of(operand)
        if memory is None or memory.segment or memory.index:
            return None
        stack, frame = self.before[n]
        base = {"rsp": stack, "rbp": frame}.get(memory.base)
        return Word(base[0], base[1] + memory.displacement, size) if base is not None else None

    def _addresses(self, n: int) -> Iterator[Word]:
        mnemonic, text, _ = self._code[n]
        if mnemonic.startswith("lea") and not mnemonic.startswith("leave") and not text.endswith(",%rsp"):
            word = self._word(n, plain.operands(text)[0], 1)
            if word is not None:
                yield word

    def _touches(self, n: int) -> Iterator[Touched]:
        mnemonic, text, _ = self._code[n]
        if _NOT_AN_ACCESS.match(mnemonic) or mnemonic.startswith("lea"):
            return
        parts = plain.operands(text)
        for k, part in enumerate(parts):
            word = self._word(n, part, _size(mnemonic, text))
            if word is None:
                continue
            is_last = k == len(parts) - 1
            is_written = is_last and plain.changes_last(mnemonic)
            only_writes = is_written and plain.only_writes_last(mnemonic)
            yield Touched(word, not only_writes, is_written)

    def _in_transaction(self, begin: int) -> set[int]:
        found: set[int] = set()
        seen: set[tuple[int, int]] = set()
        waiting = [(to, 1) for to in self._following(begin)]
        while waiting:
            n, depth = waiting.pop()
            if (n, depth) in seen or depth == 0 or depth > 8:
                continue
            seen.add((n, depth))
            found.add(n)
            called = self._code[n][2] if self._code[n][0].startswith("call") else ""
            depth += (called == _BEGIN) - (called in _COMMITS)
            waiting += [(to, depth) for to in self._following(n)]
        return found

    def _is_own_value(self, n: int, word: Word) -> bool:
        """Does a store put back the value that its register was loaded with? By the straight code before it."""
        register = plain.register_of(plain.operands(self._code[n][1])[0])
        for before in range(n - 1, max(n - LOOKS_BACK, self._first) - 1, -1):
            mnemonic, text, _ = self._code[before]
            parts = plain.operands(text)
            if not register or (mnemonic.startswith("call") and register in plain.CHANGED_BY_CALLS):
                return False
            if mnemonic.startswith("call"):
                continue
            if not parts or plain.register_of(parts[-1]) != register or not plain.changes_last(mnemonic):
                continue
            if not mnemonic.startswith("mov"):
                return False
            if any(one.word.first == word.first and one.is_read for one in self._touched.get(before, ())):
                return True
            register = plain.register_of(parts[0])
        return False

    def _is_set_before(self, begin: int, word: Word) -> bool:
        """On every way: others are set in the transaction, by a condition that is not understood here."""
        seen: set[int] = set()
        waiting = [self._first]
        while waiting:
            n = waiting.pop()
            if n == begin:
                return False
            if n not in seen:
                seen.add(n)
                if not any(one.is_written and one.word.overlaps(word) for one in self._touched.get(n, ())):
                    waiting += list(self._following(n))
        return True

    def _is_needed_after(self, begin: int, word: Word) -> bool:
        seen: set[int] = set()
        waiting = list(self._following(begin))
        while waiting:
            n = waiting.pop()
            if n in seen:
                continue
            seen.add(n)
            touched = [one for one in self._touched.get(n, ()) if one.word.overlaps(word)]
            if any(one.is_read for one in touched):
                return True
            if not any(one.is_written for one in touched):
                waiting += list(self._following(n))
        return False


def _moved(place: Place, by: int) -> Place:
    return (place[0], place[1] + by) if place is not None else None


def _size(mnemonic: str, text: str) -> int:
    if "%ymm" in text:
        return 32
    if "%xmm" in text:
        return 4 if mnemonic.endswith("ss") else 8 if re.match(r"v?(mov[qhl]|.*sd$)", mnemonic) else 16
    if mnemonic.startswith(("set", "movzb", "movsb")):
        return 1
    if mnemonic.startswith(("movzw", "movsw", "movsl")):
        return 4 if mnemonic.startswith("movsl") else 2
    for size, registers in _REGISTERS.items():
        if registers.search(text):
            return size
    return {"b": 1, "w": 2, "l": 4}.get(mnemonic[-1], 8)
