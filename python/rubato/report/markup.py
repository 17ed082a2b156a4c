"""Words, tables and cards of the report's page; names and colours of what its charts stack."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rubato.names import plural

if TYPE_CHECKING:
    from rubato.results.run import Run

CLASS_NAMES = {
    "nonspeculative": "non-speculative", "committed": "speculative, committed", "aborted": "speculative, aborted",
    "spill": "spilling", "stall": "stalled on a full queue", "idle": "no task",
    "held_back": "held back (throttle)",
}  # fmt: skip
#: The same of programs without tasks.
THREAD_CLASS_NAMES = CLASS_NAMES | {"nonspeculative": "running", "idle": "idle"}
PART_NAMES = {
    "core": "instructions", "l1": "L1", "l2": "L2", "llc": "LLC", "memory": "memory", "network": "network",
    "check": "conflict checks",
}  # fmt: skip
TRAFFIC_NAMES = {
    "memory": "memory accesses", "abort": "aborts", "task": "tasks", "virtual_time": "virtual time",
    "coherence": "coherence control",
}  # fmt: skip
CAUSE_NAMES = {
    "conflict": "conflict", "parent": "parent aborted", "dependence": "used aborted data",
    "locale": "locale needed", "preempted": "core needed", "commit_queue": "commit queue full",
    "task_queue": "task queue full", "forwarding": "uncommitted data", "exception": "exception",
    "mapping": "pages remapped",
}  # fmt: skip



def class_names(runs: Iterable[Run]) -> dict[str, str]:
    """Of cycles: in words of tasks only if one of the runs had some."""
    return CLASS_NAMES if any(run.summary.tasks.created for run in runs) else THREAD_CLASS_NAMES


#: Ways in which parts of a bar are filled over their colour (charts.js has them): no two neighbours alike.
_PATTERNS = 7

#: A section of the page: (id, title in the navigation, html).
Section = tuple[str, str, str]


def stacked(names: dict[str, str], colour: str) -> list[dict[str, Any]]:
    """What bars stack, in order, for the charts: `colour` is CSS with {} for the key. A part is told by its pattern,
    too, which is the same in every chart of this list."""
    return [
        {"key": k, "name": name, "colour": colour.format(k), "pattern": i % _PATTERNS}
        for i, (k, name) in enumerate(names.items())
    ]


def card(identifier: str, title: str, explanation: str, body: str, style: str = "card") -> str:
    said = f'<p class="explain">{explanation}</p>' if explanation else ""
    return f'<section class="{style}" id="{identifier}"><h2>{html.escape(title)}</h2>{said}{body}</section>'


def switch(kind: str, option: str, i: int, off: str, on: str) -> str:
    """Two buttons of which one is pressed; page.js knows them by their data attributes."""
    buttons = "".join(
        f'<button type="button" data-{kind}="{i}" data-{option}="{value}" aria-pressed="{pressed}">{name}</button>'
        for name, value, pressed in ((off, "", "true"), (on, "1", "false"))
    )
    return f'<div class="controls"><span class="switch" role="group">{buttons}</span></div>'


def one_open(found: list[Section], title: str) -> list[Section]:
    """The first section, and a fold with the others: cards that say the same of one run after another."""
    if len(found) < 2:
        return found
    others = found[1:]
    heading = f"{title} of {plural(len(others), 'other run')}"
    identifier = f"{found[0][0]}-others"
    body = "".join(body for _, _, body in others)
    head = f"<summary><h2>{html.escape(heading)}</h2></summary>"
    return [found[0], (identifier, heading, f'<details class="workload" id="{identifier}">{head}{body}</details>')]


def table(head: list[str], rows: Iterable[list[Any]], raw: set[int] = frozenset(), wrap: set[int] = frozenset()) -> str:
    """`>` before a heading aligns the column right; cells are escaped unless their column is in `raw`."""
    right = [h.startswith(">") for h in head]
    top = "".join(
        f"<th{' class=n' if r else ''}>{html.escape(h.lstrip('>'))}</th>" for h, r in zip(head, right, strict=True)
    )
    body = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            style = "n" if right[i] else "wrap" if i in wrap else ""
            text = str(cell) if i in raw else html.escape(str(cell))
            cells.append(f"<td{f' class={style}' if style else ''}>{text}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{whole}</div>'


def listed(words: list[str]) -> str:
    """a, b and c"""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def badge(text: str, good: bool) -> str:
    return f'<span class="badge {"good" if good else "bad"}">{html.escape(text)}</span>'


def number(value: float) -> str:
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} "


def seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return "0 s"


def clock(value: float) -> str:
    if value < 60:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    if value < 3600:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.1f} h"
