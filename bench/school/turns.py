"""Measured points: commands of this machine whose peers take turns, in another order each round. So a slow minute of
the machine hits all of a family. A family is recorded when all its rounds are done, or not at all."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable

from harness.programs import output_of
from rubato.errors import UsageError
from rubato.results import measurements
from rubato.results.publication import Record
from school.points import Measured
from school.store import Places


def take(point: Measured, places: Places) -> dict[str, float]:
    """A sample. @raises UsageError if the command fails, or prints no such value."""
    command = [word.format(build=places.build, root=places.root) for word in point.command]
    printed = output_of(command, environment=os.environ | dict(point.environment), name=point.name)
    try:
        found = json.loads(printed)
        return {key: _number(found[key]) for key in point.values}
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{point.name}: {command[0]} prints no JSON object with {', '.join(point.values)}.") from None


def _number(value: object) -> float:
    """A list is of iterations: the median of the last five, when the program is warm."""
    return statistics.median(value[-5:]) if isinstance(value, list) else float(value)  # type: ignore[arg-type]


def measure(family: list[Measured], rounds: int, places: Places, on_sample: Callable[[Measured, int], None],
            deadline: float | None = None) -> list[Record] | None:  # fmt: skip
    """The family's records; None if the deadline came before the last round was done."""
    begun = time.monotonic()
    samples: dict[str, dict[str, list[float]]] = {p.identity: {key: [] for key in p.values} for p in family}
    for round_, point in measurements.turns(family, rounds):
        if deadline is not None and time.monotonic() > deadline:
            return None
        for key, value in take(point, places).items():
            samples[point.identity][key].append(value)
        on_sample(point, round_)
    seconds = round((time.monotonic() - begun) / len(family), 2)
    return [
        Record(kind="measured", name=point.name, size=point.size, point=point.identity,
               values={key: statistics.median(taken) for key, taken in samples[point.identity].items()},
               samples=samples[point.identity], seconds=seconds, machine=measurements.machine())
        for point in family
    ]  # fmt: skip
