"""What a study varies, as axes of charts: configuration keys, cores and modes, each with its values in order.

An axis is numeric (even or logarithmic) or has words. Keys that only follow others, such as the width of a mesh that
follows its cores, are none.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubato.report.study import SERIAL, Workload, plain, varied_keys
from rubato.results import allocator
from rubato.results.allocator import ALLOC
from rubato.results.regions import RegionOfRun
from rubato.results.run import Run

if TYPE_CHECKING:
    from rubato.results.metrics import Measured

#: Keys that a plan names, with their values in its order.
Swept = dict[str, list[str]]

CORES, MODE, PROGRAM, REGION = "cores", "mode", "program", "region"


@dataclass(frozen=True)
class Axis:
    key: str
    title: str
    values: tuple[Any, ...]  # in the order in which they are drawn

    @property
    def kind(self) -> str:
        """log2 for powers of two, log for numbers of several magnitudes, linear for others, words."""
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values):
            return "words"
        least, most = min(self.values), max(self.values)
        if least > 0 and all(float(math.log2(v)).is_integer() for v in self.values):
            return "log2"
        return "log" if least > 0 and most / least > 20 else "linear"

    @property
    def is_key(self) -> bool:
        """A key of the configuration, or the allocator: what no other card of a report is about."""
        return self.key not in (CORES, MODE, PROGRAM, REGION)

    def position(self, value: Any) -> float:
        return self.values.index(value) if self.kind == "words" else value

    def label(self, value: Any) -> str:
        return plain(self.key, value)

    def data(self) -> dict[str, Any]:
        """For the chart: where the values are, and what is written there."""
        ticks = [{"at": self.position(v), "label": self.label(v)} for v in self.values]
        return {"title": self.title, "kind": self.kind, "ticks": ticks}


def runs_of(w: Workload) -> list[Run]:
    """Those with tasks; where there are none, those of the serial code."""
    return [r for s in w.tasks for p in s.points for r in p.runs]


def parameter(measured: Measured, key: str) -> Any:
    """The value that a run, or a region of one, has on an axis."""
    run, region = (measured.run, measured.region.name) if isinstance(measured, RegionOfRun) else (measured, None)
    if key == REGION:
        return region
    if key == CORES:
        return run.summary.cores
    if key == MODE:
        every = "all tasks" if run.summary.tasks.created else "all threads"
        return "serial code" if run.summary.mode == SERIAL else run.summary.mode or every
    if key == PROGRAM:
        return str(run.manifest.get("program_sha256", ""))[:8]
    return allocator.value(run, key)


def axes(runs: Sequence[Measured], swept: Swept) -> list[Axis]:
    """Everything that differs between `runs` but the seed. Keys that a plan names are causes."""
    keys = _causes(runs, allocator.in_place(runs, varied_keys(runs), swept), swept)
    builds = [] if ALLOC in keys and _follows(runs, PROGRAM, [ALLOC]) else [PROGRAM]
    found = []
    for key in [*keys, CORES, MODE, *builds, REGION]:
        values = {repr(v): v for v in (parameter(r, key) for r in runs)}
        if len(values) > 1:
            found.append(Axis(key, key, _ordered(list(values.values()), swept.get(key, []))))
    return found


def _ordered(values: list[Any], plan: list[str]) -> tuple[Any, ...]:
    """Numbers by size; words in the order of the plan, then in that in which they were met."""
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return tuple(sorted(values))
    places = {v.lower(): i for i, v in enumerate(plan)}
    return tuple(sorted(values, key=lambda v: places.get(str(v).lower(), len(places))))


def _causes(runs: Sequence[Measured], varied: list[str], swept: Swept) -> list[str]:
    """Without keys whose value is known from the cores and the keys that remain."""
    kept = [k for k in varied if k in swept] + [k for k in varied if k not in swept]
    for key in reversed(kept.copy()):
        others = [CORES, *(k for k in kept if k != key)]
        if key not in (*swept, ALLOC) and _follows(runs, key, others):
            kept.remove(key)
    return [k for k in varied if k in kept]


def _follows(runs: Sequence[Measured], key: str, others: list[str]) -> bool:
    """Whether runs that agree in `others` agree in `key`."""
    seen: dict[str, str] = {}
    return all(
        seen.setdefault(repr([parameter(r, k) for k in others]), repr(parameter(r, key))) == repr(parameter(r, key))
        for r in runs
    )
