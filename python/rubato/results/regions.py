"""The regions that a program marked (rubato/markers.h): the statistics of each, by name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rubato.results.run import Stats
from rubato.results.summary import CYCLE_CLASSES, TRAFFIC_CLASSES, shown_shares

if TYPE_CHECKING:
    from rubato.results.run import Run


@dataclass(frozen=True)
class Region:
    """What happened on the whole chip while the region was open, as far as that was simulated in detail."""

    name: str
    times: int  # that it began
    functions: list[dict[str, Any]]  # as Run.functions
    document: dict[str, Any]

    def __repr__(self) -> str:
        return f"<Region {self.name}: {self.cycles:,} cycles>"

    @cached_property
    def stats(self) -> Stats:
        """Every statistic, by path, as Run.stats."""
        return Stats(self.document)

    @property
    def cycles(self) -> int:
        return int(self.stats["chip.cycles"])

    @property
    def instructions(self) -> int:
        return int(self.stats["chip.instructions"])

    @property
    def cycle_breakdown(self) -> dict[str, float]:
        """Fractions of its core cycles; they add to 1 unless it has none."""
        cycles = {c: self.stats.total(f"chip.core_cycles.{c}") for c in CYCLE_CLASSES}
        return {c: value / (sum(cycles.values()) or 1) for c, value in cycles.items()}

    @property
    def cycle_shares(self) -> dict[str, float]:
        """As Summary.cycle_shares."""
        core_cycles = sum(self.stats.total(f"chip.core_cycles.{c}") for c in CYCLE_CLASSES)
        return shown_shares(self.cycle_breakdown, self.stats.total("tasks.held_back", optional=True), core_cycles)

    @property
    def network_bytes(self) -> int:
        return int(sum(self.stats.total(f"net.bytes.{c}") for c in TRAFFIC_CLASSES))


def regions(run: Run) -> list[Region]:
    """In the order in which they began first."""
    document = run.stats_document
    return [
        Region(r["name"], r["times"], r["functions"], {"stats": document["stats"], "roi": r["values"]})
        for r in document.get("regions", [])
    ]
