"""SPEC, NONSPEC and MAYSPEC side by side: execution time by what cores did, and network bytes by purpose, both
relative to SPEC (Espresso, Fig. 8), and who wins by how much."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from typing import Any

from rubato.report.markup import CLASS_NAMES, TRAFFIC_NAMES, Section, card, stacked, table
from rubato.report.study import Point, Series, Study, Workload
from rubato.results.intervals import Interval, ratio
from rubato.results.summary import SHOWN_CLASSES, TRAFFIC_CLASSES

#: A bar that is longer than this many times SPEC's is drawn at this length: NONSPEC may take 100 times as long.
_LONGEST = 4.0


def sizes(study: Study) -> list[int]:
    """Numbers of cores at which some workload ran in several modes, the largest first."""
    found = {c for w in _simulated(study) for c in _cores(w) if _groups(w, c)}
    return sorted(found, reverse=True)


def _simulated(study: Study) -> list[Workload]:
    return [w for w in study.workloads if not w.is_native]


def _cores(w: Workload) -> set[int]:
    return {p.cores for s in w.tasks for p in s.points}


def _groups(w: Workload, cores: int) -> list[list[tuple[Series, Point]]]:
    """The modes of each variation that has more than one at `cores`."""
    by_variation: dict[str, list[tuple[Series, Point]]] = {}
    for s in w.tasks:
        if (point := s.at(cores)) is not None:
            by_variation.setdefault(s.variation, []).append((s, point))
    return [modes for modes in by_variation.values() if len(modes) > 1]


def _cycles(p: Point) -> list[float]:
    return [r.summary.cycles for r in p.runs]


def sections(study: Study) -> list[Section]:
    """One card, if there is anything to compare."""
    found = sizes(study)
    if not found:
        return []
    text = (
        "The same program and input in each mode, at one number of cores. A bar's length is its execution time "
        "relative to SPEC (to the first mode there is, where SPEC was not run); its parts are what the cores did in "
        "that time. "
        f"Bars longer than {_LONGEST:g}× are cut off there and drawn with their shares; the figure behind a bar is "
        "always the true one, with its 95 % interval over seeds."
    )
    options = "".join(f'<option value="{i}">{c}</option>' for i, c in enumerate(found))
    body = f'<div class="controls"><label>cores <select id="modes-cores">{options}</select></label></div>'
    body += "<h3>Execution time, by what cores did</h3>"
    body += '<div class="legend" id="modes-time-legend"></div><div class="chart" id="modes-time-chart"></div>'
    if any(_traffic_groups(study, c) for c in found):
        body += (
            '<div id="modes-traffic"><h3>Bytes on the network, by purpose</h3>'
            '<p class="explain">The same for the bytes that messages between tiles carried.</p>'
            '<div class="legend" id="modes-traffic-legend"></div>'
            '<div class="chart" id="modes-traffic-chart"></div></div>'
        )
    body += f"<h3>Who is faster, at {found[0]} cores</h3>{_table(study, found[0])}"
    return [("modes", "Modes", card("modes", "Speculative, non-speculative, or both", text, body))]


def _table(study: Study, cores: int) -> str:
    head = ["workload", ">SPEC over NONSPEC", ">MAYSPEC over SPEC", ">MAYSPEC over NONSPEC", ">MAYSPEC over the better"]
    rows = []
    for w in _simulated(study):
        for modes in _groups(w, cores):
            cycles = {s.mode: _cycles(p) for s, p in modes}

            def over(fast: str, slow: str, cycles: dict[str, list[float]] = cycles) -> str:
                return said(ratio(cycles[slow], cycles[fast])) if slow in cycles and fast in cycles else ""

            better = min(("spec", "nonspec"), key=lambda m, c=cycles: sum(c[m]) / len(c[m]) if m in c else math.inf)
            rows.append(
                [_heading(w, modes), over("spec", "nonspec"), over("mayspec", "spec"), over("mayspec", "nonspec"),
                 over("mayspec", better) if "spec" in cycles and "nonspec" in cycles else ""]
            )  # fmt: skip
    return table(head, rows, wrap={0})


def said(i: Interval) -> str:
    """A ratio as a person reads it, with the digits that its interval leaves: 1.220× ± 0.031."""
    if i.high is None or i.low is None or i.is_steady:
        return f"{i.mean:.3g}×"
    half = (i.high - i.low) / 2
    decimals = min(4, max(0, 1 - math.floor(math.log10(half)))) if half > 0 else 2
    return f"{i.mean:.{decimals}f}× ± {half:.{decimals}f}"


def data(study: Study) -> list[dict[str, Any]]:
    """For the charts, in the order of sizes()."""
    return [
        {
            "time": _chart("execution time by mode", "core cycles", SHOWN_CLASSES, CLASS_NAMES, "", time),
            "traffic": _chart("network bytes by mode", "bytes", TRAFFIC_CLASSES, TRAFFIC_NAMES, "t-", traffic),
        }
        for cores in sizes(study)
        for time, traffic in [(_time_groups(study, cores), _traffic_groups(study, cores))]
    ]


def _chart(
    label: str, unit: str, keys: tuple[str, ...], names: dict[str, str], prefix: str, groups: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "label": label,
        "unit": unit,
        "longest": _LONGEST,
        "baseline": 1,
        "parts": stacked({k: names[k] for k in keys}, f"var(--{prefix}{{}})"),
        "groups": groups,
    }


def _time_groups(study: Study, cores: int) -> list[dict[str, Any]]:
    groups = []
    for w in _simulated(study):
        for modes in _groups(w, cores):
            base = _cycles(modes[0][1])  # series are in the order spec, nonspec, mayspec
            rows = []
            for s, p in modes:
                fractions = {c: p.mean_share(c) for c in SHOWN_CLASSES}
                total = p.time.mean * cores
                time = ratio(_cycles(p), base) if p is not modes[0][1] else Interval(1.0, None, None, len(base))
                rows.append(_row(s.mode, time, fractions, {c: f * total for c, f in fractions.items()}))
            groups.append({"name": _heading(w, modes), "rows": rows})
    return groups


def _traffic_groups(study: Study, cores: int) -> list[dict[str, Any]]:
    """Empty where nothing went over links: on a chip of one tile."""
    groups = []
    for w in _simulated(study):
        for modes in _groups(w, cores):
            totals = [[float(sum(r.summary.network_bytes.model_dump()[c] for c in TRAFFIC_CLASSES)) for r in p.runs]
                      for _, p in modes]  # fmt: skip
            if any(min(t) <= 0 for t in totals):
                continue
            rows = []
            for (s, p), bytes_ in zip(modes, totals, strict=True):
                amounts = {c: p.mean_of("network_bytes", c) for c in TRAFFIC_CLASSES}
                whole = sum(amounts.values())
                relative = ratio(bytes_, totals[0]) if s is not modes[0][0] else Interval(1.0, None, None, len(bytes_))
                rows.append(_row(s.mode, relative, {c: a / whole for c, a in amounts.items()}, amounts))
            groups.append({"name": _heading(w, modes), "rows": rows})
    return groups


def _heading(w: Workload, modes: list[tuple[Series, Point]]) -> str:
    return ", ".join(filter(None, (w.name, modes[0][0].variation)))


def _row(mode: str, length: Interval, fractions: dict[str, float], amounts: dict[str, float]) -> dict[str, Any]:
    return {
        "label": mode, "total": length.mean, "low": length.low, "high": length.high, "note": said(length),
        "fractions": fractions, "amounts": amounts,
    }  # fmt: skip
