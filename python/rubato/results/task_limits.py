"""Why cores had no task: what limited how many tasks could run at a time, from samples of task regions.

A reason is only said if it explains most of the idle cores of enough samples. All others are left unnamed.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubato.names import plural, short_name

if TYPE_CHECKING:
    from rubato.results.run import Run

#: From this part of all idle cores on a reason is the reason.
MOST = 0.5
#: Fewer samples with idle cores say nothing.
LEAST_SAMPLES = 10
_UNNAMED = "there are not enough tasks that may run at a time"


@dataclass(frozen=True)
class Limit:
    """`share`: of the idle cores of all samples that this reason explains; `why` completes "no task: ..."."""

    kind: str
    share: float
    why: str


def limits(run: Run) -> list[Limit]:
    """The largest first. Empty if the run has no tasks, was not sampled, or its cores were hardly ever idle."""
    found = run.stats_document.get("parallelism")
    if not found or not found["idle"] or found["idle_samples"] < LEAST_SAMPLES:
        return []
    idle = found["idle"]
    rows = [*_locales(found, idle), *_waits(run, found["waiting"], idle), *_few(run, found, idle)]
    return sorted((row for row in rows if row.share > 0), key=lambda row: -row.share)


def why(run: Run) -> str:
    """The reason of most idle cores, or only that there are too few tasks."""
    found = limits(run)
    return found[0].why if found and found[0].share >= MOST else _UNNAMED


def _locales(found: dict[str, Any], idle: float) -> list[Limit]:
    locales = found["locales"]
    if not locales["rows"]:
        return []
    top = locales["rows"][0]
    function = short_name(top["function"])
    if top["idle"] >= MOST * locales["idle"]:
        why = f"tasks such as {function} wait for locale {top['locale']}, which one task has at a time"
        return [Limit("locale", top["idle"] / idle, why)]
    why = (f"tasks such as {function} wait for {plural(locales['count'], 'locale')}, each of which one task has at a "
           "time")  # fmt: skip
    return [Limit("locales", locales["idle"] / idle, why)]


def _waits(run: Run, waiting: dict[str, float], idle: float) -> list[Limit]:
    tasks = "a task" if run.summary.mode == "nonspec" else "a NONSPEC task"
    said = {
        "timestamp": f"{'without speculation ' if run.summary.mode == 'nonspec' else ''}{tasks} waits until all of "
                     "earlier timestamps have ended",
        "creator": "tasks wait until the tasks that created them have ended",
        "throttle": "task.throttle keeps MAYSPEC tasks from speculating",
        "promotion": "others stop while a task runs that cannot speculate",
        "system_call": "tasks wait in system calls",
        "core": "tasks that may run wait at tiles whose cores are busy",
    }  # fmt: skip
    return [Limit(kind, waiting.get(kind, 0) / idle, why) for kind, why in said.items()]


def _few(run: Run, found: dict[str, Any], idle: float) -> list[Limit]:
    """No task waits: the run takes as long as the tasks that run, and what they create."""
    few = {int(tasks): cores for tasks, cores in found["few"].items() if int(tasks)}
    unexplained = sum(few.values())
    if not unexplained:
        return []
    longest = found["tasks"]["rows"][0]
    if longest["idle"] >= MOST * unexplained:
        period = run.stats_document.get("profile", {}).get("cycles", 0)
        cycles = longest["samples"] * period
        part = cycles / run.summary.cycles if run.summary.cycles else 0
        why = (f"one task of {short_name(longest['function'])} runs for {100 * min(part, 1):.0f} % of the run, and too "
               "few others are there meanwhile")  # fmt: skip
        return [Limit("long task", longest["idle"] / idle, why)]
    functions: dict[str, float] = {}
    for row in found["tasks"]["rows"]:
        functions[row["function"]] = functions.get(row["function"], 0) + row["idle"]
    function = short_name(max(functions, key=functions.__getitem__))
    is_lone = few.get(1, 0) >= MOST * unexplained
    if is_lone and found["lone_samples"] >= LEAST_SAMPLES * found["lone_regions"] > 0:
        why = f"a chain of tasks, each created by the one before, is as long as the run, most of them of {function}"
        return [Limit("chain", few[1] / idle, why)]
    usual = max(few, key=few.__getitem__)
    why = f"few tasks are there at a time, most often {usual}, most of them of {function}"
    return [Limit("few", unexplained / idle, why)]
