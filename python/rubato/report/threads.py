"""The report on threads: a sentence that concludes for each run, and where threads ran and waited."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from rubato.names import short_name
from rubato.report.markup import PART_NAMES, Section, card, number, one_open, stacked, table
from rubato.report.timeline import OTHER_WAITS, WAITS
from rubato.results.contention import KINDS, why_unnamed

if TYPE_CHECKING:
    from rubato.report.study import Study
    from rubato.results.run import Run

_MOST = 15  # rows of each table
_MOST_RUNS = 8
_MOST_BARS = 64


def conclusions(study: Study, runs: list[Run], labels: list[str]) -> str:
    """The sentences on top of the page: of several programs one each, of the largest chip; of one program those that
    differ in more than their numbers. Of one run it stands without its name."""
    said: list[tuple[str, str]] = []
    seen: set[tuple[str, ...]] = set()
    is_one = len(study.workloads) == 1
    for label, run in zip(labels, runs, strict=True):
        kind = re.sub(r"[\d.]+ %", "", run.conclusion) if is_one else run.summary.name, " ".join(run.arguments)
        if run.conclusion and kind not in seen:
            seen.add(kind)
            said.append((label, run.conclusion))
    said = said[:_MOST_RUNS]
    if not said:
        return ""
    if len(said) == 1:
        named = f"<b>{html.escape(said[0][0])}:</b> " if len(runs) > 1 else ""
        return f'<p class="conclusion">{named}{html.escape(said[0][1])}</p>'
    rows = "".join(f"<li><b>{html.escape(label)}:</b> {html.escape(text)}</li>" for label, text in said)
    return f'<ul class="conclusion">{rows}</ul>'


def sections(runs: list[Run], labels: list[str]) -> list[Section]:
    """A card for each run that has threads beside those of task regions, of which the first is open."""
    found: list[Section] = []
    for i, run in _with_threads(runs):
        found.append((f"threads-{i}", "Threads", _card(run, f"threads-{i}", f"Threads of {labels[i]}")))
    return one_open(found, "Threads")


def data(runs: list[Run]) -> dict[str, Any]:
    """The chart of each card, by its identifier: a bar a thread, as long as its cycles."""
    return {f"threads-{i}": _bars(run) for i, run in _with_threads(runs)}


def _with_threads(runs: list[Run]) -> list[tuple[int, Run]]:
    found = [
        (i, run) for i, run in enumerate(runs)
        if run.summary.engine == "chip" and any(thread.cycles for thread in run.threads)
    ]  # fmt: skip
    return found[:_MOST_RUNS]


def _bars(run: Run) -> dict[str, Any]:
    longest = max(thread.cycles for thread in run.threads)
    kinds = sorted({kind for thread in run.threads for kind in thread.blocked})
    colours = {"ready": "idle"} | {f"blocked.{kind}": WAITS.get(kind, OTHER_WAITS) for kind in kinds}
    names = PART_NAMES | {"ready": "ready, without a core"} | {f"blocked.{kind}": f"waits: {kind}" for kind in kinds}
    rows = []
    for thread in sorted(run.threads, key=lambda t: t.number)[:_MOST_BARS]:
        if not thread.cycles:
            continue
        blocked = {f"blocked.{kind}": cycles for kind, cycles in thread.blocked.items()}
        amounts = thread.running | {"ready": thread.ready} | blocked
        fractions = {key: cycles / thread.cycles for key, cycles in amounts.items()}
        rows.append({
            "label": str(thread.number), "fractions": fractions, "amounts": amounts,
            "total": thread.cycles / longest, "note": number(thread.cycles),
        })  # fmt: skip
    parts = stacked(names, "var(--{})")
    for part in parts:
        part["colour"] = f"var(--{colours.get(part['key'], part['key'])})"
    groups = [{"name": "thread", "rows": rows}]
    return {"label": "cycles of threads", "unit": "cycles", "parts": parts, "groups": groups}


def _card(run: Run, identifier: str, title: str) -> str:
    text = (
        "Where the cycles of threads went in detailed simulation, what they waited for, and where cores were when they "
        "were looked at. A place in a library is shown as the line of the program that called it."
    )
    chart = (
        f'<h3>Cycles by thread</h3><div class="legend" id="{identifier}-legend"></div>'
        f'<div class="chart" id="{identifier}-chart"></div>'
        + _left_out(len(run.threads), _MOST_BARS)
    )
    return card(identifier, title, text, chart + _threads(run) + _waits(run) + _contention(run) + _profile(run))


def _threads(run: Run) -> str:
    parts = [part for part in PART_NAMES if any(thread.running.get(part) for thread in run.threads)]
    kinds = sorted({kind for thread in run.threads for kind in thread.blocked})
    head = ["thread", ">cycles", *(f">{PART_NAMES[p]}" for p in parts), ">ready", *(f">waits: {k}" for k in kinds)]
    rows = []
    for thread in sorted(run.threads, key=lambda t: -t.cycles)[:_MOST]:
        values = [*(thread.running.get(p, 0) for p in parts), thread.ready, *(thread.blocked.get(k, 0) for k in kinds)]
        shares = [f"{100 * value / thread.cycles:.1f} %" if value else "" for value in values] if thread.cycles else []
        rows.append([str(thread.number), number(thread.cycles), *(shares or [""] * len(values))])
    numbers = table(head, rows) + _cut(len(run.threads))
    return f"<details><summary>The numbers of this chart</summary>{numbers}</details>"


def _waits(run: Run) -> str:
    if not run.waits:
        return ""
    head = ["waits for", "what", "function", "line", ">waits", ">cycles", ">longest", "waits most", "held or ended by"]
    rows = []
    for wait in run.waits[:_MOST]:
        held = wait.held_by or wait.ended_by
        rows.append([
            wait.kind, wait.what, short_name(wait.at.function), wait.at.line, number(wait.waits), number(wait.cycles),
            number(wait.longest), f"thread {wait.threads.most_common(1)[0][0]}",
            _who(held.most_common(1)[0][0]) if held else "",
        ])  # fmt: skip
    return "<h3>Waits</h3>" + table(head, rows, wrap={1, 2}) + _cut(len(run.waits))


def _contention(run: Run) -> str:
    if not run.contention:
        return ""
    head = ["line", "what", "kind", ">transfers", ">cycles waited", ">cycles spun", "most often", "bytes used by cores"]
    rows = []
    for line in run.contention[:_MOST]:
        pair = max(line.taken, key=line.taken.__getitem__, default=None)
        users = sorted(line.users, key=lambda user: -user.transfers)[:4]
        used = "; ".join(f"{user.core}: {user.touched}" for user in users if user.touched)
        rows.append([
            f"{line.address:#x}", line.word, KINDS[line.kind], number(line.transfers), number(round(line.cycles)),
            number(line.spun), f"core {pair[1]} from core {pair[0]}" if pair else "", used,
        ])  # fmt: skip
    why = why_unnamed(run) if any(line.is_unnamed_heap for line in run.contention) else ""
    note = f'<p class="explain">{why[0].upper()}{why[1:]}.</p>' if why else ""
    return "<h3>Contended lines</h3>" + table(head, rows, wrap={1, 7}) + note + _cut(len(run.contention))


def _who(thread: int) -> str:
    return f"thread {thread}" if thread else "time"


def _profile(run: Run) -> str:
    if not run.profile:
        return ""
    rows = [[short_name(hot.at.function), hot.at.line, hot.spins_for, f"{100 * hot.share:.1f} %"]
            for hot in run.profile[:_MOST]]  # fmt: skip
    head = ["function", "line", "spins for", ">samples"]
    return "<h3>Where cores were</h3>" + table(head, rows, wrap={0}) + _cut(len(run.profile))


def _cut(count: int) -> str:
    return _left_out(count, _MOST)


def _left_out(count: int, most: int) -> str:
    return f'<p class="explain">{count - most} more in stats.json.</p>' if count > most else ""
