"""One sentence that says what kept a run of the native engine from using several workers; docs/cli.md has the rules."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

from rubato.results.thread_reasons import NOTABLE, percent

if TYPE_CHECKING:
    from rubato.results.run import Run


def of_native(run: Run) -> str:
    """Empty where counters show no such reason, and for one worker."""
    stats = run.stats
    tasks = stats.get("native.tasks_run", 0)
    if not tasks or run.summary.cores < 2:
        return ""
    alone = stats.get("native.tasks_run_alone", 0) / tasks
    timestamps = stats.get("native.timestamps", 0)
    narrow = timestamps - stats.get("native.timestamps_shared", 0)
    # A timestamp has one task at least, so this is the least share.
    in_order = narrow / tasks
    if max(alone, in_order) < NOTABLE:
        return ""
    if alone >= in_order:
        return f"{percent(alone)} of the tasks are SPEC, which have no other task beside them on this engine."
    return (
        f"At least {percent(in_order)} of the tasks ran one after another, in the order of their timestamps: "
        f"{narrow:,} of {timestamps:,} timestamps had too few tasks for several workers."
    )
