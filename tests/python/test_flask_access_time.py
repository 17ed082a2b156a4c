"""The access time of the study of FLASK: what cores wait for memory, by all accesses."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from school.study import load

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def study():
    """The module that measures."""
    load("flask", ROOT / "bench/studies")
    return sys.modules["studies_flask"]


class Made(dict[str, float]):
    """Statistics made up: L1 misses and cycles of waiting, of a million accesses."""

    def __init__(self, misses: int, waited: int) -> None:
        waits = dict.fromkeys(("l1", "l2", "network", "memory"), 0) | {"llc": waited}
        super().__init__({f"chip.core_cycles.nonspeculative.{part}": cycles for part, cycles in waits.items()})
        self |= {"core.0.l1d.misses": misses, "core.0.l1d.hits": 700_000 - misses}
        self |= {"core.1.l1i.misses": 0, "core.1.l1i.hits": 300_000}

    def total(self, pattern: str) -> float:
        return sum(value for name, value in self.items() if fnmatch(name, pattern))


def test_it_rises_when_cores_wait_longer_for_more_and_shorter_misses(study) -> None:
    large, small = Made(misses=100_000, waited=10_000_000), Made(misses=150_000, waited=12_000_000)
    assert study.access_time(large) == 10.0
    assert study.access_time(small) / study.access_time(large) == pytest.approx(1.2)
