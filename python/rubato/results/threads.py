"""What the threads of a run did with their cycles, what they waited for, and where cores were: for people.

stats.json has addresses and functions; source lines come from the program's debugging information, where the program is
still what it was and an addr2line for RISC-V is installed.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubato.names import short_name
from rubato.process.child import ask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rubato.results.run import Run

#: What a runnable thread may be waiting for that is nobody's fault.
HARMLESS = ("join", "sleep", "region", "signal", "files")
_ADDR2LINE = ("riscv64-linux-gnu-addr2line", "llvm-addr2line", "addr2line")
#: Waits whose place in a library no user has written.
_IN_LIBRARY = ("barrier", "lock", "condition", "semaphore", "futex")
#: Whose functions begin so; all others are the C library's.
_LIBRARIES = (
    (("gomp_", "GOMP_", "omp_", "do_spin", "do_wait"), "OpenMP"),
    (("runtime.", "sync.", "internal/"), "Go's runtime"),
    (("std::", "__gnu_cxx::", "execute_native_thread_routine"), "the C++ library"),
)
#: Marks of copies of a function that GCC makes.
_COPIES = re.compile(r"(( \[clone )?\.(constprop|isra|part|cold|lto_priv)(\.\d+)?\]?)+$")
#: Headers of libraries, whose lines say little where they were inlined.
_SYSTEM = ("/usr/", "/include/c++/", "bits/")


@dataclass(frozen=True)
class Place:
    """A function, and the line in it: "bank.c:41", empty where the program does not say."""

    function: str
    line: str = ""
    is_users: bool = field(default=True, compare=False)  # no library's

    def __str__(self) -> str:
        name = short_name(self.function)
        return f"{name} ({self.line})" if self.line else name


@dataclass(frozen=True)
class Thread:
    """Cycles of one thread in detail: running, by part of the chip; ready, without a core; blocked, by reason."""

    number: int
    running: dict[str, int]
    ready: int
    blocked: dict[str, int]

    @property
    def cycles(self) -> int:
        return sum(self.running.values()) + self.ready + sum(self.blocked.values())


@dataclass
class Wait:
    """What threads waited for at one place of the program: kind is "lock", "barrier", "condition", "join", ..."""

    kind: str
    what: str  # symbol or address
    at: Place
    waits: int = 0
    cycles: int = 0
    longest: int = 0
    threads: Counter[int] = field(default_factory=Counter)  # cycles of each
    ended_by: Counter[int] = field(default_factory=Counter)  # waits; 0: a time limit
    held_by: Counter[int] = field(default_factory=Counter)  # waits that found the lock with this thread
    idle: int = 0  # core cycles that were idle because of these waits

    def __str__(self) -> str:
        named = f" {self.what}" if self.what else ""
        return f"{self.kind}{named} at {self.at}"


@dataclass(frozen=True)
class Hot:
    """A place where cores were, and the share of all samples; `spins_for` if the place is in a library's wait."""

    at: Place
    share: float
    spins_for: str = ""
    threads: Counter[int] = field(default_factory=Counter, compare=False)  # samples of each
    alone: Counter[int] = field(default_factory=Counter, compare=False)  # those while no other thread worked


def threads(run: Run) -> list[Thread]:
    rows = run.stats_document.get("threads", [])
    return [Thread(row["thread"], row["running"], row["ready"], row["blocked"]) for row in rows]


def waits(run: Run) -> list[Wait]:
    """Most cycles first. Rows of one lock and one line are one, whatever the calls between."""
    rows = run.stats_document.get("waits", [])
    lines = source_lines(run, (_user_address(row) for row in rows))
    locks = {row["address"] for row in rows if row["for"] == "lock"}
    found: dict[tuple[str, str, Place], Wait] = {}
    for row in rows:
        kind = "lock" if row["for"] == "futex" and row["address"] in locks else row["for"]
        what = row["symbol"] if kind not in HARMLESS else ""
        place = _place(row, lines)
        wait = found.setdefault((kind, what, place), Wait(kind, what, place))
        wait.waits += row["waits"]
        wait.cycles += row["cycles"]
        wait.idle += row.get("idle", 0)
        wait.longest = max(wait.longest, row["longest"])
        for name in ("threads", "ended_by", "held_by"):
            getattr(wait, name).update({int(thread): count for thread, count in row[name].items()})
    return sorted(found.values(), key=lambda wait: -wait.cycles)


def profile(run: Run) -> list[Hot]:
    """Most samples first. Of a library's function it is the line that called it."""
    document = run.stats_document.get("profile", {})
    total = document.get("samples", 0)
    rows = document.get("sites", [])
    lines = source_lines(run, (_user_address(row) for row in rows))
    found: dict[tuple[Place, str], tuple[Counter[int], Counter[int]]] = {}
    for row in rows:
        key = (_place(row, lines), row["spins_for"])
        for counts, name in zip(found.setdefault(key, (Counter(), Counter())), ("threads", "alone"), strict=True):
            counts.update({int(thread): count for thread, count in row.get(name, {}).items()})
    places = [Hot(place, counts.total() / total, spins, counts, alone)
              for (place, spins), (counts, alone) in found.items()]  # fmt: skip
    return sorted(places, key=lambda hot: -hot.share)


def _user(row: dict[str, Any]) -> dict[str, str]:
    return row["at"][row["user"]] if row["user"] < len(row["at"]) else row["at"][0]


def _user_address(row: dict[str, Any]) -> int:
    return int(_user(row)["address"], 16)


def _place(row: dict[str, Any], lines: dict[int, str]) -> Place:
    name = bare_function(_user(row)["function"])
    is_users = row["user"] < len(row["at"])
    library = _library(name)
    is_inside = library is not None or row.get("spins_for") or row.get("for") in _IN_LIBRARY or name.startswith("_")
    if not is_users and is_inside:
        return Place(f"({library or 'the C library'})", "", is_users=False)  # its insides tell a user nothing
    return Place(name, lines.get(_user_address(row), ""), is_users)


def bare_function(described: str) -> str:
    """Without an offset, and without the marks of copies."""
    return _COPIES.sub("", described.rpartition("+0x")[0] or described)


def _library(function: str) -> str | None:
    return next((name for prefixes, name in _LIBRARIES if function.startswith(prefixes)), None)


def source_lines(run: Run, addresses: Iterable[int]) -> dict[int, str]:
    """file:line of each address that has one."""
    program = Path(str(run.manifest.get("program", "")))
    wanted = sorted(set(addresses))
    if not wanted or not program.is_file():
        return {}
    if hashlib.sha256(program.read_bytes()).hexdigest() != run.manifest.get("program_sha256"):
        return {}  # compiled anew since: its lines are others
    for tool in _ADDR2LINE:
        if shutil.which(tool) is None:
            continue
        done = ask([tool, "-a", "-i", "-e", program], "".join(f"{a:#x}\n" for a in wanted), seconds=None)
        if done.returncode == 0 and (found := _parsed(done.stdout)):
            return found
    return _lines_of_go(program, wanted)


def _lines_of_go(program: Path, addresses: list[int]) -> dict[int, str]:
    """By Go's own tool: binutils do not read the lines of its programs."""
    if shutil.which("go") is None or b"runtime.goexit" not in program.read_bytes():
        return {}
    done = ask(["go", "tool", "addr2line", program], "".join(f"{a:#x}\n" for a in addresses), seconds=None)
    places = done.stdout.splitlines()[1::2]  # a function and a place for each
    if done.returncode != 0 or len(places) != len(addresses):
        return {}
    known = ((a, p.rpartition(":")) for a, p in zip(addresses, places, strict=True) if not p.startswith("?"))
    return {address: f"{Path(file).name}:{line}" for address, (file, _, line) in known}


def _parsed(text: str) -> dict[int, str]:
    frames: dict[int, list[str]] = {}
    address = 0
    for line in text.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
            frames[address] = []
        else:
            frames[address].append(line.partition(" (")[0])
    chosen = {}
    for at, places in frames.items():
        known = [p for p in places if not p.startswith("??") and not p.endswith((":?", ":0"))]
        own = [p for p in known if not any(part in p for part in _SYSTEM)]
        if known:
            file, _, line = (own or known)[0].rpartition(":")
            chosen[at] = f"{Path(file).name}:{line}"
    return chosen
