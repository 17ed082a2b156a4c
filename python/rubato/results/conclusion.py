"""One sentence that says why a run took as long as it did; docs/cli.md has the rules."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rubato.names import short_name
from rubato.results.summary import CYCLE_CLASSES
from rubato.results.threads import HARMLESS

if TYPE_CHECKING:
    from rubato.results.run import Run
    from rubato.results.threads import Wait

#: A share of the cycles from which on a reason is worth a sentence.
NOTABLE = 0.2
#: Beyond this share of running cycles it is memory that a program waits for.
MEMORY = 0.5
_AWAY = ("llc", "memory", "network")


def conclusion(run: Run) -> str:
    """Empty where a run has no cycles in detail."""
    if run.summary.engine != "chip":
        return ""
    committed = run.stats.get("tasks.committed", 0)
    return _of_tasks(run) if committed else _of_threads(run)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


# ---- programs with threads ----


def _of_threads(run: Run) -> str:
    threads = run.threads
    total = sum(thread.cycles - sum(thread.blocked.get(kind, 0) for kind in HARMLESS) for thread in threads)
    if not total:
        return ""
    reasons = [_waiting(run, total), _spinning(run), _ready(run, total), _idle(run)]
    share, sentence = max(reasons, key=lambda reason: reason[0])
    return sentence if share >= NOTABLE else _running(run)


def _waiting(run: Run, total: int) -> tuple[float, str]:
    costly = next((wait for wait in run.waits if wait.kind not in HARMLESS), None)
    if costly is None:
        return 0, ""
    share = costly.cycles / total
    return share, f"{_percent(share)} of the threads' cycles wait for the {_wait(costly)}."


def _wait(wait: Wait) -> str:
    text = f"{wait.kind} {wait.what}".rstrip() + f" in {wait.at}"
    most, cycles = wait.threads.most_common(1)[0]
    text += f", thread {most} longest" if cycles < wait.cycles else f", all of them in thread {most}"
    if wait.held_by:
        text += f"; thread {wait.held_by.most_common(1)[0][0]} held it most often"
    elif wait.kind != "lock" and any(wait.ended_by):
        text += f"; thread {max((t for t in wait.ended_by if t), key=wait.ended_by.__getitem__)} ended it most often"
    return text


def _spinning(run: Run) -> tuple[float, str]:
    by_kind: dict[str, float] = {}
    for hot in run.profile:
        if hot.spins_for:
            by_kind[hot.spins_for] = by_kind.get(hot.spins_for, 0) + hot.share
    if not by_kind:
        return 0, ""
    kind = max(by_kind, key=by_kind.__getitem__)
    place = next(hot.at for hot in run.profile if hot.spins_for == kind)
    text = f"{_percent(by_kind[kind])} of the time that cores run they are in a {kind}, most of it in {place}"
    # Who keeps the others waiting is the thread that does anything else most often.
    others = Counter[int]()
    for hot in run.profile:
        if not hot.spins_for:
            others.update(hot.threads)
    if others:
        busy = others.most_common(1)[0][0]
        where = max((hot for hot in run.profile if not hot.spins_for), key=lambda hot: hot.threads[busy])
        text += f"; meanwhile thread {busy} is most often in {where.at}"
    return by_kind[kind], text + "."


def _ready(run: Run, total: int) -> tuple[float, str]:
    share = sum(thread.ready for thread in run.threads) / total
    return share, (f"{_percent(share)} of the threads' cycles they could run and have no core: there are "
                   f"{len(run.threads)} threads on {run.summary.cores} cores.")  # fmt: skip


def _idle(run: Run) -> tuple[float, str]:
    """Only where no thread waits: else what they wait for is the reason."""
    cycles = run.stats.total("chip.core_cycles.idle")
    every = run.stats.get("chip.cycles", 0) * run.summary.cores
    working = sum(sum(thread.running.values()) for thread in run.threads)
    blocked = sum(sum(thread.blocked.values()) for thread in run.threads)
    if not every or len(run.threads) >= run.summary.cores or blocked > working:
        return 0, ""
    share = cycles / every
    count = len(run.threads)
    return share, (f"{_percent(share)} of core cycles have no thread: the program has "
                   f"{count} thread{'s' if count != 1 else ''} for {run.summary.cores} cores.")  # fmt: skip


def _running(run: Run) -> str:
    parts: dict[str, int] = {}
    for thread in run.threads:
        for part, cycles in thread.running.items():
            parts[part] = parts.get(part, 0) + cycles
    total = sum(parts.values())
    away = sum(parts.get(part, 0) for part in _AWAY) / total if total else 0
    where = f", most often in {run.profile[0].at} ({_percent(run.profile[0].share)} of samples)" if run.profile else ""
    if away >= MEMORY:
        return f"{_percent(away)} of the threads' running cycles wait for memory beyond their tile{where}."
    return f"Threads run {_percent(total / sum(t.cycles for t in run.threads))} of their cycles{where}."


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
    begin = f"{_percent(share)} of core cycles "
    if reason == "aborted":
        return f"{begin}were of attempts that aborted{_most_aborted(run)}."
    if reason == "stall":
        return f"{begin}tasks wait for room in a full queue (task.task_queue, task.commit_queue, task.send_buffer)."
    if reason == "spill":
        return f"{begin}go into spilling tasks to memory and reading them back: there are more than queues hold."
    why = "there are not enough tasks that may run at a time"
    if run.summary.mode == "nonspec" and stats.get("tasks.committed", 0):
        why = "without speculation a task waits until all of earlier timestamps have ended"
    return f"{begin}have no task: {why}."


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
        return f"{_percent(away / working)} of the cycles of useful tasks wait for memory beyond their tile."
    return f"{_percent(working / total)} of core cycles are of tasks that count: more cores would help."
