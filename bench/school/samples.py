"""Recorded values of points: samples, their means, ratios of means. A row and a curve are computed from these alone."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rubato.results import intervals
from rubato.results.intervals import Interval
from rubato.results.measurements import ratio_of_pairs
from rubato.results.publication import Record
from school.points import Measured, Point


class Samples:
    """Records by point. Records of an earlier model count only where there are none of the present one, which `models`
    names."""

    def __init__(self, records: Iterable[Record], models: Collection[str]) -> None:
        self._by_point: dict[str, list[Record]] = {}
        for record in records:
            self._by_point.setdefault(record.point, []).append(record)
        for point, found in self._by_point.items():
            fresh = [r for r in found if r.kind == "measured" or r.model in models]
            self._by_point[point] = sorted(fresh or found, key=lambda r: r.seed)

    def has(self, *points: Point) -> bool:
        return all(point.identity in self._by_point for point in points)

    def values(self, point: Point, key: str = "cycles") -> list[float]:
        """A value a seed, or a round. A counter that a record does not name is zero."""
        found = self._by_point[point.identity]
        if isinstance(point, Measured):
            return found[-1].samples[key]
        return [record.values.get(key, 0.0) for record in found]

    def mean(self, point: Point, key: str = "cycles") -> float:
        values = self.values(point, key)
        return sum(values) / len(values)

    def interval(self, point: Point, key: str = "cycles", factor: float = 1.0) -> Interval:
        return intervals.interval([factor * value for value in self.values(point, key)])

    def ratio(self, above: Point, below: Point, key: str = "cycles", of: str = "") -> Interval:
        """value of `above` over value of `below`; of peers that took turns, the mean of the ratios of rounds."""
        first, second = self.values(above, key), self.values(below, of or key)
        if isinstance(above, Measured):
            return ratio_of_pairs(first, second)
        return intervals.ratio(first, second)

    def ratio_of_all(self, pairs: Sequence[tuple[Measured, Measured]], key: str) -> Interval:
        """The ratios of all rounds of several pairs that took turns, as those of one."""
        samples = [(a, b) for above, below in pairs
                   for a, b in zip(self.values(above, key), self.values(below, key), strict=True)]  # fmt: skip
        return ratio_of_pairs([a for a, _ in samples], [b for _, b in samples])

    def geometric_mean(self, pairs: Sequence[tuple[Point, Point]], key: str = "cycles") -> Interval:
        return intervals.geometric_mean([(self.values(a, key), self.values(b, key)) for a, b in pairs])
