"""Energy of the memory hierarchy (K77, K78): the function of counters, configuration and cycles that the simulator
computes at the end of a run (chip/coherence/energy), so that other keys `energy.*` need no other run.

>>> of(run).total, of(run, {"energy.flit_hop_pj": 50}).edp
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubato.results.run import Histogram, pattern_of

if TYPE_CHECKING:
    from rubato.results.run import Run, Stats

PARTS = ("l1", "l2", "llc", "directory", "filter", "network")
#: The keys and their defaults, for runs of a simulator that had none.
KEYS = {
    "energy.sram_pj": 3.4,
    "energy.flit_hop_pj": 100.0,
    "energy.leakage_mw_per_mib": 30.0,
    "energy.memory_nj": 20.0,
}
_WRITE, _WORD_BITS = 1.1, 64
_LINE_BYTES, _TAG_BYTES, _ROW_BYTES, _IN_TAG_BYTES, _FLIT_BYTES = 64, 4, 16, 8, 16


@dataclass(frozen=True)
class Energy:
    """In nJ, by part."""

    dynamic: dict[str, float]
    leakage: dict[str, float]
    memory: float
    seconds: float

    @property
    def total(self) -> float:
        """Of the hierarchy on the chip."""
        return sum(self.dynamic.values()) + sum(self.leakage.values())

    @property
    def edp(self) -> float:
        """Energy-delay product of the same, in nJ s."""
        return self.total * self.seconds


def of(run: Run, keys: Mapping[str, float] | None = None) -> Energy | None:
    """A run's, in its region of interest, with other `keys` than it had; nothing if it did not count what it takes."""
    return energy(run.stats, run.configuration, keys)


def energy(stats: Stats, configuration: Mapping[str, Any], keys: Mapping[str, float] | None = None) -> Energy | None:
    sums: defaultdict[str, float] = defaultdict(float)
    for path, value in stats.items():
        if not isinstance(value, Histogram):
            sums[pattern_of(path)] += value
    if "tile.*.l2.lookups" not in sums:
        return None
    return _Chip({**KEYS, **configuration, **(keys or {})}, sums).energy()


class _Chip:
    def __init__(self, configuration: Mapping[str, Any], sums: Mapping[str, float]):
        self.of = configuration
        self.sums = sums
        self.cores = int(configuration["chip.cores"])
        self.tiles = self.cores // int(configuration["chip.cores_per_tile"])
        self.banks = int(configuration.get("llc.banks", 1))  # of a slice, its directory and filter
        self.kinds = frozenset(sums)

    def energy(self) -> Energy:
        l1i, l1d = (
            self.l1("l1i", 0),
            self.l1("l1d", self.sums["core.*.stores"] + self.sums["core.*.atomics"]),
        )
        parts = {
            "l1": (l1i[0] + l1d[0], l1i[1] + l1d[1]),
            "l2": self.cache("l2"),
            "llc": self.cache("llc"),
            "directory": self.directory(),
            "filter": self.filter(),
            "network": (self.network(), 0.0),
        }
        seconds = self.sums["chip.cycles"] / (float(self.of["chip.frequency_mhz"]) * 1e6)
        power = float(self.of["energy.leakage_mw_per_mib"])
        return Energy(
            dynamic={part: pj * 1e-3 for part, (pj, _) in parts.items()},
            leakage={part: power * size / (1 << 20) * seconds * 1e6 for part, (_, size) in parts.items()},
            memory=(self.sums["mem.*.reads"] + self.sums["mem.*.writes"]) * float(self.of["energy.memory_nj"]),
            seconds=seconds,
        )

    def pj(self, size: float, bits: float) -> float:
        """Of a read; `size` of the array in bytes."""
        wider = max(bits, _WORD_BITS) / _WORD_BITS
        return float(self.of["energy.sram_pj"]) * math.sqrt(size / 1024) * math.sqrt(wider)

    def lines(self, cache: str) -> float:
        return int(self.of[f"{cache}.size"]) // _LINE_BYTES

    def size(self, cache: str) -> float:
        """With its tags."""
        return int(self.of[f"{cache}.size"]) + _TAG_BYTES * self.lines(cache)

    def tags_pj(self, cache: str) -> float:
        size = _TAG_BYTES * self.lines(cache) / self.banks_of(cache)
        return self.pj(size, 8 * _TAG_BYTES * int(self.of[f"{cache}.ways"]))

    def banks_of(self, cache: str) -> int:
        return self.banks if cache == "llc" else 1

    def l1(self, cache: str, stores: float) -> tuple[float, float]:
        size = int(self.of[f"{cache}.size"])
        word, line = self.pj(size, _WORD_BITS), self.pj(size, 8 * _LINE_BYTES)
        n = {what: self.sums[f"core.*.{cache}.{what}"] for what in ("hits", "misses", "uncounted", "fills", "probes")}
        pj = (
            (n["hits"] + n["misses"] + n["uncounted"]) * word
            + stores * (_WRITE - 1) * word
            + n["fills"] * _WRITE * line
            + self.sums[f"core.*.{cache}.lines_read"] * line
            + n["probes"] * self.tags_pj(cache)
        )
        return pj, self.cores * self.size(cache)

    def cache(self, cache: str) -> tuple[float, float]:
        line = self.pj(int(self.of[f"{cache}.size"]) / self.banks_of(cache), 8 * _LINE_BYTES)
        pj = (
            self.sums[f"tile.*.{cache}.lookups"] * self.tags_pj(cache)
            + self.sums[f"tile.*.{cache}.reads"] * line
            + self.sums[f"tile.*.{cache}.writes"] * _WRITE * line
        )
        return pj, self.tiles * self.size(cache)

    def way_bytes(self) -> int:
        """Of a home's storage for entries: its rows, a power of two."""
        held = int(self.of["l2.size"])
        if self.of.get("l2.inclusion") == "exclusive":
            held += int(self.of["l1i.size"]) + int(self.of["l1d.size"])
        entries = int(float(self.of["coherence.capacity"]) * (held // _LINE_BYTES))
        rows = max(entries // int(self.of["coherence.ways"]), 1)
        return int(_ROW_BYTES << (rows.bit_length() - 1))

    def rows(self, part: str, size: float, bits: float) -> float:
        """`size` of an array of all banks."""
        pj = self.pj(size / self.banks, bits)
        return self.sums[f"tile.*.{part}.rows_read"] * pj + self.sums[f"tile.*.{part}.rows_written"] * _WRITE * pj

    def directory(self) -> tuple[float, float]:
        """The one that the protocol's statistics tell of: none, beside the tags of a slice, or with its own entries."""
        if "tile.*.directory.rows_read" not in self.kinds:
            return 0.0, 0.0
        if "tile.*.directory.hits" not in self.kinds:
            size = _IN_TAG_BYTES * self.lines("llc")
            return self.rows("directory", size, 8 * _IN_TAG_BYTES), self.tiles * size
        ways = int(self.of["coherence.directory_ways" if self.has_filter() else "coherence.ways"])
        size = self.way_bytes()
        return self.rows("directory", size, 8 * _ROW_BYTES), self.tiles * ways * size

    def has_filter(self) -> bool:
        return "tile.*.filter.rows_read" in self.kinds

    def filter(self) -> tuple[float, float]:
        if not self.has_filter() or self.of["coherence.filter"] not in ("dlcbf", "cbf"):
            return 0.0, 0.0
        sub_tables = int(self.of["coherence.ways"]) - int(self.of["coherence.directory_ways"])
        size = self.way_bytes()
        return self.rows("filter", size, 8 * _ROW_BYTES), self.tiles * sub_tables * size

    def network(self) -> float:
        flits = sum(self.sums[f"tile.*.link.{d}.flits"] for d in ("east", "west", "south", "north"))
        return flits * float(self.of["energy.flit_hop_pj"]) * int(self.of["net.link_bytes"]) / _FLIT_BYTES
