"""Verification: recorded points, drawn by a seed, are simulated again. Their statistics must have the recorded hash."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import random
from dataclasses import dataclass, field

from rubato.errors import UsageError
from school.points import Simulated
from school.simulation import Outcome, Simulation, Task
from school.store import Store


@dataclass
class Verified:
    same: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    # Records that cannot be compared: of another model or program, or of a program that is not built.
    stale: int = 0
    unbuilt: int = 0

    @property
    def left_out(self) -> str:
        """What they are, in words; "" if there is none."""
        kinds = ((self.stale, "of another model or program"), (self.unbuilt, "of a program that is not built"))
        return " and ".join(f"{count} {'is' if count == 1 else 'are'} {kind}" for count, kind in kinds if count)


def verify(store: Store, points: list[Simulated], count: int, seed: int, jobs: int) -> Verified:
    """Runs `count` of the records of `points` again. @raises UsageError if none can be compared."""
    records, found = store.publication.records, Verified()
    tasks: list[Task] = []
    by_identity = {point.identity: point for point in points}
    for record in records.values():
        point = by_identity.get(record.point)
        if point is None or record.kind != "simulated":
            continue
        if not store.places.program(point).exists():
            found.unbuilt += 1
        elif store.state_of(record, point) == "stale":
            found.stale += 1
        else:
            tasks.append(Task(point, record.seed, record.seconds))
    if not tasks:
        raise UsageError(f"{store.study.name} has no recorded point that can be verified: "
                         f"{found.left_out or 'there is none'}.")  # fmt: skip
    tasks.sort(key=lambda task: task.point.of_seed(task.seed))
    tasks = random.Random(seed).sample(tasks, min(count, len(tasks)))

    def compare(outcome: Outcome) -> None:
        task = outcome.task
        name = f"{task.point.name}, seed {task.seed}"
        again, before = outcome.record, records[task.point.of_seed(task.seed)]
        if again is not None and again.stats == before.stats:
            found.same.append(name)
        else:
            found.different.append(name if again is not None else f"{name} ({outcome.reason})")

    Simulation(store.places, store.study.measures).run(tasks, jobs, compare)
    found.same.sort()  # they end in any order
    found.different.sort()
    return found
