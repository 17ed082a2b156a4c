"""Verdicts as a table, and what failed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.box import Box
from rich.markup import escape
from rich.table import Table

from rubato.cli import terminal
from rubato.results.measurements import Verdict


def with_unit(row: Verdict) -> str:
    return f"{row.mean:.3g} {row.unit}".replace(" ×", "×")


def verdict_table(rows: Iterable[Verdict], *, titles: tuple[str, ...] = ("row", "measure"),
                  value: Callable[[Verdict], str] = with_unit, box: Box | None = None) -> Table:  # fmt: skip
    """A line a verdict. One title instead of two: without the names of rows."""
    table = Table(box=box, pad_edge=False)
    for name in (*titles, "value", "95 % interval", "bar", ""):
        is_number = name in ("value", "95 % interval", "bar")
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for r in rows:
        ends = "" if r.low is None or r.high is None else f"{r.low:.3g} to {r.high:.3g}"
        bar = "" if r.bar is None else f"{'>=' if r.at_least else '<='} {r.bar:g}"
        met = {True: "[green]met[/]", False: "[bold red]missed[/]", None: ""}[r.is_met]
        table.add_row(*(r.name, escape(r.title))[-len(titles) :], value(r), ends, bar, met)
    return table


def complain(sentences: Iterable[str]) -> None:
    """Beside the table: what was not measured, since it failed."""
    for sentence in sentences:
        terminal.err.print(f"bench/{Path(sys.argv[0]).name}: {sentence}", markup=False, soft_wrap=True)
