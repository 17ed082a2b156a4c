"""Lines of memory that cores took from one another (run.contention), and what kind of contention each is."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubato.results.run import Run

_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
#: Parts of the chip that a miss waits for.
_WAITED = ("l2", "llc", "memory", "network")
#: Kinds, as a table names them.
KINDS = {
    "lock": "own lock",
    "barrier": "own barrier",
    "flag": "own wait",
    "atomic": "hot atomic",
    "false": "false sharing",
    "true": "true sharing",
}


@dataclass(frozen=True)
class User:
    """What one core did with the line: bytes as offsets in it, such as "0-7"; `cycles` from request to data."""

    core: int
    transfers: int
    cycles: int
    touched: str
    written: str


@dataclass(frozen=True)
class Contended:
    """A line that cores took from one another. `latency`: cycles from request to data, all transfers; `cycles`: the
    part that cores waited for, since they go on meanwhile; `spun`: in loops that wait for a word."""

    address: int
    symbol: str
    kind: str  # of KINDS
    word: str  # that loops wait for, or the symbol
    transfers: int
    latency: int
    cycles: float
    spun: int
    users: tuple[User, ...]
    taken: dict[tuple[int, int], int]  # transfers, by the core it was taken from and the one that took it

    @property
    def cost(self) -> float:
        """Cycles of cores: a loop that waits for a word takes its line again and again meanwhile."""
        return max(self.cycles, self.spun)

    @property
    def object(self) -> str:
        """The symbol without the offset in it."""
        return _OFFSET.sub("", self.symbol)


def lines(run: Run) -> list[Contended]:
    """Those that cost most first; empty without run.contention."""
    found = run.stats_document.get("contention")
    if not found:
        return []
    waited = sum(cycles for thread in run.threads for part, cycles in thread.running.items() if part in _WAITED)
    part = min(1.0, waited / found["miss_cycles"]) if found["miss_cycles"] else 0.0
    return sorted((_line(row, part) for row in found["lines"]), key=lambda line: -line.cost)


def _line(row: dict[str, Any], part: float) -> Contended:
    spun = sum(word["cycles"] for word in row["spins"])
    worst = max(row["spins"], key=lambda word: word["cycles"], default=None)
    users = tuple(User(**user) for user in row["users"])
    taken = {(pair["from"], pair["by"]): pair["transfers"] for pair in row["taken"]}
    waited = part * row["cycles"]
    kind = _kind(row, worst, spun, waited)
    word = worst["symbol"] if worst is not None and kind == worst["waits_for"] else row["symbol"]
    counts = (row["transfers"], row["cycles"], waited, spun)
    return Contended(int(row["line"], 16), row["symbol"], kind, word, *counts, users, taken)


def _kind(row: dict[str, Any], worst: dict[str, Any] | None, spun: int, waited: float) -> str:
    if worst is not None and 2 * spun >= waited:
        return worst["waits_for"]
    true, false = row["true_sharing"]["cycles"], row["false_sharing"]["cycles"]
    if false > true:
        return "false"
    return "atomic" if 2 * row["atomics"] >= row["transfers"] else "true"
