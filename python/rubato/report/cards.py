"""The cards of a workload: speed-up, cycles, traffic and the numbers behind them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html

from rubato.names import plural
from rubato.report import (
    aborts,
    baseline,
    capsules,
    coherence,
    energy,
    inside,
    parameters,
)
from rubato.report.markup import (
    Section,
    badge,
    card,
    clock,
    seconds,
    switch,
    table,
)
from rubato.report.study import Point, Workload
from rubato.results import metrics
from rubato.results.intervals import interval, relative_spread
from rubato.results.summary import TRAFFIC_CLASSES


def workload_cards(
    i: int, w: Workload, over: parameters.Parameters, by_region: parameters.Parameters
) -> list[Section]:
    sections: list[Section] = []
    if len({p.cores for s in w.tasks for p in s.points}) > 1:
        sections.append((f"speedup-{i}", "Speed-up", _speedup_card(i, w)))
    if over.any:
        sections.append(over.section(f"parameters-{i}"))
    if by_region.any:
        sections.append(by_region.section(f"by-region-{i}"))
    if not w.is_native:
        sections.append((f"cycles-{i}", "Core cycles", _cycles_card(i, w)))
    if not w.is_native and any(
        r.summary.network_bytes.model_dump().get(c)
        for s in w.series
        for p in s.points
        for r in p.runs
        for c in TRAFFIC_CLASSES
    ):
        sections.append((f"traffic-{i}", "Network", _traffic_card(i)))
    if coherence.has_messages(w):
        sections.append((f"coherence-{i}", "Coherence", coherence.section(i, w)))
    if energy.has_energy(w):
        sections.append((f"energy-{i}", "Energy", energy.section(i, w)))
    if aborts.has_aborts(w):
        sections.append((f"aborts-{i}", "Aborts", aborts.section(i, w)))
    if capsules.has_calls(w):
        sections.append((f"capsules-{i}", "Capsules", capsules.section(i, w)))
    numbers = _native_numbers_card if w.is_native else _numbers_card
    sections.append((f"numbers-{i}", "Numbers", numbers(i, w)))
    return sections


def _speedup_card(i: int, w: Workload) -> str:
    name, reference = w.reference
    points = [p for s in w.tasks for p in s.points]
    seeds = max(p.time.samples for p in points)
    spread = (
        f"Points are ratios of means over up to {seeds} {'runs' if w.is_native else 'seeds'}; bands and whiskers are "
        "their 95 % confidence intervals, of the logarithm of the ratio (delta method, Welch's degrees of freedom), "
        "the reference's own spread included."
        if seeds > 1
        else "Every point is one run: with <code>--seeds 3</code> or more, intervals appear."
    )
    what = "the tasks are done" if w.is_native else "the region of interest finishes"
    text = (
        f"How many times faster {what} than on the smallest number of cores. All curves share one "
        f"reference: {html.escape(name)} on {plural(reference.cores, 'core')}, {_took(w, reference)}. "
        f"The dotted line would be speed-up equal to the cores. "
    )
    controls = switch("speedup", "linear", i, "logarithmic", "linear")
    if w.serial is not None:
        text += (
            f"The dashed line is the application's serial code, without tasks, on one core: {_took(w, w.serial)}. The "
            "second switch makes it the reference. "
        )
        controls += switch("base", "serial", i, f"over the same {_unit(w)}s on the fewest cores", "over serial code")
    text += " ".join(filter(None, (baseline.lacks(w), baseline.steps(w), spread)))
    return card(
        f"speedup-{i}", "Speed-up", text,
        f'{controls}<div class="legend" id="speedup-legend-{i}"></div><div class="chart" id="speedup-chart-{i}"></div>',
    )  # fmt: skip


def _took(w: Workload, p: Point) -> str:
    return seconds(p.time.mean) if w.is_native else f"{p.time.mean:,.0f} cycles"


def _cycles_card(i: int, w: Workload) -> str:
    text = (
        "What all cores together did with their cycles in the region of interest. Every cycle of every core is in "
        f"exactly one class, so a row is complete. {_classes(w)} The figure "
        "behind a row is the total of core cycles relative to the reference of the speed-up; switch to total core "
        "cycles to see the rows at that length."
    )
    buttons = switch("cycles", "relative", i, "share", "total core cycles")
    body = f'{buttons}<div class="legend" id="cycles-legend-{i}"></div><div class="chart" id="cycles-chart-{i}"></div>'
    if any(inside.cycle_parts(r) for s in w.series for p in s.points for r in p.runs[:1]):
        body += (
            "<h3>Where busy cycles went</h3>"
            f'<p class="explain">The cycles in which a core had a {_unit(w)}, by the part of the machine it was '
            "waiting for; <b>instructions</b> is work inside the core.</p>"
            f'<div class="controls"><label>class <select id="parts-class-{i}"></select></label></div>'
            f'<div class="legend" id="parts-legend-{i}"></div><div class="chart" id="parts-chart-{i}"></div>'
        )
    return card(f"cycles-{i}", "Where core cycles go", text, body)


def _unit(w: Workload) -> str:
    return "task" if w.has_tasks else "thread"


def _classes(w: Workload) -> str:
    if not w.has_tasks:
        return "<b>Idle</b> means that no thread was ready to run; the card Threads says what threads waited for."
    text = "<b>No task</b> means that the core found nothing it may run; <b>stalled</b> that a queue was full."
    if any(run.summary.tasks.held_back for run in w.runs):
        text += (
            " <b>Held back</b> cores had nothing to run while <code>task.throttle</code> kept MAYSPEC tasks from "
            "speculating."
        )
    return text


def _traffic_card(i: int) -> str:
    text = (
        "Bytes that messages between tiles carried, by purpose. Messages within a tile use no link and are not "
        "counted. The figure behind a bar is the total."
    )
    buttons = switch("traffic", "relative", i, "share", "bytes")
    body = (
        f'{buttons}<div class="legend" id="traffic-legend-{i}"></div><div class="chart" id="traffic-chart-{i}"></div>'
    )
    return card(f"traffic-{i}", "What the network carried", text, body)


def _numbers_card(i: int, w: Workload) -> str:
    head = ["series", ">cores", ">seeds", ">cycles", ">± 95 %", *_speedup_heads(w), ">simulated", ">instructions",
            *([">tasks committed", ">aborted", ">spilled"] if w.has_tasks else []), ">busy", ">M instr/s (host)",
            ">host memory", "check"]  # fmt: skip
    reference, rows = w.reference[1], []
    for s in w.series:
        for p in s.points:
            c, runs = p.time, [r.summary for r in p.runs]
            checks = {r.check for r in runs}
            idle = p.mean_of("cycle_breakdown", "idle")
            rows.append(
                [
                    s.name, p.cores, c.samples, f"{c.mean:,.0f}",
                    relative_spread(c, "–"), *_speedups(p, reference, w.serial),
                    seconds(sum(r.seconds for r in runs) / len(runs)),
                    f"{sum(r.instructions for r in runs) / len(runs):,.0f}",
                    *([f"{p.mean_of('tasks', k):,.0f}" for k in ("committed", "aborted", "spilled")]
                      if w.has_tasks else []),
                    f"{1 - idle:.1%}",
                    f"{sum(r.host.mips for r in runs) / len(runs):.3g}",
                    f"{max(r.host.peak_mb for r in runs):,.0f} MB",
                    badge("passed", True) if checks == {"passed"} else html.escape(", ".join(sorted(checks))),
                ]
            )  # fmt: skip
    text = "One row a point of the curves, means over its seeds."
    return card(f"numbers-{i}", "The numbers", text, table(head, rows, raw={len(head) - 1}) + _rates(w))


def _rates(w: Workload) -> str:
    """Miss rates, bandwidth and the user's own metrics by point, as far as there are such statistics."""
    values = {m: {r.directory: metrics.value(m, r) for r in w.runs} for m in (*metrics.BUILT_IN, *w.metrics)}
    values = {m: of for m, of in values.items() if any(v is not None for v in of.values())}
    if not values:
        return ""
    units = {m: f", {m.unit}" if m.unit not in ("", "share") else "" for m in values}
    rows = []
    for s in w.series:
        for p in s.points:
            cells = []
            for m, of in values.items():
                samples = [v for r in p.runs if (v := of[r.directory]) is not None]
                i = interval(samples) if samples else None
                spread = f" ± {m.said(i.half_width)}" if i and i.half_width and not i.is_steady else ""
                cells.append((m.said(i.mean) if i else "–") + spread)
            rows.append([s.name, p.cores, *cells])
    text = (
        "A miss rate is misses over accesses of that cache; MPKI are misses in 1,000 instructions. Memory counts whole "
        "lines, the network bytes of messages between tiles, both over simulated time. ± is half of the 95 % interval."
    )
    head = ["series", ">cores", *(f">{m.heading}{units[m]}" for m in values)]
    return f'<h3>Caches, bandwidth and metrics</h3><p class="explain">{text}</p>{table(head, rows)}'


def _speedup_heads(w: Workload) -> list[str]:
    return [">speed-up", ">over serial code"] if w.serial is not None else [">speed-up"]


def _speedups(p: Point, reference: Point, serial: Point | None) -> list[str]:
    return [_times(p.speedup_over(r).mean) for r in (reference, serial) if r is not None]


def _times(ratio: float) -> str:
    """Two decimals, or two digits of a small one, which is not 0.00×."""
    return f"{ratio:.2f}×" if ratio >= 0.1 else f"{ratio:.2g}×"


def _native_numbers_card(i: int, w: Workload) -> str:
    head = ["series", ">workers", ">runs", ">time", ">± 95 %", *_speedup_heads(w), ">tasks", ">reads repeated",
            ">run alone", ">over 10 ms", ">process", ">memory", "check"]  # fmt: skip
    reference, rows = w.reference[1], []
    for s in w.series:
        for p in s.points:
            t, runs = p.time, [r.summary for r in p.runs]
            checks = {r.check for r in runs}
            rows.append(
                [
                    s.name, p.cores, t.samples, seconds(t.mean),
                    relative_spread(t, "–"), *_speedups(p, reference, w.serial),
                    f"{p.mean_of('tasks', 'committed'):,.0f}",
                    f"{p.mean_of('tasks', 'aborted'):,.0f}", f"{p.mean_of('tasks', 'promoted'):,.0f}",
                    f"{sum(r.long_tasks.count for r in runs if r.long_tasks) / len(runs):,.3g}",
                    clock(sum(r.host.seconds for r in runs) / len(runs)),
                    f"{max(r.host.peak_mb for r in runs):,.0f} MB",
                    badge("passed", True) if checks == {"passed"} else html.escape(", ".join(sorted(checks))),
                ]
            )  # fmt: skip
    text = (
        "One row a point of the curves, means over its runs. <b>Time</b> was measured from the beginning to the end of "
        "the tasks, input and check not included; <b>process</b> includes them."
    )
    return card(f"numbers-{i}", "The numbers", text, table(head, rows, raw={len(head) - 1}))
