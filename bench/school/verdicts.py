"""Verdicts: a published value beside ours. A bar is held against the worse end of our interval."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

from rubato.results.intervals import Interval
from rubato.results.publication import Verdict

#: Near is within this share of the published value.
NEAR = 0.3


@dataclass(frozen=True)
class Bar:
    """At least, at most, or both."""

    least: float | None = None
    most: float | None = None

    def is_met(self, low: float, high: float) -> bool:
        return (self.least is None or low >= self.least) and (self.most is None or high <= self.most)


def verdict(ours: Interval, bar: Bar, published: float | None) -> Verdict:
    """One sample has no interval: the bar is then held against the sample."""
    low = ours.mean if ours.low is None else ours.low
    high = ours.mean if ours.high is None else ours.high
    if bar.is_met(low, high):
        return "reproduced"
    if published is not None and abs(ours.mean - published) <= NEAR * abs(published):
        return "near"
    return "missed"
