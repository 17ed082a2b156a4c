"""The measures of the study of FLASK: what cores wait for memory, requests that memory served, multicasts."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from rubato.results.run import Stats
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


def stats(**values: object) -> Stats:
    """Statistics of a run: `__` in a name is a dot."""
    return Stats({"run": {name.replace("__", "."): value for name, value in values.items()}}, "run")


def histogram(samples: int, mean: int) -> dict[str, object]:
    return {"buckets": [samples], "samples": samples, "sum": samples * mean}


def test_the_latency_of_memory_is_the_mean_over_the_requests_of_all_homes(study) -> None:
    found = stats(tile__0__llc__latency_memory=histogram(1, 100), tile__1__llc__latency_memory=histogram(3, 300),
                  tile__0__llc__latency=histogram(1000, 20))  # fmt: skip
    assert study.memory_latency(found) == 250
    assert study.memory_latency(stats(tile__0__llc__latency_memory=histogram(0, 0))) == 0


def test_flask_multicasts_its_probes_and_tokenb_every_request_and_every_retry(study) -> None:
    served = {"tile__0__llc__latency": histogram(100, 20), "tile__1__llc__latency_other_tile": histogram(30, 50),
              "tile__1__llc__latency_memory": histogram(5, 200)}  # fmt: skip
    assert study.multicasts(stats(**served, tile__0__directory__probes=7, tile__1__directory__probes=2)) == 9
    retried = {"tile__0__requests__retries": 4, "tile__1__requests__retries": 0, "tile__0__requests__persistent": 1}
    assert study.multicasts(stats(**served, **retried)) == 100 + 30 + 5 + 4 + 1


def test_servers_have_the_large_directory_of_the_best_split(study) -> None:
    split = study.BestSplit(10)
    for program, ways in (("oltp", "7"), ("mg", "1"), ("hmm", "1")):
        settings = dict(split.on(program, "sampled").settings)
        assert settings["coherence.directory_ways"] == ways
        assert settings["coherence.capacity"] == "0.1"
