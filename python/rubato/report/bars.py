"""The study's chart: bars of every point, normalized to a chosen one, grouped by program, with the geometric mean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from rubato.report.axes import CORES, Axis, parameter, runs_of
from rubato.report.comparison import said
from rubato.report.markup import table
from rubato.report.study import Workload
from rubato.results.intervals import Interval, geometric_mean, ratio

#: A point: the value of each axis, by its place on that axis.
Place = tuple[int, ...]

#: Ratios that a page may hold: beyond them only the first points are bases to choose.
_MOST_RATIOS = 20_000
#: More bars in a group cannot be told apart; the reader chooses one axis.
_MOST_BARS = 24

MEAN = "geometric mean"


class Bars:
    """Programs of one engine that share two points or more."""

    def __init__(self, workloads: Sequence[Workload], axes: Sequence[Axis]):
        self._axes = list(axes)
        self.times = {w.name: self._by_place(w) for w in workloads}
        shared = set.intersection(*(set(t) for t in self.times.values())) if self.times else set()
        #: Every point of some program, in the order of the axes; a point that all have comes first as base.
        self.places = sorted({p for t in self.times.values() for p in t})
        self.bases = sorted(shared)[: max(1, _MOST_RATIOS // max(1, len(self.places) * (len(self.times) + 1)))]

    def _by_place(self, w: Workload) -> dict[Place, list[float]]:
        times: dict[Place, list[float]] = {}
        for run in runs_of(w):
            place = tuple(a.values.index(parameter(run, a.key)) for a in self._axes)
            times.setdefault(place, []).append(run.summary.time)
        return times

    @property
    def any(self) -> bool:
        return len(self.times) > 1 and len(self.places) > 1 and bool(self.bases)

    def label(self, place: Place) -> str:
        """The point in words: `16 cores, coherence.protocol=mesi`."""
        words = []
        for axis, at in zip(self._axes, place, strict=True):
            value = axis.label(axis.values[at])
            words.append(f"{value} core{'' if value == '1' else 's'}" if axis.key == CORES else f"{axis.title}={value}")
        return ", ".join(words)

    def ratios(self, base: Place) -> dict[str, dict[Place, Interval]]:
        """How many times faster each program is at each point than itself at `base`, and their geometric mean over
        the programs, where all have the point."""
        found = {name: self._of_program(times, base) for name, times in self.times.items()}
        every = self.times.values()
        found[MEAN] = {
            p: Interval(1.0, None, None, len(self.times)) if p == base
            else geometric_mean([(t[base], t[p]) for t in every])
            for p in self.places if all(p in t for t in every)
        }  # fmt: skip
        return found

    @staticmethod
    def _of_program(times: Mapping[Place, list[float]], base: Place) -> dict[Place, Interval]:
        one = Interval(1.0, None, None, len(times[base]))
        return {p: one if p == base else ratio(times[base], t) for p, t in times.items()}

    def data(self) -> dict[str, Any]:
        """For the chart: `ratios` has [mean, low, high] by base, program and point; `sets` are the points to show."""
        return {
            "label": f"speed of {len(self.times)} programs by point",
            "points": [self.label(p) for p in self.places],
            "groups": [*self.times, MEAN],
            "bases": [self.places.index(b) for b in self.bases],
            "ratios": [self._rows(self.ratios(b)) for b in self.bases],
            "sets": self._sets(),
        }

    def _rows(self, ratios: dict[str, dict[Place, Interval]]) -> list[list[list[float | None] | None]]:
        return [[_numbers(of[p]) if p in of else None for p in self.places] for of in ratios.values()]

    def _sets(self) -> list[dict[str, Any]]:
        """All points, unless they are too many, and those along each axis at each value of the others."""
        found = [{"title": f"all {len(self.places)} points", "points": list(range(len(self.places)))}]
        along: dict[tuple[int, Place], list[int]] = {}
        for i, place in enumerate(self.places):
            for k in range(len(place)):
                along.setdefault((k, place[:k] + place[k + 1 :]), []).append(i)
        for (k, rest), points in sorted(along.items()):
            if len(points) > 1 and len(points) < len(self.places):
                others = [*self._axes[:k], *self._axes[k + 1 :]]
                at = ", ".join(f"{a.title}={a.label(a.values[v])}" for a, v in zip(others, rest, strict=True))
                found.append({"title": f"{self._axes[k].title} at {at}", "points": points})
        return found[1:] if len(self.places) > _MOST_BARS and len(found) > 1 else found

    def body(self, identifier: str) -> str:
        """Choices, legend, chart, and the numbers with a row a point."""
        bases = "".join(f'<option value="{i}">{html.escape(self.label(b))}</option>' for i, b in enumerate(self.bases))
        sets = "".join(f'<option value="{i}">{html.escape(s["title"])}</option>' for i, s in enumerate(self._sets()))
        measures = '<option value="speed">times faster</option><option value="time">relative time</option>'
        scales = (
            '<option value="zero">from 0</option><option value="near">around 1</option>'
            '<option value="log">logarithmic</option>'
        )
        chosen = [("points", "points", sets), ("base", "relative to", bases), ("measure", "as", measures),
                  ("scale", "scale", scales)]  # fmt: skip
        picks = "".join(
            f'<label>{word} <select id="{identifier}-{name}">{options}</select></label>'
            for name, word, options in chosen
        )
        chart = f'<div class="legend" id="{identifier}-legend"></div><div class="chart" id="{identifier}-chart"></div>'
        return f'<div class="controls">{picks}</div>{chart}{self._table()}'

    def _table(self) -> str:
        base = self.bases[0]
        ratios = self.ratios(base)
        rows = [[self.label(p), *(said(of[p]) if p in of else "–" for of in ratios.values())] for p in self.places]
        head = f"<h3>Times faster than at {html.escape(self.label(base))}</h3>"
        return head + table(["point", *(f">{name}" for name in ratios)], rows, wrap={0})


def _numbers(i: Interval) -> list[float | None]:
    return [None if v is None else float(f"{v:.6g}") for v in (i.mean, i.low, i.high)]
