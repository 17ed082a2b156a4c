"""Writes the report: one HTML file with styles, scripts and data inside, which asks the network for nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import json
from importlib import resources
from typing import Any

import rubato
from rubato.intervals import relative_spread
from rubato.names import plural
from rubato.report import aborts, baseline, comparison, inside, measured
from rubato.report.markup import (
    CLASS_NAMES,
    PART_NAMES,
    TRAFFIC_NAMES,
    Section,
    badge,
    card,
    clock,
    listed,
    number,
    seconds,
    switch,
    table,
)
from rubato.report.study import Point, Study, Workload, plain
from rubato.results import Run
from rubato.summary import CYCLE_CLASSES, TRAFFIC_CLASSES

#: The browser itself refuses whatever would leave the file.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(study: Study, title: str) -> str:
    """The whole document."""
    shown = _shown_inside(study)
    sections = [
        *_failures(study),
        *measured.sections(study.measured),
        *comparison.sections(study),
        *_workload_sections(study),
        *_common_sections(study, shown),
    ]
    navigation = "".join(f'<a href="#{i}">{html.escape(t)}</a>' for i, t, _ in sections)
    cards = "".join(body for _, _, body in sections)
    data = json.dumps(_data(study, shown), separators=(",", ":")).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<style>{_asset("report.css")}</style>
</head>
<body>
<header class="top">
<h1>{html.escape(title)}</h1>
<p class="lead">{_lead(study)}</p>
{_tiles(study)}
<nav aria-label="contents">{navigation}<button id="theme" type="button">dark / light</button></nav>
</header>
<main>
{cards}
</main>
<footer>Written by Rubato {html.escape(rubato.__version__)}. This file is complete: it loads nothing else.</footer>
<noscript><p class="explain">The charts need JavaScript; the tables do not.</p></noscript>
<script type="application/json" id="data">{data}</script>
<script>{_asset("charts.js")}</script>
<script>{_asset("page.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (resources.files("rubato.report") / "assets" / name).read_text(encoding="utf-8")


# ---- head ----


def _lead(study: Study) -> str:
    if study.measured and not study.runs and not study.failures:
        return "What was measured on this machine, and the bars that it is held against."
    if not study.runs:
        return "No run of this study succeeded; the reasons are below."
    programs = list(dict.fromkeys(w.name for w in study.workloads))
    cores = sorted({r.summary.cores for r in study.runs})
    modes = list(dict.fromkeys(r.summary.mode for r in study.runs if r.summary.mode))
    seeds = sorted({r.summary.seed for r in study.runs})
    what = listed([f"<code>{html.escape(p)}</code>" for p in programs[:4]])
    if len(programs) > 4:
        what += f" and {len(programs) - 4} more"
    span = f"{cores[0]} to {cores[-1]} cores" if len(cores) > 1 else plural(cores[0], "core")
    seeded = f", {len(seeds)} seeds a point" if len(seeds) > 1 else ""
    named = f", {listed([html.escape(m) for m in modes])}" if modes else ""
    return f"{what} on {places(study)} of {span}{named}{seeded}."


def places(study: Study) -> str:
    """What the runs of the study ran on, for a sentence."""
    engines = {r.summary.engine for r in study.runs}
    names = {"chip": "simulated chips", "native": "this machine"}
    return listed([names[e] for e in ("chip", "native") if e in engines]) or names["chip"]


def _tiles(study: Study) -> str:
    tiles: list[tuple[str, str]] = []
    best = _best(study)
    if best:
        tiles.append(best)
    passed = sum(r.summary.check == "passed" for r in study.runs)
    total = len(study.runs) + len(study.failures)
    if not total:
        return ""
    tiles.append((f"{len(study.runs)} of {total}", "runs succeeded" if total != 1 else "run succeeded"))
    tiles.append((f"{passed}", "of them verified by the program's own check"))
    if study.runs:
        instructions = sum(r.summary.instructions or 0 for r in study.runs)
        host = sum(r.summary.host.seconds for r in study.runs)
        if instructions:
            tiles.append((number(instructions), "instructions simulated"))
        tiles.append(
            (
                clock(host),
                f"of host time, {instructions / host / 1e6:.3g} M instructions a second"
                if host and instructions
                else "of host time",
            )
        )
    cells = "".join(
        f'<div class="tile"><div class="value">{html.escape(v)}</div>'
        f'<div class="label">{html.escape(label)}</div></div>'
        for v, label in tiles
    )
    return f'<div class="tiles">{cells}</div>'


def _best(study: Study) -> tuple[str, str] | None:
    """The largest speed-up, and over what: over the serial code wherever it was run."""
    candidates = []
    for w in study.workloads:
        name, reference = w.reference
        for s in w.tasks:
            candidates += [(w, s, p, name, reference) for p in s.points if p.cores > reference.cores]
    if not candidates:
        return None
    with_serial = [c for c in candidates if c[0].serial is not None]

    def speedup(candidate: Any) -> float:
        w, _, p, _, reference = candidate
        return p.speedup_over(w.serial or reference).mean

    best = max(with_serial or candidates, key=speedup)
    w, s, p, name, reference = best
    over_one = f"the same tasks on {plural(reference.cores, 'core')} ({name})"
    value = speedup(best)
    if w.serial is None:
        note = "" if value > 1 else "; the smallest is the fastest"
        return f"{value:.3g}×", f"best speed-up over {over_one}: {s.name}, {plural(p.cores, 'core')}{note}"
    return (
        f"{value:.3g}×",
        f"best speed-up over serial code: {s.name}, {plural(p.cores, 'core')}; "
        f"{p.speedup_over(reference).mean:.3g}× over {over_one}",
    )


# ---- sections ----


def _workload_sections(study: Study) -> list[Section]:
    sections: list[Section] = []
    for i, w in enumerate(study.workloads):
        several = len(study.workloads) > 1
        suffix = f": {w.name}" if several else ""
        first = len(sections)
        if len({p.cores for s in w.tasks for p in s.points}) > 1:
            sections.append((f"speedup-{i}", "Speed-up", _speedup_card(i, w, suffix)))
        if not w.is_native:
            sections.append((f"cycles-{i}", "Core cycles", _cycles_card(i, w, suffix)))
        if not w.is_native and any(
            r.summary.network_bytes.model_dump().get(c)
            for s in w.series
            for p in s.points
            for r in p.runs
            for c in TRAFFIC_CLASSES
        ):
            sections.append((f"traffic-{i}", "Network", _traffic_card(i, suffix)))
        if aborts.has_aborts(w):
            sections.append((f"aborts-{i}", "Aborts", aborts.section(i, w, suffix)))
        numbers = _native_numbers_card if w.is_native else _numbers_card
        sections.append((f"numbers-{i}", "Numbers", numbers(i, w, suffix)))
        if several:  # the contents name each workload once
            identifier, title, body = sections[first]
            sections[first] = (identifier, f"{w.name}: {title}", body)
    return sections


def _speedup_card(i: int, w: Workload, suffix: str) -> str:
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
        controls += switch("base", "serial", i, "over the same tasks on the fewest cores", "over serial code")
    text += " ".join(filter(None, (baseline.lacks(w), baseline.steps(w), spread)))
    names = "".join(
        f'<span><i style="background:var(--s{k % 8})"></i>{html.escape(s.name)}</span>' for k, s in enumerate(w.tasks)
    )
    return card(
        f"speedup-{i}", f"Speed-up{suffix}", text,
        f'{controls}<div class="legend">{names}</div><div class="chart" id="speedup-chart-{i}"></div>',
    )  # fmt: skip


def _took(w: Workload, p: Point) -> str:
    return seconds(p.time.mean) if w.is_native else f"{p.time.mean:,.0f} cycles"


def _cycles_card(i: int, w: Workload, suffix: str) -> str:
    text = (
        "What all cores together did with their cycles in the region of interest. Every cycle of every core is in "
        "exactly one class, so a row is complete. <b>No task</b> means that the core found nothing it may run; "
        "<b>stalled</b> that a queue was full. The figure "
        "behind a row is the total of core cycles relative to the reference of the speed-up; switch to total core cycles "
        "to see the rows at that length."
    )
    buttons = switch("cycles", "relative", i, "share", "total core cycles")
    body = f'{buttons}<div class="legend" id="cycles-legend-{i}"></div><div class="chart" id="cycles-chart-{i}"></div>'
    if any(inside.cycle_parts(r) for s in w.series for p in s.points for r in p.runs[:1]):
        body += (
            "<h3>Where busy cycles went</h3>"
            '<p class="explain">The cycles in which a core had a task, by the part of the machine it was '
            "waiting for; <b>instructions</b> is work inside the core.</p>"
            f'<div class="controls"><label>class <select id="parts-class-{i}"></select></label></div>'
            f'<div class="legend" id="parts-legend-{i}"></div><div class="chart" id="parts-chart-{i}"></div>'
        )
    return card(f"cycles-{i}", f"Where core cycles go{suffix}", text, body)


def _traffic_card(i: int, suffix: str) -> str:
    text = (
        "Bytes that messages between tiles carried, by purpose. Messages within a tile use no link and are not "
        "counted. The figure behind a bar is the total."
    )
    buttons = switch("traffic", "relative", i, "share", "bytes")
    body = (
        f'{buttons}<div class="legend" id="traffic-legend-{i}"></div><div class="chart" id="traffic-chart-{i}"></div>'
    )
    return card(f"traffic-{i}", f"What the network carried{suffix}", text, body)


def _numbers_card(i: int, w: Workload, suffix: str) -> str:
    head = ["series", ">cores", ">seeds", ">cycles", ">± 95 %", *_speedup_heads(w), ">simulated", ">instructions",
            ">tasks committed", ">aborted", ">spilled", ">busy", ">M instr/s (host)", ">host memory",
            "check"]  # fmt: skip
    reference, rows = w.reference[1], []
    for s in w.series:
        for p in s.points:
            c, runs = p.time, [r.summary for r in p.runs]
            checks = {r.check for r in runs}
            idle = p.mean_of("cycle_breakdown", "idle")
            rows.append(
                [
                    s.name, p.cores, c.samples, f"{c.mean:,.0f}",
                    relative_spread(c, "–"), *_speedups(p, reference, w.serial), seconds(sum(r.seconds for r in runs) / len(runs)),
                    f"{sum(r.instructions for r in runs) / len(runs):,.0f}",
                    f"{p.mean_of('tasks', 'committed'):,.0f}", f"{p.mean_of('tasks', 'aborted'):,.0f}",
                    f"{p.mean_of('tasks', 'spilled'):,.0f}", f"{1 - idle:.1%}",
                    f"{sum(r.host.mips for r in runs) / len(runs):.3g}",
                    f"{max(r.host.peak_mb for r in runs):,.0f} MB",
                    badge("passed", True) if checks == {"passed"} else html.escape(", ".join(sorted(checks))),
                ]
            )  # fmt: skip
    text = "One row a point of the curves, means over its seeds."
    return card(f"numbers-{i}", f"The numbers{suffix}", text, table(head, rows, raw={len(head) - 1}))


def _speedup_heads(w: Workload) -> list[str]:
    return [">speed-up", ">over serial code"] if w.serial is not None else [">speed-up"]


def _speedups(p: Point, reference: Point, serial: Point | None) -> list[str]:
    return [f"{p.speedup_over(r).mean:.2f}×" for r in (reference, serial) if r is not None]


def _native_numbers_card(i: int, w: Workload, suffix: str) -> str:
    head = ["series", ">workers", ">runs", ">time", ">± 95 %", *_speedup_heads(w), ">tasks", ">reads repeated", ">run alone",
            ">over 10 ms", ">process", ">memory", "check"]  # fmt: skip
    reference, rows = w.reference[1], []
    for s in w.series:
        for p in s.points:
            t, runs = p.time, [r.summary for r in p.runs]
            checks = {r.check for r in runs}
            rows.append(
                [
                    s.name, p.cores, t.samples, seconds(t.mean),
                    relative_spread(t, "–"), *_speedups(p, reference, w.serial), f"{p.mean_of('tasks', 'committed'):,.0f}",
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
    return card(f"numbers-{i}", f"The numbers{suffix}", text, table(head, rows, raw={len(head) - 1}))


def _common_sections(study: Study, shown: list[Run]) -> list[Section]:
    sections: list[Section] = []
    if shown:
        text = "One run at a time: when its tasks ran, if it was traced."
        if any(r.summary.engine == "chip" for r in shown):
            text = (
                "One run at a time: where its messages went, how full its queues were, which functions its tasks ran. "
                "The largest chip is shown first."
            )
        body = (
            '<div class="controls"><label>run <select id="inside-run"></select></label></div>'
            '<div id="inside-body"></div>'
        )
        sections.append(("inside", "Inside one run", card("inside", "Inside one run", text, body)))
    if study.runs:
        sections.append(("configuration", "Configuration", _configuration_card(study)))
    return sections


def _failures(study: Study) -> list[Section]:
    if not study.failures:
        return []
    alike: dict[tuple[str, int | None], list[str]] = {}
    for f in study.failures:
        alike.setdefault((f.reason, f.exit_code), []).append(f.name)
    rows = [[reason, "" if code is None else code, ", ".join(names)] for (reason, code), names in alike.items()]
    text = "These points have no result and are missing from everything below."
    body = table(["reason", ">exit code", "points"], rows, wrap={0, 2})
    title = f"{plural(len(study.failures), 'point')} failed"
    return [("failures", "Failed points", card("failures", title, text, body, "card warning"))]


def _configuration_card(study: Study) -> str:
    keys = list(dict.fromkeys(k for r in study.runs for k in r.configuration))
    same, differing = [], []
    for key in keys:
        values = list(dict.fromkeys(plain(key, r.configuration[key]) for r in study.runs if key in r.configuration))
        if len(values) == 1:
            same.append([key, values[0]])
        else:
            differing.append([key, ", ".join(values)])
    manifest = study.runs[0].manifest
    command = manifest.get("command_line", [])
    command = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    body = f"<p class='explain'>Rubato version {html.escape(str(manifest.get('version', 'unknown')))}. "
    body += f"The first run was started as <code>{html.escape(command)}</code>; "
    body += "every run directory's <code>run.toml</code> has what repeats its run.</p>"
    if differing:
        body += "<h3>What differs between runs</h3>" + table(["key", "values"], differing, wrap={1})
    body += (
        f"<details><summary>What all runs share ({len(same)} keys)</summary>{table(['key', 'value'], same)}</details>"
    )
    return card("configuration", "Configuration", "", body)


# ---- data for the charts ----


def _data(study: Study, shown: list[Run]) -> dict[str, Any]:
    return {
        "modes": comparison.data(study),
        "workloads": [_workload_data(w) for w in study.workloads],
        "inside": [
            {"label": _run_label(r), **inside.everything(r), "conflicts": aborts.of_run(r)} for r in shown
        ],
        "class_names": CLASS_NAMES,
        "part_names": PART_NAMES,
    }


def _shown_inside(study: Study) -> list[Run]:
    """Of the first seed, the largest first: simulated runs, and native ones that were traced."""
    runs = [r for r in study.runs if r.summary.engine == "chip" or r.trace is not None]
    first = min((r.summary.seed for r in runs), default=0)
    largest_first = sorted(runs, key=lambda r: (r.summary.engine != "chip", -r.summary.cores))
    return [r for r in largest_first if r.summary.seed == first][:24]


def _run_label(run: Any) -> str:
    s = run.summary
    words = [s.name, plural(s.cores, "core"), s.mode, f"seed {s.seed}"]
    return f"{', '.join(filter(None, words))} ({run.directory.name})"


def _workload_data(w: Workload) -> dict[str, Any]:
    name, reference = w.reference
    base = reference.time.mean
    speedup = {
        "label": f"speed-up of {w.name} over the number of cores",
        "reference_cores": reference.cores,
        "series": [{"name": s.name, "points": [_speedup_point(p, reference) for p in s.points]} for s in w.tasks],
        "serial": None,
    }
    if w.serial is not None:  # the line of the serial code, and the curves over it
        speedup["line"] = w.serial.speedup_over(reference).mean
        curves = [{"name": s.name, "points": [_speedup_point(p, w.serial) for p in s.points]} for s in w.tasks]
        speedup["serial"] = {**speedup, "series": curves, "line": 1.0, "ideal": reference.speedup_over(w.serial).mean}
    if w.is_native:
        return {"speedup": speedup, "cycles": None, "traffic": None, "parts": None, "aborts": None}
    cycles = [{"name": s.name, "rows": [_cycle_row(p, base * reference.cores) for p in s.points]} for s in w.series]
    most = max(
        (sum(p.mean_of("network_bytes", c) for c in TRAFFIC_CLASSES) for s in w.series for p in s.points),
        default=0,
    )
    traffic = [{"name": s.name, "rows": [r for p in s.points if (r := _traffic_row(p, most))]} for s in w.series]
    return {
        "speedup": speedup,
        "cycles": {
            "label": f"core cycles of {w.name} by class",
            "unit": "cycles",
            "parts": [{"key": c, "name": CLASS_NAMES[c], "colour": f"var(--{c})"} for c in CYCLE_CLASSES],
            "groups": cycles,
        },
        "traffic": {
            "label": f"network bytes of {w.name} by purpose",
            "unit": "bytes",
            "parts": [{"key": c, "name": TRAFFIC_NAMES[c], "colour": f"var(--t-{c})"} for c in TRAFFIC_CLASSES],
            "groups": [g for g in traffic if g["rows"]],
        },
        "parts": _parts_data(w, base * reference.cores),
        "aborts": aborts.data(w) if aborts.has_aborts(w) else None,
    }


def _speedup_point(p: Point, reference: Point) -> dict[str, Any]:
    i = p.speedup_over(reference)
    return {"x": p.cores, "y": i.mean, "low": i.low, "high": i.high, "n": i.samples, "steady": p.time.is_steady}


def _cycle_row(p: Any, reference: float) -> dict[str, Any]:
    total = p.time.mean * p.cores
    fractions = {c: p.mean_of("cycle_breakdown", c) for c in CYCLE_CLASSES}
    return {
        "label": str(p.cores),
        "fractions": fractions,
        "amounts": {c: f * total for c, f in fractions.items()},
        "total": total / reference,
        "note": f"{total / reference:.2f}×",
    }


def _traffic_row(p: Any, most: float) -> dict[str, Any] | None:
    amounts = {c: p.mean_of("network_bytes", c) for c in TRAFFIC_CLASSES}
    total = sum(amounts.values())
    if total == 0:
        return None
    return {
        "label": str(p.cores),
        "fractions": {c: a / total for c, a in amounts.items()},
        "amounts": amounts,
        "total": total / most,
        "note": number(total) + "B",
    }


def _parts_data(w: Workload, reference: float) -> dict[str, Any]:
    """Groups by class: {"nonspeculative": [{name, rows}, ...], ..., "busy": [...]}, with the means over seeds."""
    by_class: dict[str, list[dict[str, Any]]] = {}
    for s in w.series:
        rows: dict[str, list[dict[str, Any]]] = {}
        for p in s.points:
            tables = [inside.cycle_parts(r) for r in p.runs]
            sums: dict[str, dict[str, float]] = {"busy": dict.fromkeys(inside.PARTS, 0.0)}
            for t in tables:
                for name, parts in t.items():
                    if name in ("idle", "stall"):
                        continue
                    into = sums.setdefault(name, dict.fromkeys(inside.PARTS, 0.0))
                    for part, cycles in parts.items():
                        into[part] += cycles / len(tables)
                        sums["busy"][part] += cycles / len(tables)
            for name, parts in sums.items():
                total = sum(parts.values())
                if total:
                    rows.setdefault(name, []).append(
                        {
                            "label": str(p.cores), "fractions": {k: v / total for k, v in parts.items()},
                            "amounts": parts, "total": total / reference, "note": number(total),
                        }
                    )  # fmt: skip
        for name, found in rows.items():
            by_class.setdefault(name, []).append({"name": s.name, "rows": found})
    return {
        "label": f"busy cycles of {w.name} by part of the machine",
        "unit": "cycles",
        "parts": [{"key": p, "name": PART_NAMES[p], "colour": f"var(--{p})"} for p in inside.PARTS],
        "classes": by_class,
    }
