"""The report's table of the regions that programs marked."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

from rubato.report.markup import Section, card, class_names, number, one_open, table

if TYPE_CHECKING:
    from rubato.results.run import Run

_MOST_RUNS = 8


def sections(runs: list[Run], labels: list[str]) -> list[Section]:
    """A card for each run whose program marked regions, of which the first is open."""
    found: list[Section] = []
    for i, (run, label) in enumerate(zip(runs, labels, strict=True)):
        if not run.regions:
            continue
        text = (
            "What happened on the whole chip while a region that the program marks was open, as far as it was "
            "simulated in detail. Regions may overlap."
        )
        found.append((f"regions-{i}", "Regions", card(f"regions-{i}", f"Regions of {label}", text, _table(run))))
    return one_open(found[:_MOST_RUNS], "Regions")


def _table(run: Run) -> str:
    regions = run.regions
    shares = {region.name: region.cycle_shares for region in regions}
    names = class_names([run])
    classes = [c for c in names if any(share[c] for share in shares.values())]
    has_tasks = run.summary.tasks.created > 0
    head = ["region", ">times", ">cycles", ">instructions", ">a cycle", *([">tasks"] if has_tasks else []),
            ">network", *(f">{names[c]}" for c in classes)]  # fmt: skip
    rows = []
    for region in regions:
        rate = f"{region.instructions / region.cycles:.2f}" if region.cycles else ""
        rows.append([
            region.name, f"{region.times:,}", number(region.cycles), number(region.instructions), rate,
            *([number(region.stats.total("tasks.committed"))] if has_tasks else []),
            f"{number(region.network_bytes)}B",
            *(f"{100 * shares[region.name][c]:.1f} %" for c in classes),
        ])  # fmt: skip
    return table(head, rows)
