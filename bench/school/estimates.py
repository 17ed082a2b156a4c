"""Estimates of the seconds that points take. Recorded points take as long as they took. Others take what the study
says, times the factor by which recorded points of their kind and size differ from it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import statistics
from collections.abc import Iterable

from rubato.results.publication import Record
from school.points import Measured, Point


def rounds_of(record: Record) -> int:
    """How often a measured point was run; a simulated one is run once."""
    return max((len(taken) for taken in record.samples.values()), default=1) or 1


class Estimates:
    def __init__(self, records: Iterable[Record], points: Iterable[Point]) -> None:
        by_identity = {point.identity: point for point in points}
        self._seconds: dict[str, list[float]] = {}  # of one run, by point
        factors: dict[tuple[str, str], list[float]] = {}
        for record in records:
            if record.seconds <= 0:
                continue
            seconds = record.seconds / rounds_of(record)
            self._seconds.setdefault(record.point, []).append(seconds)
            if (point := by_identity.get(record.point)) is not None and point.estimate > 0:
                factors.setdefault((record.kind, record.size), []).append(seconds / point.estimate)
        self._factors = {of: statistics.median(found) for of, found in factors.items()}

    def of(self, point: Point) -> float:
        """Seconds of one run of the point."""
        if (known := self._seconds.get(point.identity)) is not None:
            return statistics.mean(known)
        kind = "measured" if isinstance(point, Measured) else "simulated"
        return point.estimate * self._factors.get((kind, point.size), 1.0)
