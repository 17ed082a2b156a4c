"""The regions that a program marked (rubato/markers.h): the statistics of each, by name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rubato.errors import UsageError
from rubato.results.run import Stats
from rubato.results.summary import (
    CYCLE_CLASSES,
    TRAFFIC_CLASSES,
    CycleBreakdown,
    NetworkBytes,
    Summary,
    Tasks,
    shown_shares,
)

if TYPE_CHECKING:
    from rubato.results.run import Run

#: Keys of a summary that a region has, too.
IN_REGIONS = ("cores", "mode", "seed", "cycles", "seconds", "instructions", "tasks", "cycle_breakdown", "network_bytes")


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


@dataclass(frozen=True)
class RegionOfRun:
    """A region as metrics and tables see a run: the statistics are the region's, the configuration is the run's."""

    run: Run
    region: Region

    @property
    def stats(self) -> Stats:
        return self.region.stats

    @property
    def configuration(self) -> dict[str, Any]:
        return self.run.configuration

    @property
    def arguments(self) -> list[str]:
        return self.run.arguments

    @cached_property
    def summary(self) -> Summary:
        """The run's, with the region's numbers; without what only whole runs have."""
        of, region = self.run.summary, self.region
        return Summary(
            program=of.program, engine=of.engine, cores=of.cores, mode=of.mode, seed=of.seed,
            cycles=region.cycles, instructions=region.instructions,
            seconds=region.cycles / (1e6 * self.configuration["chip.frequency_mhz"]),
            tasks=Tasks(**{f: int(self.stats.total(f"tasks.{f}", optional=True)) for f in Tasks.model_fields}),
            cycle_breakdown=CycleBreakdown(**region.cycle_breakdown),
            network_bytes=NetworkBytes(**{c: int(self.stats.total(f"net.bytes.{c}")) for c in TRAFFIC_CLASSES}),
        )  # fmt: skip


def of_runs(runs: Iterable[Run]) -> list[RegionOfRun]:
    return [RegionOfRun(run, region) for run in runs for region in run.regions]


def required(runs: Iterable[Run]) -> list[RegionOfRun]:
    """@raises UsageError if no run has a region."""
    if not (found := of_runs(runs)):
        raise UsageError("no run has a region: programs mark them by rubato_region_begin(), on the simulated chip.")
    return found
