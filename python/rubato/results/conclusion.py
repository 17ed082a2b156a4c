"""One sentence that says why a run took as long as it did; docs/cli.md has the rules."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

from rubato.names import short_name
from rubato.results import native_reasons, task_limits, thread_reasons
from rubato.results.summary import CYCLE_CLASSES
from rubato.results.thread_reasons import NOTABLE, percent

if TYPE_CHECKING:
    from rubato.results.run import Run

#: Beyond this share of running cycles it is memory that a program waits for.
MEMORY = 0.5
_AWAY = ("llc", "memory", "network")


def conclusion(run: Run) -> str:
    """Empty where a run has no cycles in detail, or its counters show no reason."""
    if run.summary.engine == "native":
        return native_reasons.of_native(run)
    if run.summary.engine != "chip":
        return ""
    committed = run.stats.get("tasks.committed", 0)
    return _of_tasks(run) if committed else _of_threads(run)


# ---- programs with threads ----


def _of_threads(run: Run) -> str:
    reasons = thread_reasons.reasons(run)
    if not reasons:
        return ""
    return reasons[0].sentence if reasons[0].share >= NOTABLE else thread_reasons.running(run)


# ---- programs with tasks ----


def _of_tasks(run: Run) -> str:
    stats = run.stats
    total = sum(stats.total(f"chip.core_cycles.{c}") for c in CYCLE_CLASSES)
    if not total:
        return ""
    reasons = [(stats.total(f"chip.core_cycles.{c}") / total, c) for c in ("idle", "aborted", "stall", "spill")]
    share, reason = max(reasons)
    if share < NOTABLE:
        return _memory_of_tasks(run, total)
    begin = f"{percent(share)} of core cycles "
    if reason == "aborted":
        return f"{begin}were of attempts that aborted{_most_aborted(run)}."
    if reason == "stall":
        return f"{begin}tasks wait for room in a full queue (task.task_queue, task.commit_queue, task.send_buffer)."
    if reason == "spill":
        return f"{begin}go into spilling tasks to memory and reading them back: there are more than queues hold."
    return f"{begin}have no task: {task_limits.why(run)}."


def _most_aborted(run: Run) -> str:
    rows = [line for line in run.conflicts["lines"] if line["aborts"]]
    if not rows:
        return ""
    worst = max(rows, key=lambda line: line["lost_cycles"])
    who = f"{short_name(worst['victim'])} and {short_name(worst['by'])}"
    return f", most of them by conflicts over {worst['symbol']} between {who}"


def _memory_of_tasks(run: Run, total: float) -> str:
    stats = run.stats
    classes = ("committed", "nonspeculative")
    working = sum(stats.total(f"chip.core_cycles.{c}") for c in classes)
    away = sum(stats.total(f"chip.core_cycles.{c}.{part}") for c in classes for part in _AWAY)
    if working and away / working >= MEMORY:
        return f"{percent(away / working)} of the cycles of useful tasks wait for memory beyond their tile."
    return (
        f"{percent(working / total)} of core cycles are of tasks that count; idle cores, aborted attempts, "
        f"full queues and spilling take less than {percent(NOTABLE)} each."
    )
