"""Programs that shared one chip: what each took of L2s, LLC and memory, and what the others took from it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from typing import TYPE_CHECKING

from rubato.report.markup import Section, card, one_open, table

if TYPE_CHECKING:
    from rubato.results.run import Run
    from rubato.results.summary import ProgramPart

_MOST_RUNS = 8
_HEAD = ["program", "cores", ">cycles", ">instructions", ">IPC", ">L2 misses", ">LLC hits", ">LLC misses",
         ">LLC miss rate", ">LLC MPKI", ">LLC lines at the end", ">evicted", ">by other programs", ">memory reads",
         ">memory writes"]  # fmt: skip


def sections(runs: list[Run], labels: list[str]) -> list[Section]:
    """A card for each run of several programs, of which the first is open."""
    found: list[Section] = []
    for i, (run, label) in enumerate(zip(runs, labels, strict=True)):
        if any(part.caches for part in run.summary.programs):
            found.append((f"side-by-side-{i}", "Programs on one chip", _card(run, f"side-by-side-{i}", label)))
    return one_open(found[:_MOST_RUNS], "Programs on one chip")


def _card(run: Run, identifier: str, label: str) -> str:
    text = (
        f"Of <b>{html.escape(label)}</b>, each program to its own end. A line counts for the program whose it is. "
        "<b>By other programs</b>: evicted to make room for a line of another program."
    )
    rows = [_row(i, part) for i, part in enumerate(run.summary.programs, 1)]
    return card(identifier, "Programs on one chip", text, table(_HEAD, rows))


def _row(number: int, part: ProgramPart) -> list[str]:
    row = [f"{number} ({part.program})", part.cores, f"{part.cycles:,}", f"{part.instructions:,}",
           f"{part.instructions / part.cycles:.3g}" if part.cycles else "–"]  # fmt: skip
    if part.caches is None:
        return row + ["–"] * (len(_HEAD) - len(row))
    l2, llc, mem = part.caches.l2, part.caches.llc, part.caches.mem
    return [
        *row, f"{l2.misses:,}", f"{llc.hits:,}", f"{llc.misses:,}",
        "–" if llc.miss_rate is None else f"{llc.miss_rate:.1%}", "–" if part.mpki is None else f"{part.mpki:.3g}",
        f"{llc.lines:,}", f"{llc.evictions:,}", f"{llc.displaced:,}", f"{mem.reads:,}", f"{mem.writes:,}",
    ]  # fmt: skip
