"""Measurements on this machine: samples that were taken in turns, ratios of pairs, and bars that are held against them.

`bench/native` and `bench/native_activity` take them and write FILE; `rubato report` draws it. Invariant: FILE is always
whole, and sample i of every configuration of a family was taken in round i, so that a slow minute of the machine hits
all.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from rubato.errors import UsageError
from rubato.files import write_whole
from rubato.names import plural
from rubato.process.machine import cpu_name, processors
from rubato.results.intervals import Interval, interval, median_interval

FILE = "measurements.json"

_T = TypeVar("_T")


class Verdict(BaseModel):
    """One row of a table: a ratio or a value with its 95 % interval, and the bar that its worse end is held against."""

    model_config = ConfigDict(extra="forbid")

    name: str
    title: str
    unit: str = ""
    mean: float
    low: float | None
    high: float | None
    samples: int
    bar: float | None = None
    at_least: bool = True

    @property
    def worse_end(self) -> float | None:
        """None where one sample has no interval."""
        return self.low if self.at_least else self.high

    @property
    def is_met(self) -> bool | None:
        """None where there is no bar, or no interval to hold against it."""
        if self.bar is None or self.worse_end is None:
            return None
        return self.worse_end >= self.bar if self.at_least else self.worse_end <= self.bar

    @property
    def judgement(self) -> str:
        """met, missed, or undecided while the bar lies within the interval; empty where there is no bar."""
        if self.bar is None:
            return ""
        if self.low is None or self.high is None or self.low <= self.bar <= self.high:
            return "met" if self.is_met else "undecided"
        return "met" if self.is_met else "missed"


class Group(BaseModel):
    """A figure: bars of one unit."""

    model_config = ConfigDict(extra="forbid")

    title: str
    unit: str
    bars: list[Verdict]


class Stack(BaseModel):
    """A bar made of parts, in the order in which they are stacked."""

    model_config = ConfigDict(extra="forbid")

    name: str
    title: str
    parts: list[Verdict]


class Breakdown(BaseModel):
    """A figure: bars of one unit, and what each is made of."""

    model_config = ConfigDict(extra="forbid")

    title: str
    unit: str
    stacks: list[Stack]


class Results(BaseModel):
    """What a measurement left: where and of what, samples by configuration, and what follows from them."""

    model_config = ConfigDict(extra="forbid")

    format: int = 1
    title: str
    machine: str
    quick: bool = False
    made_with: dict[str, str] = {}
    samples: dict[str, list[float | None]] = {}  # by round; None: not taken in that one
    rows: list[Verdict] = []
    groups: list[Group] = []
    breakdowns: list[Breakdown] = []

    def save(self, directory: Path) -> None:
        write_whole(directory / FILE, self.model_dump_json(indent=1))


def machine() -> str:
    """What results of this machine are compared by."""
    return f"{cpu_name()}, {plural(processors(), 'core')}"


def turn(members: Iterable[_T], round_: int) -> list[_T]:
    """The members in the order of this round: another one each, the same in every call."""
    order = list(members)
    random.Random(round_).shuffle(order)
    return order


def turns(members: Sequence[_T], rounds: int) -> Iterator[tuple[int, _T]]:
    """Each member once a round: (round, member)."""
    for round_ in range(rounds):
        yield from ((round_, member) for member in turn(members, round_))


def taken(samples: Iterable[float | None]) -> list[float]:
    return [s for s in samples if s is not None]


def load(directory: Path) -> Results:
    """@raises UsageError if there is none, or it is not one."""
    file = directory / FILE
    try:
        return Results(**json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{directory} has no {FILE}.") from None
    except (OSError, ValueError) as e:
        raise UsageError(f"{file} cannot be read: {e}.") from None


def pairs_of(first: Iterable[float | None], second: Iterable[float | None]) -> list[tuple[float, float]]:
    """What was taken of both in one round."""
    rounds = zip(first, second)  # noqa: B905 - an unfinished round
    return [(a, b) for a, b in rounds if a is not None and b is not None]


def ratio_of_pairs(numerators: Sequence[float | None], denominators: Sequence[float | None]) -> Interval:
    """The geometric mean of the ratios of pairs, with the 95 % interval of the mean of their logarithms (Student's t).
    All positive; sample i of both was taken in one round. @raises ValueError if there is no pair."""
    i = interval([math.log(a / b) for a, b in pairs_of(numerators, denominators)])
    ends = [None if end is None else math.exp(end) for end in (i.low, i.high)]
    return Interval(math.exp(i.mean), ends[0], ends[1], i.samples)


def median_of_pairs(numerators: Sequence[float | None], denominators: Sequence[float | None]) -> Interval:
    """The median of the ratios of pairs with its 95 % interval. Few pairs that were disturbed do not move it.
    @raises ValueError if there is no pair."""
    return median_interval([a / b for a, b in pairs_of(numerators, denominators)])


def verdict(name: str, title: str, i: Interval, **more: Any) -> Verdict:
    return Verdict(name=name, title=title, mean=i.mean, low=i.low, high=i.high, samples=i.samples, **more)
