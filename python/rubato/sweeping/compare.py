"""How many times faster the points of one sweep are than the same points of another, and the geometric mean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rubato.errors import UsageError
from rubato.results import allocator, metrics
from rubato.results.compare import KeyChange
from rubato.results.intervals import Interval, geometric_mean, interval, ratio
from rubato.results.metrics import Metric
from rubato.results.regions import RegionOfRun, required
from rubato.results.run import Run
from rubato.sweeping.sweep import Sweep

if TYPE_CHECKING:
    from rubato.results.metrics import Measured

#: What a point is named by: program, arguments, cores, mode, the values of the keys that a sweep varies, and
#: the region, if points are compared by region.
_Key = tuple[str, str, int, str | None, tuple[str, ...], str]


@dataclass(frozen=True)
class Point:
    """One point in both sweeps; `faster` is the ratio of the mean times."""

    program: str
    cores: int
    mode: str | None
    settings: str
    before: Interval
    after: Interval
    faster: Interval
    region: str = ""


@dataclass(frozen=True)
class MetricPoints:
    """A metric before and after, of each point in the order of Comparison.points; None where no run has it."""

    metric: Metric
    points: list[tuple[Interval | None, Interval | None]]


@dataclass(frozen=True)
class Comparison:
    """`configuration` has the keys that are one value in each sweep, and another; `means` the geometric means of all
    points, and of each program's where there are several."""

    unit: str
    configuration: list[KeyChange]
    points: list[Point]
    means: dict[str, Interval]
    metrics: list[MetricPoints]
    only_before: int
    only_after: int


def compare(before: Sweep, after: Sweep, own: Sequence[Metric] = (), *, by_region: bool = False) -> Comparison:
    """`own`: metrics to compare, too. `by_region`: a point for each region that a program marks. @raises UsageError if
    the sweeps have no point in common, or no run has what a metric names."""
    swept = list(dict.fromkeys([*before.swept, *after.swept]))
    runs = [_by_point(_regions(s.runs) if by_region else s.runs, swept) for s in (before, after)]
    shared = [k for k in runs[0] if k in runs[1]]
    if not shared:
        raise UsageError(
            f"{before.directory} and {after.directory} have no point in common: other programs, arguments, cores, "
            "modes or values of what they vary."
        )
    times = {k: ([r.summary.time for r in runs[0][k]], [r.summary.time for r in runs[1][k]]) for k in shared}
    points = [
        Point(
            f"{name} {arguments}".strip(), cores, mode,
            " ".join(f"{k}={v}" for k, v in zip(swept, values, strict=True)),
            *map(interval, times[key]), ratio(*times[key]), region,
        )
        for key in shared for name, arguments, cores, mode, values, region in [key]
    ]  # fmt: skip
    programs = list(dict.fromkeys(k[:2] for k in shared))
    means = {}
    if len(programs) > 1:
        for program in programs:
            of = [times[k] for k in shared if k[:2] == program]
            means[f"geometric mean of {' '.join(program).strip()}"] = geometric_mean(of)
    for region in dict.fromkeys(k[5] for k in shared) if by_region else ():
        means[f"geometric mean of {region}"] = geometric_mean([times[k] for k in shared if k[5] == region])
    if len(shared) > 1 and not by_region:
        means["geometric mean"] = geometric_mean(list(times.values()))
    first = runs[0][shared[0]][0]
    return Comparison(
        "cycles" if first.summary.cycles is not None else "seconds", _changes(before, after), points, means,
        [_metric(m, [(runs[0][k], runs[1][k]) for k in shared]) for m in own],
        len(runs[0]) - len(shared), len(runs[1]) - len(shared),
    )  # fmt: skip


def _metric(metric: Metric, points: list[tuple[list[Measured], list[Measured]]]) -> MetricPoints:
    numbers = iter(metrics.values(metric, [run for ends in points for runs in ends for run in runs]))

    def mean(runs: list[Measured]) -> Interval | None:
        found = [number for number in islice(numbers, len(runs)) if number is not None]
        return interval(found) if found else None

    return MetricPoints(metric, [(mean(a), mean(b)) for a, b in points])


def _regions(runs: list[Run]) -> list[RegionOfRun]:
    """Those of which something was simulated in detail. @raises UsageError if there is no region."""
    return [region for region in required(runs) if region.summary.time]


def _by_point(runs: Sequence[Measured], swept: list[str]) -> dict[_Key, list[Measured]]:
    found: dict[_Key, list[Measured]] = {}
    for run in runs:
        s, region = run.summary, run.region.name if isinstance(run, RegionOfRun) else ""
        values = tuple(str(allocator.value(run, k)) for k in swept)
        key = allocator.program(run), " ".join(run.arguments), s.cores, s.mode, values, region
        found.setdefault(key, []).append(run)
    return found


def _changes(before: Sweep, after: Sweep) -> list[KeyChange]:
    only = [_constants(s.runs) for s in (before, after)]
    return [KeyChange(k, only[0][k], only[1][k]) for k in only[0] if k in only[1] and only[0][k] != only[1][k]]


def _constants(runs: list[Run]) -> dict[str, Any]:
    """The keys that have one value in all runs, with the hash of the program where there is one program."""
    found: dict[str, set[str]] = {}
    values: dict[str, Any] = {}
    for run in runs:
        for key, value in {**run.configuration, "program_sha256": run.manifest.get("program_sha256")}.items():
            found.setdefault(key, set()).add(repr(value))
            values[key] = value
    return {k: values[k] for k, seen in found.items() if len(seen) == 1}
