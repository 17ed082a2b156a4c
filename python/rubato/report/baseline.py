"""What the numbers that speed-up is measured against must be read with: what a small chip lacks, and in which steps the
time of a region comes. Sentences are computed from configurations and statistics of the runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html

from rubato.names import plural
from rubato.report.markup import listed
from rubato.report.study import Point, Workload, plain

_CACHES = {"l2.size": "L2", "llc.size": "LLC"}


def lacks(w: Workload) -> str:
    """One sentence on the caches of a core's tile, and the time spent spilling, of the reference; often nothing."""
    name, reference = w.reference
    largest = max((p for s in w.tasks for p in s.points), key=lambda p: p.cores)
    if w.is_native or largest.cores == reference.cores:
        return ""
    smaller = []
    for key, cache in _CACHES.items():
        has, of = (p.runs[0].configuration.get(key) for p in (reference, largest))
        if isinstance(has, int) and isinstance(of, int) and has < of:
            smaller.append(f"{plain(key, has)} of {cache} where a tile of the largest has {plain(key, of)}")
    spilled = _spilling(reference)
    told = []
    if smaller:
        told.append(f"has {listed(smaller)}")
    if spilled - _spilling(largest) >= 0.005:
        told.append(f"spends {spilled:.0%} of its time on spilling tasks that find no room in its queues")
    if not told:
        return ""
    chip = f"The chip of {plural(reference.cores, 'core')} ({html.escape(name)})"
    return f"{chip} {', and it '.join(told)}, so that speed-up over it may exceed the number of cores."


def _spilling(p: Point) -> float:
    return p.mean_of("cycle_breakdown", "spill")


def steps(w: Workload) -> str:
    """One sentence where times are multiples of the arbiter's period."""
    periods = {
        period
        for s in w.tasks
        for p in s.points
        for r in p.runs
        if p.cores > 1 and isinstance(period := r.configuration.get("arbiter.period"), int) and period > 1
    }
    if w.is_native or not periods or not w.has_tasks:
        return ""
    said = listed([f"{p:,}" for p in sorted(periods)])
    return (
        "On more than one core a region of tasks ends at a round of the arbiter, so that differences below "
        f"<code>arbiter.period</code> ({said} cycles) are lost or become one period."
    )
