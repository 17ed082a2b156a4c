"""Orders a set of runs for a report: workloads, series (mode and whatever else was varied), points, seeds.

A series is what one curve shows: runs that differ only in cores and seed. A point is a series at a number of
cores; its runs differ only in the seed.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rubato.errors import UsageError
from rubato.home import apps
from rubato.results import allocator
from rubato.results.intervals import Interval, interval, ratio
from rubato.results.measurements import Results
from rubato.results.metrics import Metric
from rubato.results.publication import Publication
from rubato.results.run import Run
from rubato.running.spec import MODES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rubato.results.metrics import Measured
    from rubato.tm.profile import Profile

#: The mode of runs of an application's serial code.
SERIAL = "serial"

#: Keys that every sweep varies and that have their own place in the report.
_OWN_PLACE = {"chip.cores", "chip.seed", "task.mayspec"}


@dataclass(frozen=True)
class Failure:
    """A point that has no result, with the reason; `name` is its directory or its parameters."""

    name: str
    reason: str
    exit_code: int | None = None
    is_damaged: bool = False  # its files cannot be read


@dataclass
class Point:
    cores: int
    runs: list[Run] = field(default_factory=list)

    @property
    def time(self) -> Interval:
        """Cycles on the chip, seconds natively."""
        return interval(self.times)

    @property
    def times(self) -> list[float]:
        return [r.summary.time for r in self.runs]

    def speedup_over(self, reference: Point) -> Interval:
        """How many times faster this point is, for every curve, table and headline: the ratio of the means."""
        if reference is self:
            return Interval(1.0, None, None, len(self.runs))
        return ratio(reference.times, self.times)

    def mean_of(self, section: str, key: str) -> float:
        """Mean over seeds of one number of the summaries, such as ("cycle_breakdown", "idle")."""
        return sum(getattr(getattr(r.summary, section), key) for r in self.runs) / len(self.runs)

    def mean_share(self, cycle_class: str) -> float:
        """Mean over seeds of Summary.cycle_shares."""
        return sum(r.summary.cycle_shares[cycle_class] for r in self.runs) / len(self.runs)


@dataclass
class Series:
    """One mode with one `variation`: the values of whatever else was varied, in words; often empty."""

    mode: str | None  # None: the program's tasks have types of their own
    variation: str
    points: list[Point]

    @property
    def name(self) -> str:
        mode = "serial code" if self.mode == SERIAL else self.mode
        return ", ".join(filter(None, (mode, self.variation))) or self._all

    @property
    def _all(self) -> str:
        has_tasks = any(r.summary.tasks.created for p in self.points for r in p.runs)
        return "all tasks" if has_tasks else "all threads"

    def at(self, cores: int) -> Point | None:
        return next((p for p in self.points if p.cores == cores), None)


@dataclass
class Workload:
    """One program with one set of arguments on one engine."""

    program: str
    arguments: str
    series: list[Series]
    engine: str = "chip"
    energy_keys: dict[str, float] = field(default_factory=dict)  # in place of those of the runs
    metrics: list[Metric] = field(default_factory=list)  # of the user's own

    @property
    def runs(self) -> list[Run]:
        return [r for s in self.series for p in s.points for r in p.runs]

    @property
    def has_tasks(self) -> bool:
        return any(r.summary.tasks.created for r in self.runs)

    @property
    def is_native(self) -> bool:
        return self.engine != "chip"

    @property
    def name(self) -> str:
        return f"{self.program} {self.arguments}".strip() + (f" ({self.engine})" if self.is_native else "")

    @property
    def tasks(self) -> list[Series]:
        """The curves: all series but those of the serial code, unless there is nothing else."""
        return [s for s in self.series if s.mode != SERIAL] or self.series

    @property
    def serial(self) -> Point | None:
        """The serial code that the tasks are compared with, where it was run: the fastest."""
        points = [p for s in self.series if s.mode == SERIAL for p in s.points]
        return min(points, key=lambda p: p.time.mean) if points and len(self.tasks) < len(self.series) else None

    @property
    def reference(self) -> tuple[str, Point]:
        """Series and point that speed-up is measured against: the fastest of the fewest cores."""
        fewest = min(p.cores for s in self.tasks for p in s.points)
        candidates = [(s.name, p) for s in self.tasks for p in s.points if p.cores == fewest]
        return min(candidates, key=lambda c: c[1].time.mean)


@dataclass
class Study:
    workloads: list[Workload]
    runs: list[Run]
    failures: list[Failure]
    varied: list[str]  # configuration keys that differ at the same number of cores
    repeated: list[tuple[Run, Run]] = field(default_factory=list)  # left out, and the one that says the same
    measured: list[Results] = field(default_factory=list)  # of bench/native
    publications: list[Publication] = field(default_factory=list)  # of bench/publications
    transactions: list[tuple[str, Profile]] = field(default_factory=list)  # of `rubato tm run`, with their files
    swept: dict[str, list[str]] = field(default_factory=dict)  # keys that plans of sweeps name, with their values


def study(runs: list[Run], failures: list[Failure] = (), swept: dict[str, list[str]] | None = None) -> Study:
    """Orders complete, successful runs; the others become failures. `swept` are keys that plans name."""
    good: list[Run] = []
    bad = list(failures)
    known = {f.name for f in bad}
    for run in runs:
        try:
            reason, is_damaged = _why_not(run), False
        except UsageError as e:
            reason, is_damaged = str(e), True
        if reason is None:
            good.append(run)
        elif run.directory.name not in known:
            bad.append(Failure(run.directory.name, reason, is_damaged=is_damaged))
    good, repeated = _without_repeated(good)
    varied = allocator.in_place(good, varied_keys(good), swept or {})
    programs = _programs(good)
    grouped: dict[tuple[str, str, str], dict[tuple[str, str], dict[int, Point]]]
    grouped = defaultdict(lambda: defaultdict(dict))
    for run in good:
        s = run.summary
        points = grouped[allocator.program(run), _arguments(run), s.engine][s.mode, _variation(run, varied, programs)]
        points.setdefault(s.cores, Point(s.cores)).runs.append(run)
    workloads = []
    for (program, arguments, engine), by_series in grouped.items():
        series = [Series(*key, [points[c] for c in sorted(points)]) for key, points in by_series.items()]
        series.sort(key=lambda s: MODES.index(s.mode) if s.mode in MODES else len(MODES))
        workloads.append(Workload(program, arguments, series, engine))
    return Study(workloads, good, bad, varied, repeated, swept=swept or {})


def _without_repeated(runs: list[Run]) -> tuple[list[Run], list[tuple[Run, Run]]]:
    """On the chip a run of the same seed is no further sample: it says the same again. If it does not, something
    else was different, such as the simulator."""
    kept: dict[Any, Run] = {}
    repeated = []
    for i, run in enumerate(runs):
        # The seed is a key of the configuration.
        made_of = run.manifest.get("program_sha256"), run.arguments, sorted(run.configuration.items())
        what = run.summary.name, made_of, run.summary.cycles, run.summary.instructions
        first = kept.setdefault(repr(what) if run.summary.engine == "chip" else i, run)
        if first is not run:
            repeated.append((run, first))
    return list(kept.values()), repeated


#: What executables of one program have in common: program, engine, and the allocator that they were built with.
_Built = tuple[str, str, str | None]


def _built(run: Run) -> _Built:
    return run.summary.name, run.summary.engine, allocator.allocator(run)


def _programs(runs: list[Run]) -> dict[_Built, set[str]]:
    """The hashes of the programs that are alike: results of different ones are no samples of one thing."""
    hashes: dict[_Built, set[str]] = defaultdict(set)
    for run in runs:
        hashes[_built(run)].add(run.manifest.get("program_sha256", ""))
    return hashes


def _arguments(run: Run) -> str:
    """Without the mode, which natively is an argument too, and without what asks for the serial code."""
    arguments = list(run.arguments)
    app = apps.all_apps().get(allocator.program(run))
    if run.summary.mode == SERIAL and app is not None:
        arguments = app.without_serial(arguments)
    if run.summary.engine != "chip" and app is not None and app.mode_flag:
        kept: list[str] = []
        for before, argument in itertools.pairwise(["", *arguments]):
            if before != app.mode_flag and argument != app.mode_flag and not argument.startswith(app.mode_flag + "="):
                kept.append(argument)
        arguments = kept
    return " ".join(arguments)


def _why_not(run: Run) -> str | None:
    """@raises UsageError if a file of the run that a report needs cannot be read."""
    if not run.complete:
        mark = run.directory / "incomplete"
        said = mark.read_text(encoding="utf-8", errors="replace").strip() if mark.exists() else ""
        return said or "incomplete: interrupted or still running."
    if run.summary.check == "failed":
        return "the program's check failed."
    if run.summary.exit_code != 0:
        return f"exit code {run.summary.exit_code}."
    if not run.summary.time:
        return "nothing ran in the region of interest, so there is no time to compare."
    for needed in ("manifest", "stats"):
        getattr(run, needed)
    return None


def varied_keys(runs: Sequence[Measured]) -> list[str]:
    """Keys with several values at one number of cores; derived keys that follow the cores are none of them."""
    values: dict[tuple[str, int], set[str]] = defaultdict(set)
    order: dict[str, None] = {}
    for run in runs:
        for key, value in run.configuration.items():
            if key not in _OWN_PLACE:
                values[key, run.summary.cores].add(repr(value))
                order[key] = None
    several = {key for (key, _), seen in values.items() if len(seen) > 1}
    return [k for k in order if k in several]


def _variation(run: Run, varied: list[str], programs: dict[_Built, set[str]]) -> str:
    values = {k: allocator.value(run, k) for k in varied}
    parts = [f"{k}={plain(k, v)}" for k, v in values.items() if k != allocator.ALLOC or v is not None]
    if len(programs[_built(run)]) > 1:
        parts.append(f"program {run.manifest.get('program_sha256', '')[:8]}")
    return ", ".join(parts)


def plain(key: str, value: Any) -> str:
    """The value of a configuration key as a person writes it: true, 512 KiB."""
    if isinstance(value, bool):
        return str(value).lower()
    if key.endswith(("size", "bytes")) and isinstance(value, int) and value != 0:
        for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value % factor == 0:
                return f"{value // factor} {unit}"
    return str(value)
