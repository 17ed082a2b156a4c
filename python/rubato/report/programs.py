"""Several programs side by side: each a panel over what was varied, relative to one of its own points, and their
geometric mean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from rubato.report.axes import PROGRAM, Axis, axes, runs_of
from rubato.report.bars import Bars
from rubato.report.markup import Section, card
from rubato.report.parameters import ALL, lines, panels_body, point
from rubato.report.study import Study
from rubato.results.intervals import Interval, geometric_mean, ratio

#: A line and a value on the axis: what a point is named by, in every program.
Place = tuple[str, Any]


@dataclass
class _Over:
    """One axis: the times of each program by place, and the place that all are measured against."""

    axis: Axis
    times: dict[str, dict[Place, list[float]]]
    reference: Place

    def ratios(self, program: str) -> dict[Place, Interval]:
        times = self.times[program]
        base = times[self.reference]
        one = Interval(1.0, None, None, len(base))
        return {p: one if p == self.reference else ratio(base, t) for p, t in times.items()}

    def means(self) -> dict[Place, Interval]:
        """Of places that every program has."""
        every = [t.items() for t in self.times.values()]
        shared = [p for p, _ in every[0] if all(p in t for t in self.times.values())]
        bases = {name: t[self.reference] for name, t in self.times.items()}
        return {
            p: Interval(1.0, None, None, len(every))
            if p == self.reference
            else geometric_mean([(bases[name], t[p]) for name, t in self.times.items()])
            for p in shared
        }

    def words(self, place: Place) -> str:
        line, value = place
        return ", ".join([f"{self.axis.title}={self.axis.label(value)}", *([] if line == ALL else [line])])


class Programs:
    """The workloads of one engine beside each other, over each axis that has a point in all of them."""

    def __init__(self, study: Study, engine: str):
        self._workloads = [w for w in study.workloads if w.engine == engine]
        runs = [r for w in self._workloads for r in runs_of(w)]
        found = axes(runs, study.swept) if len(self._workloads) > 1 else []
        self._axes = [a for a in found if a.key != PROGRAM or self._are_builds_mixed()]
        self.bars = Bars(self._workloads, [a for a in self._axes if a.key != PROGRAM])
        over = [self._over(a) for a in self._axes if a.key != PROGRAM]
        self._all = [o for o in over if o is not None]

    def _are_builds_mixed(self) -> bool:
        """Whether one program was built several times; different programs always differ."""
        return any(a.key == PROGRAM for w in self._workloads for a in axes(runs_of(w), {}))

    def _over(self, axis: Axis) -> _Over | None:
        times: dict[str, dict[Place, list[float]]] = {}
        for w in self._workloads:
            by_line = lines(runs_of(w), axis, self._axes)
            times[w.name] = {
                (name, value): [r.summary.time for r in of[value]]
                for name, of in by_line.items() for value in axis.values if value in of
            }  # fmt: skip
        first = next(iter(times.values()))
        places = [p for p in first if all(p in t for t in times.values())]
        return _Over(axis, times, min(places, key=lambda p: axis.values.index(p[1]))) if len(places) > 1 else None

    @property
    def any(self) -> bool:
        return bool(self._all) or self.bars.any

    def section(self, identifier: str) -> Section:
        text = (
            "Each program relative to itself at a point that you choose: ratios of means over seeds, with 95&nbsp;% "
            "intervals (delta method, Welch's degrees of freedom). The last group is the geometric mean over all "
            "programs, where each has the point. On a scale without 0, bars begin at 1×."
        )
        body = self.bars.body(f"{identifier}-bars")
        if self._all:
            first = self._all[0]
            body += (
                "<h3>Over one parameter</h3>"
                f'<p class="explain">Relative to <b>{html.escape(first.words(first.reference))}</b>; over another '
                "parameter to the point of its first value, the dotted line.</p>"
            )
            body += panels_body(identifier, [o.axis for o in self._all])
        return identifier, "Programs", card(identifier, "Programs side by side", text, body)

    def data(self) -> list[dict[str, Any]]:
        return [
            {
                "axis": o.axis.data(), "shared": True,
                "panels": [
                    *(self._panel(o, name, o.ratios(name)) for name in o.times),
                    self._panel(o, f"geometric mean of {len(o.times)}", o.means()),
                ],
            }
            for o in self._all
        ]  # fmt: skip

    @staticmethod
    def _panel(o: _Over, title: str, ratios: dict[Place, Interval]) -> dict[str, Any]:
        drawn: dict[str, list[dict[str, Any]]] = {}
        for (line, value), r in ratios.items():
            drawn.setdefault(line, []).append(point(o.axis, value, r))
        return {
            "title": title, "unit": f"times faster than at {o.words(o.reference)}", "suffix": "×", "baseline": 1,
            "label": f"speed of {title} over {o.axis.title}",
            "lines": [{"name": name, "points": points} for name, points in drawn.items()],
        }  # fmt: skip



def sides(study: Study) -> dict[str, Programs]:
    """By the card's name, one for each engine that ran several programs."""
    engines = dict.fromkeys(w.engine for w in study.workloads)
    found = {f"programs-{engine}": Programs(study, engine) for engine in engines}
    return {name: programs for name, programs in found.items() if programs.any}


def sections(found: dict[str, Programs]) -> list[Section]:
    return [programs.section(name) for name, programs in found.items()]


