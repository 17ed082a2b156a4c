"""Which capsules tasks called, how long they were in them, and what was for nothing (P61)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from html import escape
from typing import Any

from rubato.report.markup import card, table
from rubato.report.study import Workload
from rubato.results.run import Run

_ROWS = 12  # stats.json has all


def calls(run: Run) -> list[dict[str, Any]]:
    """A row of stats.json a capsule, the one in which cores were longest first; empty if tasks called none."""
    return sorted(run.stats_document.get("capsules", []), key=lambda row: -(row["cycles"] + row["doomed_cycles"]))


def _largest(w: Workload) -> list[tuple[str, Run]]:
    """Of each series with capsules the first run on the most cores."""
    found = []
    for s in w.series:
        runs = [r for p in s.points for r in p.runs if calls(r)]
        if runs:
            found.append((s.name, max(runs, key=lambda r: r.summary.cores)))
    return found


def has_calls(w: Workload) -> bool:
    return bool(_largest(w))


def section(i: int, w: Workload) -> str:
    """The card of a workload whose tasks called capsules."""
    text = (
        "Outermost calls of tasks, those of aborted attempts included, of one run of each series on its largest chip. "
        "A call is <b>doomed</b> if its task was aborted meanwhile: it goes on to its end, holding its core. Where "
        "cycles a call grow with the cores, capsules wait for a lock or for lines that others use."
    )
    rows = []
    for name, run in _largest(w):
        if (waits := run.summary.suspended_attempts).count:
            text += (
                f" <b>{escape(name)}</b>: attempts waited in system calls of capsules {waits.count:,} times, without a "
                f"core, for {waits.cycles:,} cycles all together; {waits.doomed:,} were aborted meanwhile."
            )
        for row in calls(run)[:_ROWS]:
            each = row["cycles"] / row["calls"] if row["calls"] else 0.0
            rows.append([row["capsule"], name, run.summary.cores, f"{row['calls']:,}", f"{row['cycles']:,}",
                         f"{each:,.0f}", f"{row['doomed_calls']:,}", f"{row['doomed_cycles']:,}"])  # fmt: skip
    head = ["capsule", "series", ">cores", ">calls", ">cycles", ">cycles a call", ">doomed", ">cycles doomed"]
    return card(f"capsules-{i}", "Capsules", text, table(head, rows))
