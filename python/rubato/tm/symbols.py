"""Functions and lines of addresses in programs and libraries, by binutils."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import bisect
import functools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rubato.errors import UsageError
from rubato.process.child import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CLONE = re.compile(r"^(?:non-)?transaction clone for ")


@dataclass(frozen=True)
class Frame:
    """`line` is file:line, or module+offset where there is no debugging information."""

    function: str
    line: str
    module: str

    def __str__(self) -> str:
        return f"{self.function} ({self.line})"


def code(modules: Mapping[int, str], addresses: Iterable[tuple[int, int]]) -> dict[tuple[int, int], list[Frame]]:
    """The frames at (module, offset), innermost first: more than one where functions were inlined."""
    wanted: dict[int, list[int]] = {}
    for module, offset in sorted(set(addresses)):
        wanted.setdefault(module, []).append(offset)
    found = {}
    for module, offsets in wanted.items():
        path = modules.get(module, "")
        for offset, frames in zip(offsets, _of_module(path, offsets), strict=True):
            found[module, offset] = frames
    return found


def _of_module(path: str, offsets: list[int]) -> list[list[Frame]]:
    name = Path(path).name or "unknown"
    unknown = [[Frame(f"{name}+{offset:#x}", f"{name}+{offset:#x}", path)] for offset in offsets]
    if not path or not Path(path).is_file():
        return unknown
    if shutil.which("addr2line") is None:
        raise UsageError("addr2line is missing, which finds functions and lines; install binutils.")
    addresses = "".join(f"{offset:#x}\n" for offset in offsets)
    result = ask(["addr2line", "-a", "-f", "-i", "-C", "-e", path], addresses, seconds=None)
    if result.returncode != 0:
        return unknown
    found: list[list[str]] = []
    for line in result.stdout.splitlines():
        if line.startswith("0x"):
            found.append([])
        elif found:
            found[-1].append(line)
    if len(found) != len(offsets):
        return unknown
    return [
        _frames(lines, path, offset) or missing
        for lines, offset, missing in zip(found, offsets, unknown, strict=True)
    ]


def _frames(lines: list[str], path: str, offset: int) -> list[Frame]:
    frames = []
    for function, place in zip(lines[::2], lines[1::2], strict=True):
        where = re.sub(r" \(discriminator \d+\)$", "", place)
        file, _, number = where.rpartition(":")
        known = file != "??" and number not in ("?", "0")
        if not known:  # addr2line names the nearest symbol before the address, however far away it is
            name = re.sub(r"\+\d+$", "", symbols_of(path).at(offset))
            return [Frame(name, f"{Path(path).name}+{offset:#x}", path)] if name else []
        frames.append(Frame(CLONE.sub("", function), f"{Path(file).name}:{number}", path))
    return frames


class Symbols:
    """What is at an address, functions and variables, by the table of symbols."""

    def __init__(self, path: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._names: list[str] = []
        if not path or not Path(path).is_file() or shutil.which("nm") is None:
            return
        rows = _listed(path) or _listed(path, "-D")  # the dynamic symbols are in the whole table, if there is one
        for start, size, name in sorted({(int(a, 16), int(b, 16), name) for a, b, name in rows}):
            self._starts.append(start)
            self._ends.append(start + size)
            self._names.append(CLONE.sub("", re.sub(r"@@?[\w.]+$", "", name)))

    def at(self, offset: int) -> str:
        """The name, with +N behind its start; empty if there is none."""
        i = bisect.bisect_right(self._starts, offset) - 1
        if i < 0 or offset >= max(self._ends[i], self._starts[i] + 1):
            return ""
        into = offset - self._starts[i]
        return self._names[i] + (f"+{into}" if into else "")


def _listed(path: str, *options: str) -> list[tuple[str, str, str]]:
    """Start, size and name of each symbol."""
    # Without plugins: those for link-time optimization take longer to load than most tables to read.
    command = ["nm", "--plugin", "", *options, "-S", "-C", path]
    listed = ask(command, seconds=None).stdout
    return re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [a-zA-Z] (.+)$", listed, re.MULTILINE)


@functools.cache
def symbols_of(path: str) -> Symbols:
    """Read once a file, and only if a name is needed that debugging information lacks."""
    return Symbols(path)


#: Bytes of code in which the call behind a switch is looked for.
NEAR = 512
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(?:(?:bnd|notrack) )*(\S+) *(.*)$")
TARGET = re.compile(r"^([0-9a-f]+) <(.+?)(\+0x[0-9a-f]+)?>$")
#: Bits of the answer of _ITM_beginTransaction that are set in a transaction that runs alone, and that are not.
RUNS_UNINSTRUMENTED, WAS_CANCELLED = "$0x2", "$0x10"


def called_behind(path: str, offset: int) -> str:
    """The function that code at an address calls first, the library's own left out.

    Empty if a condition comes before, other than on the answer of begin, or if the call is one through a pointer.
    """
    if not path or not Path(path).is_file() or shutil.which("objdump") is None:
        return ""
    command = ["objdump", "-d", "-C", "--no-show-raw-insn", f"--start-address={offset:#x}", path]
    listed = ask([*command, f"--stop-address={offset + NEAR:#x}"], seconds=None).stdout
    code = [match.groups() for line in listed.splitlines() if (match := INSTRUCTION.match(line))]
    at = {int(address, 16): n for n, (address, *_) in enumerate(code)}
    n, tested, seen = 0, "", set()
    while n < len(code) and n not in seen:
        seen.add(n)
        _, mnemonic, operands = code[n]
        target = TARGET.match(operands)
        name = CLONE.sub("", re.sub(r"@.*$", "", target[2])) if target else ""
        n += 1
        if mnemonic.startswith("call"):
            if not name.startswith("_ITM_"):
                return name
        elif mnemonic in ("test", "and"):
            tested = operands.split(",")[0]
        elif mnemonic.startswith("j"):
            to = at.get(int(target[1], 16)) if target else None
            if mnemonic.startswith("jmp"):
                if to is None or (target and not target[3]):
                    return name if target and not target[3] else ""
                n = to
                continue
            if mnemonic not in ("je", "jne") or tested not in (RUNS_UNINSTRUMENTED, WAS_CANCELLED) or to is None:
                return ""
            if (mnemonic == "jne") == (tested == RUNS_UNINSTRUMENTED):
                n = to
        elif mnemonic.startswith("ret"):
            return ""
    return ""
