"""Writes the report: one HTML file with styles, scripts and data inside, which asks the network for nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import json
from importlib import resources
from typing import Any

import rubato
from rubato.names import plural
from rubato.report import (
    comparison,
    measured,
    parameters,
    programs,
    publications,
    regions,
    side_by_side,
    threads,
    transactions,
)
from rubato.report.cards import workload_cards
from rubato.report.charts_data import chart_data, run_label, shown_inside
from rubato.report.markup import (
    Section,
    card,
    clock,
    listed,
    number,
    table,
)
from rubato.report.study import Study, plain
from rubato.results.run import Run

#: The browser itself refuses whatever would leave the file.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(study: Study, title: str) -> str:
    """The whole document."""
    shown = shown_inside(study)
    varied = [parameters.Parameters(w, study.swept) for w in study.workloads]
    by_region = [parameters.Parameters(w, study.swept, by_region=True) for w in study.workloads]
    beside = programs.sides(study)
    labels = [run_label(run) for run in shown]
    sections = [
        *_failures(study),
        *measured.sections(study.measured),
        *publications.sections(study.publications),
        *transactions.sections(study.transactions),
        *comparison.sections(study),
        *programs.sections(beside),
        *_workload_sections(study, varied, by_region),
        *regions.sections(shown, labels),
        *side_by_side.sections(shown, labels),
        *threads.sections(shown, labels),
        *_common_sections(study, shown),
    ]
    navigation = "".join(f'<a href="#{i}">{html.escape(t)}</a>' for i, t, _ in sections)
    cards = "".join(body for _, _, body in sections)
    charts = chart_data(study, shown, varied, by_region, beside)
    data = json.dumps(charts, separators=(",", ":")).replace("<", "\\u003c")
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
{threads.conclusions(study, shown, labels)}
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
<script>{_asset("save.js")}</script>
<script>{_asset("panels.js")}</script>
<script>{_asset("bars.js")}</script>
<script>{_asset("page.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (resources.files("rubato.report") / "assets" / name).read_text(encoding="utf-8")


# ---- head ----


def _lead(study: Study) -> str:
    if study.transactions and not (study.runs or study.failures or study.measured):
        return "Why transactions ran alone or were undone, and what that cost."
    if study.measured and not study.runs and not study.failures:
        return "What was measured on this machine, and the bars that it is held against."
    if study.publications and not study.runs and not study.failures:
        return "Published values beside ours, figure by figure, with a verdict for each."
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
    names = {"chip": "simulated chips", "native": "this machine", "serial": "the serial engine"}
    return listed([name for engine, name in names.items() if engine in engines]) or names["chip"]


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
            # Over the same tasks on the smallest chip that chip says nothing; over serial code it may be the best.
            points = [p for p in s.points if p.cores > reference.cores or w.serial is not None]
            candidates += [(w, s, p, name, reference) for p in points]
    if not any(p.cores > reference.cores for _, _, p, _, reference in candidates):
        return None
    with_serial = [c for c in candidates if c[0].serial is not None]

    def speedup(candidate: Any) -> float:
        w, _, p, _, reference = candidate
        return p.speedup_over(w.serial or reference).mean

    best = max(with_serial or candidates, key=speedup)
    w, s, p, name, reference = best
    over_one = f"the same {'tasks' if w.has_tasks else 'program'} on {plural(reference.cores, 'core')} ({name})"
    value = speedup(best)
    if w.serial is None:
        note = "" if value > 1 else "; the smallest is the fastest"
        return f"{value:.3g}×", f"best speed-up over {over_one}: {s.name}, {plural(p.cores, 'core')}{note}"
    text = f"best speed-up over serial code: {s.name}, {plural(p.cores, 'core')}"
    if p.cores == reference.cores:
        return f"{value:.3g}×", f"{text}; more cores are no faster"
    return f"{value:.3g}×", f"{text}; {p.speedup_over(reference).mean:.3g}× over {over_one}"


# ---- sections ----


def _workload_sections(
    study: Study, varied: list[parameters.Parameters], by_region: list[parameters.Parameters]
) -> list[Section]:
    """Of one workload its cards; of several a fold each, named once, of which the first is open."""
    if len(study.workloads) == 1:
        return workload_cards(0, study.workloads[0], varied[0], by_region[0])
    sections: list[Section] = []
    for i, (w, over, regional) in enumerate(zip(study.workloads, varied, by_region, strict=True)):
        cards = "".join(body for _, _, body in workload_cards(i, w, over, regional))
        head = f"<summary><h2>{html.escape(w.name)}</h2></summary>"
        fold = f'<details class="workload" id="workload-{i}"{"" if i else " open"}>{head}{cards}</details>'
        sections.append((f"workload-{i}", w.name, fold))
    return sections


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
    if same:
        shared = table(["key", "value"], same)
        body += f"<details><summary>What all runs share ({plural(len(same), 'key')})</summary>{shared}</details>"
    return card("configuration", "Configuration", "", body)


# ---- data for the charts ----
