"""Lines of memory that cores took from one another (run.contention), and what kind of contention each is.

Static data is named by its symbol. Memory of the heap is named by the place in the program that has allocated it, where
the simulator has recognized that.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubato.results.threads import Place, bare_function, source_lines

if TYPE_CHECKING:
    from rubato.results.run import Run

_HEAP = "heap at "
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
class Block:
    """Memory that the program has allocated, and the place that asked for it. `offset`: of the first byte in use;
    `count`: blocks that the bytes in use are parts of, of which this is the first."""

    address: int
    bytes: int
    offset: int
    count: int
    is_mapping: bool  # pages that mmap has given
    site: Place

    @property
    def origin(self) -> str:
        return f"{'made' if self.is_mapping else 'allocated'} by {self.site}"

    @property
    def noun(self) -> str:
        return "mapping" if self.is_mapping else "heap block"

    def __str__(self) -> str:
        if self.count > 1:
            return f"{self.count} {self.noun}s, the first of {self.bytes:,} bytes {self.origin}"
        return f"{self.noun} of {self.bytes:,} bytes {self.origin}, offset {self.offset:,}"


def name_of(blocks: list[Block]) -> str:
    """Blocks of one site, named together."""
    first = blocks[0]
    sizes = {block.bytes for block in blocks}
    size = f" of {first.bytes:,} bytes" if len(sizes) == 1 else ""
    if len({block.address for block in blocks}) == 1 and first.count == 1:
        return f"a {first.noun}{size} {first.origin}"
    return f"{first.noun}s{size} {first.origin}"


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
    block: Block | None = None  # on the heap, if its site is known

    @property
    def cost(self) -> float:
        """Cycles of cores: a loop that waits for a word takes its line again and again meanwhile."""
        return max(self.cycles, self.spun)

    @property
    def is_unnamed_heap(self) -> bool:
        return self.symbol.startswith(_HEAP) and self.block is None

    @property
    def object(self) -> str:
        """The symbol without the offset in it, or the place that has allocated the block."""
        if self.block is not None:
            return f"{self.block.noun}s {self.block.origin}"
        return _OFFSET.sub("", self.symbol)


def lines(run: Run) -> list[Contended]:
    """Those that cost most first; empty without run.contention."""
    found = run.stats_document.get("contention")
    if not found:
        return []
    waited = sum(cycles for thread in run.threads for part, cycles in thread.running.items() if part in _WAITED)
    part = min(1.0, waited / found["miss_cycles"]) if found["miss_cycles"] else 0.0
    names = _Names(run, found)
    return sorted((_line(row, part, names) for row in found["lines"]), key=lambda line: -line.cost)


def why_unnamed(run: Run) -> str:
    """Why no block of the heap has a site: a sentence without its end, or empty."""
    why = run.stats_document.get("contention", {}).get("no_sites", "")
    return f"allocation sites are not known, since {why}" if why else ""


class _Names:
    """Names for rows of lines, and of words in them."""

    def __init__(self, run: Run, document: dict[str, Any]) -> None:
        rows = [row for line in document["lines"] for row in (line, *line["spins"]) if "block" in row]
        self.lines = source_lines(run, (self._call(row)[0] for row in rows))

    @staticmethod
    def _call(row: dict[str, Any]) -> tuple[int, str]:
        call = row["block"]["at"][row["block"]["user"]]
        return int(call["address"], 16), call["function"]

    def block(self, row: dict[str, Any]) -> Block | None:
        if "block" not in row:
            return None
        address, function = self._call(row)
        site = Place(bare_function(function), self.lines.get(address, ""))
        found = row["block"]
        return Block(int(found["address"], 16), found["bytes"], found["offset"], found["blocks"], found["is_mapping"],
                     site)  # fmt: skip

    def symbol(self, row: dict[str, Any]) -> str:
        return f"{_HEAP}{row['symbol']}" if row.get("is_heap") else row["symbol"]


def _line(row: dict[str, Any], part: float, names: _Names) -> Contended:
    spun = sum(word["cycles"] for word in row["spins"])
    worst = max(row["spins"], key=lambda word: word["cycles"], default=None)
    users = tuple(User(**user) for user in row["users"])
    taken = {(pair["from"], pair["by"]): pair["transfers"] for pair in row["taken"]}
    waited = part * row["cycles"]
    kind = _kind(row, worst, spun, waited)
    named = worst if worst is not None and kind == worst["waits_for"] else row
    block = names.block(named)
    word = str(block) if block is not None else names.symbol(named)
    counts = (row["transfers"], row["cycles"], waited, spun)
    return Contended(int(row["line"], 16), names.symbol(row), kind, word, *counts, users, taken, block)


def _kind(row: dict[str, Any], worst: dict[str, Any] | None, spun: int, waited: float) -> str:
    if worst is not None and 2 * spun >= waited:
        return worst["waits_for"]
    true, false = row["true_sharing"]["cycles"], row["false_sharing"]["cycles"]
    if false > true:
        return "false"
    return "atomic" if 2 * row["atomics"] >= row["transfers"] else "true"
