"""What differs between two runs: the configuration first, then metrics, then statistics by size of change."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rubato.results import metrics
from rubato.results.metrics import Metric
from rubato.results.regions import RegionOfRun, of_runs, required
from rubato.results.run import Histogram, Run, pattern_of


@dataclass(frozen=True)
class KeyChange:
    key: str
    before: Any
    after: Any


@dataclass(frozen=True)
class StatChange:
    """A statistic, summed over its indices; `change` is relative, infinite if it was zero before."""

    path: str
    unit: str
    before: float
    after: float

    @property
    def change(self) -> float:
        if self.before == self.after:
            return 0.0
        return (self.after - self.before) / abs(self.before) if self.before else math.inf


@dataclass(frozen=True)
class MetricChange:
    """None stands for a run that lacks what the metric is computed from."""

    metric: Metric
    before: float | None
    after: float | None


@dataclass(frozen=True)
class RegionChange:
    """A region that a program marks; None stands for a run that lacks it."""

    name: str
    before: RegionOfRun | None
    after: RegionOfRun | None

    def cycles(self) -> tuple[int | None, int | None]:
        return self._of(lambda r: r.region.cycles)

    def instructions(self) -> tuple[int | None, int | None]:
        return self._of(lambda r: r.region.instructions)

    def _of(self, number: Callable[[RegionOfRun], int]) -> tuple[int | None, int | None]:
        before, after = (None if r is None else number(r) for r in (self.before, self.after))
        return before, after

    @property
    def faster(self) -> float | None:
        before, after = self.cycles()
        return before / after if before and after else None


@dataclass(frozen=True)
class Comparison:
    configuration: list[KeyChange]
    summary: list[StatChange]
    metrics: list[MetricChange]
    statistics: list[StatChange]

    @property
    def is_identical(self) -> bool:
        return not (self.configuration or self.summary or self.statistics)


_NOT_COMPARED = {"host", "output", "complete", "exit_code"}


def compare(before: Run, after: Run, *, each: bool = False, own: Sequence[Metric] = ()) -> Comparison:
    """`each`: every index by itself instead of the sum over tiles, cores, links. Metrics of one's `own` are there also
    if they are the same in both runs. @raises UsageError if neither run has what one of these names."""
    summaries = [_numbers(r.summary.model_dump()) for r in (before, after)]
    if before.summary.engine == after.summary.engine:
        configuration, statistics = _keys(before, after), _statistics(before, after, each)
    else:  # what only one of them has is no difference
        configuration = [c for c in _keys(before, after) if c.before is not None and c.after is not None]
        statistics = []
        summaries = [{k: s[k] for k in s if k in summaries[0] and k in summaries[1]} for s in summaries]
    return Comparison(configuration, _changes(*summaries, {}), _metrics(before, after, own), statistics)


def by_region(before: Run, after: Run) -> list[RegionChange]:
    """The regions of both runs by name. @raises UsageError if neither has one."""
    required((before, after))
    of = [{r.region.name: r for r in of_runs([run])} for run in (before, after)]
    return [RegionChange(name, of[0].get(name), of[1].get(name)) for name in dict.fromkeys([*of[0], *of[1]])]


def _metrics(before: Run, after: Run, own: Sequence[Metric]) -> list[MetricChange]:
    built_in = [MetricChange(m, *(metrics.value(m, r) for r in (before, after))) for m in metrics.BUILT_IN]
    return [MetricChange(m, *metrics.values(m, (before, after))) for m in own] + [
        c for c in built_in if c.before != c.after
    ]


def _keys(before: Run, after: Run) -> list[KeyChange]:
    facts = [_facts(r) for r in (before, after)]
    changes = []
    for key in dict.fromkeys([*facts[0], *facts[1]]):
        a, b = facts[0].get(key), facts[1].get(key)
        if a != b:
            changes.append(KeyChange(key, a, b))
    return changes


def _facts(run: Run) -> dict[str, Any]:
    top = {k: v for k, v in run.manifest.items() if k in ("program", "program_sha256", "seed", "version")}
    top |= {"arguments": " ".join(run.arguments), "engine": run.summary.engine}
    return top | run.configuration


def _numbers(document: dict[str, Any], prefix: str = "") -> dict[str, float]:
    flat: dict[str, float] = {}
    for key, value in document.items():
        if not prefix and key in _NOT_COMPARED:
            continue
        if isinstance(value, dict):
            flat |= _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            flat[prefix + key] = value
    return flat


def _statistics(before: Run, after: Run, each: bool) -> list[StatChange]:
    totals = [_totals(r, each) for r in (before, after)]
    units = {path: r.stats.describe(path).get("unit", "") for r in (before, after) for path in r.stats}
    by_pattern = {pattern_of(p) if not each else p: u for p, u in units.items()}
    return _changes(totals[0], totals[1], by_pattern)


def _totals(run: Run, each: bool) -> dict[str, float]:
    totals: dict[str, float] = {}
    for path, value in run.stats.items():
        name = path if each else pattern_of(path)
        if isinstance(value, Histogram):
            totals[name + " (samples)"] = totals.get(name + " (samples)", 0) + value.samples
            totals[name + " (sum)"] = totals.get(name + " (sum)", 0) + value.sum
        else:
            totals[name] = totals.get(name, 0) + value
    return totals


def _changes(before: dict[str, float], after: dict[str, float], units: dict[str, str]) -> list[StatChange]:
    changes = [
        StatChange(path, units.get(path.partition(" (")[0], ""), before.get(path, 0), after.get(path, 0))
        for path in dict.fromkeys([*before, *after])
    ]
    changed = [c for c in changes if c.before != c.after]
    return sorted(changed, key=lambda c: (-abs(c.change), c.path))
