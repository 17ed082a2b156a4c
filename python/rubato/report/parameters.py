"""Charts over whatever was swept: time, traffic, what a miss costs; a line for each value of the other parameters."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubato.report.axes import Axis, Swept, axes, parameter, runs_of
from rubato.report.markup import Section, card, seconds, table
from rubato.report.study import Workload
from rubato.results import metrics as measured
from rubato.results.intervals import Interval, interval
from rubato.results.regions import of_runs

if TYPE_CHECKING:
    from rubato.results.metrics import Measured

#: Parts of a core's cycles that are spent beyond its tile's L2.
_BEYOND_L2 = ("llc", "memory", "network")


#: The name of a line where nothing else was varied.
ALL = "all runs"


@dataclass(frozen=True)
class Metric:
    """One panel: a number of each run, or of each region."""

    title: str
    unit: str
    of: Callable[[Measured], float | None]


def _defined(m: measured.Metric) -> Metric:
    return Metric(m.heading, m.unit, lambda run: measured.value(m, run))


#: Metrics of every run that have a panel.
_DRAWN = ("l2.mpki", "llc.mpki", "memory.gb_per_second")


def _flit_hops(run: Measured) -> float:
    return run.stats.total("tile.*.link.*.flits", optional=True)


def _wait_of_a_miss(run: Measured) -> float | None:
    misses = run.stats.total("tile.*.l2.misses", optional=True)
    waited = sum(run.stats.total(f"chip.core_cycles.*.{part}", optional=True) for part in _BEYOND_L2)
    return waited / misses if misses else None


_CHIP = (
    Metric("execution time", "cycles", lambda r: r.summary.time),
    Metric("network traffic", "flit-hops", _flit_hops),
    Metric("wait of an L2 miss", "cycles", _wait_of_a_miss),
    Metric("aborted tasks", "tasks", lambda r: float(r.summary.tasks.aborted)),
    *(_defined(m) for m in measured.BUILT_IN if m.name in _DRAWN),
)
_NATIVE = (
    Metric("time", "s", lambda r: r.summary.time),
    Metric("reads repeated", "reads", lambda r: float(r.summary.tasks.aborted)),
)


_TITLES = ("Parameters", "Over what was varied")
_LINES = (
    "means over seeds, with the 95 % interval of the mean (Student's t) as whisker; each line is one combination of "
    "all other parameters, told by its mark and its dashes as by its colour. Axes whose numbers are powers of two are "
    "logarithmic."
)
_OF_THE_CHIP = (
    " A flit-hop is a flit on one link. The wait of an L2 miss is what cores waited for the network, the LLC and "
    "memory, divided by the misses of the L2s: what is hidden behind other work does not count."
)


class Parameters:
    """What the charts of one workload show, of its runs or of the regions that they mark; each statistic is read
    once."""

    def __init__(self, w: Workload, swept: Swept, *, by_region: bool = False):
        self._workload, self._is_by_region = w, by_region
        self._runs: list[Measured] = [*of_runs(runs_of(w))] if by_region else [*runs_of(w)]
        self.axes = axes(self._runs, swept)
        metrics = (*(_NATIVE if w.is_native else _CHIP), *map(_defined, w.metrics))
        values = {m.title: {id(r): m.of(r) for r in self._runs} for m in metrics} if self.any else {}
        self._values = {title: v for title, v in values.items() if any(v.values())}
        self._metrics = [m for m in metrics if m.title in self._values]

    @property
    def any(self) -> bool:
        """Whether anything but cores and modes was varied, for which other cards have their places; of regions,
        whether there is anything to compare."""
        return bool(self.axes) if self._is_by_region else any(a.is_key for a in self.axes)

    def section(self, identifier: str) -> Section:
        names = ", ".join(f"<code>{html.escape(a.title)}</code>" for a in self.axes if a.is_key)
        text = f"Over {names}: {_LINES}"
        if self._is_by_region:
            text = f"What happened on the whole chip while each region was open, which may overlap: {_LINES}"
        if not self._workload.is_native:
            text += _OF_THE_CHIP
        body = panels_body(identifier, self.axes)
        body += f"<details><summary>The numbers of these charts</summary>{self._table()}</details>"
        title, heading = ("By region", "Regions side by side") if self._is_by_region else _TITLES
        return identifier, title, card(identifier, heading, text, body)

    def data(self) -> list[dict[str, Any]]:
        """What each axis shows."""
        return [self._over(axis) for axis in self.axes]

    def _over(self, axis: Axis) -> dict[str, Any]:
        groups = lines(self._runs, axis, self.axes)
        panels = [
            {
                "title": m.title, "unit": m.unit,
                "label": f"{m.title} of {self._workload.name} over {axis.title}, in {m.unit}",
                "lines": [{"name": name, "points": self._points(m, axis, of)} for name, of in groups.items()],
            }
            for m in self._metrics
        ]  # fmt: skip
        return {"axis": axis.data(), "panels": panels}

    def _points(self, metric: Metric, axis: Axis, by_value: dict[Any, list[Measured]]) -> list[dict[str, Any]]:
        samples = {v: self._samples(metric, by_value.get(v, [])) for v in axis.values}
        return [point(axis, v, interval(s)) for v, s in samples.items() if s]

    def _samples(self, metric: Metric, runs: list[Measured]) -> list[float]:
        values = self._values[metric.title]
        return [v for r in runs if (v := values[id(r)]) is not None]

    def _table(self) -> str:
        head = [*(a.title for a in self.axes), ">seeds", *(f">{m.title}, {m.unit}" for m in self._metrics)]
        points: dict[tuple[int, ...], list[Measured]] = {}
        for run in self._runs:
            points.setdefault(tuple(a.values.index(parameter(run, a.key)) for a in self.axes), []).append(run)
        rows = [
            [*(a.label(parameter(points[at][0], a.key)) for a in self.axes), len(points[at]),
             *(_cell(m, self._samples(m, points[at])) for m in self._metrics)]
            for at in sorted(points)
        ]  # fmt: skip
        return table(head, rows)


def _cell(metric: Metric, samples: list[float]) -> str:
    if not samples:
        return "–"
    i = interval(samples)

    def said(value: float) -> str:
        return seconds(value) if metric.unit == "s" else f"{value:,.0f}" if i.mean >= 100 else f"{value:,.3g}"

    spread = "" if i.half_width is None or i.is_steady else f" ± {said(i.half_width)}"
    return said(i.mean) + spread


def panels_body(identifier: str, found: list[Axis]) -> str:
    """Where panels.js draws: a picker if there are several axes, a legend, and room for the panels."""
    picker = ""
    if len(found) > 1:
        options = "".join(f'<option value="{k}">{html.escape(a.title)}</option>' for k, a in enumerate(found))
        picker = f'<div class="controls"><label>over <select id="{identifier}-axis">{options}</select></label></div>'
    legend = f'<div class="legend" id="{identifier}-legend"></div>'
    return f'{picker}{legend}<div class="multiples" id="{identifier}-panels"></div>'


def lines(runs: Sequence[Measured], axis: Axis, all_axes: list[Axis]) -> dict[str, dict[Any, list[Measured]]]:
    """The runs by all parameters but `axis`, in words, and by their value on it."""
    others = [a for a in all_axes if a.key != axis.key]
    found: dict[str, dict[Any, list[Measured]]] = {}
    for run in runs:
        name = ", ".join(f"{a.title}={a.label(parameter(run, a.key))}" for a in others) or ALL
        found.setdefault(name, {}).setdefault(parameter(run, axis.key), []).append(run)
    return found


def point(axis: Axis, value: Any, i: Interval) -> dict[str, Any]:
    return {"x": axis.position(value), "y": i.mean, "low": i.low, "high": i.high, "n": i.samples, "steady": i.is_steady}
