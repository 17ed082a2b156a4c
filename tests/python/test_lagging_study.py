"""The study of speculative lagging: what its points run, and what its rows make of samples."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from rubato.results.intervals import Interval
from rubato.results.publication import Record
from school import study
from school.points import Measured
from school.samples import Samples

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lagging() -> ModuleType:
    study.load("lagging", ROOT / "bench/studies")
    return sys.modules["studies_lagging"]


def samples_of(values: Mapping[Measured, Mapping[str, Sequence[float]]]) -> Samples:
    records = [
        Record(kind="measured", name=point.name, size=point.size, point=point.identity, values={},
               samples={key: list(taken) for key, taken in found.items()})
        for point, found in values.items()
    ]  # fmt: skip
    return Samples(records, ())


def test_peers_and_ours_get_the_same_sizes(lagging: ModuleType):
    for size in study.SIZES:
        for name in lagging.TITLES:
            for chosen in lagging.inputs(name, size):
                ours = lagging.in_turns(name, size, chosen, "on").command
                sets = [word for before, word in zip(ours, ours[1:], strict=False) if before == "--set"]
                assert sets == [f"{key}={value}" for key, value in chosen.items()]
                for theirs in lagging.pekko(name, size, chosen):
                    at = theirs.command.index(name)
                    assert theirs.command[at + 1 : at + 3] == ("8", "2") and theirs.needs == "Pekko"
                    assert theirs.command[at + 4 :] == tuple(str(value) for value in chosen.values())
    assert [c["n"] for c in lagging.inputs("pingpong", "full")] == [10_000, 20_000, 40_000]
    assert lagging.inputs("threadring", "quick") == [{"n": 10, "r": 1000}]
    assert lagging.inputs("fjthrput", "sampled")[2] == {"n": 10_000, "a": 60}


def test_configurations_differ_by_their_environment(lagging: ModuleType):
    chosen = lagging.inputs("pingpong", "quick")[0]
    plain = lagging.in_turns("pingpong", "quick", chosen, "off")
    dear = lagging.in_turns("pingpong", "quick", chosen, "on", True)
    assert dict(plain.environment) == {"RUBATO_WORKERS": "2", "RUBATO_LAG": "off"}
    assert dict(dear.environment) == {"RUBATO_WORKERS": "2", "RUBATO_LAG": "on", "RUBATO_ACTOR_SWITCH": "1500",
                                      "RUBATO_LAG_TURN_SWITCH": "1.5"}  # fmt: skip
    of_lags = dict(lagging.in_turns("pingpong", "quick", chosen, "off", True).environment)
    assert "RUBATO_LAG_TURN_SWITCH" not in of_lags and of_lags["RUBATO_ACTOR_SWITCH"] == "1500"
    assert plain.family == dear.family == lagging.pekko("pingpong", "quick", chosen)[0].family, "they take turns"


def test_all_that_is_timed_needs_a_processor_a_worker(lagging: ModuleType):
    points = [point for size in study.SIZES for figure in lagging.figures(size) for point in figure.points]
    assert {(point.name, point.processors) for point in points if point.processors != 2} == {
        ("numbers of the analysis", 1)}  # fmt: skip


def test_c_in_spins_is_a_share_of_the_dear_switch(lagging: ModuleType):
    points = lagging.by_switch("ring", 2, "full")
    given = {spins: dict(point.environment) for spins, point in points.items()}
    # 1.5 us are 2,048 spins.
    assert given[2048]["RUBATO_LAG_TURN_SWITCH"] == "1.5" and given[128]["RUBATO_LAG_TURN_SWITCH"] == "0.09375"
    assert given[0]["RUBATO_LAG_LEVELS"] == "workers"
    measured = lagging.with_measured_switch("ring", 2, "full")
    assert {point.family for point in points.values()} == {measured.family}
    assert dict(measured.environment)["RUBATO_LAG_TURN_SWITCH"] == "0", "the engine measures it"
    rates = lagging.by_rate("fib", "full", "published", False)
    assert dict(rates[0.2].environment)["RUBATO_LAG_PHI0"] == "0.002"


def test_consumers_and_rings_are_those_of_the_publication(lagging: ModuleType):
    consumers = lagging.by_actors("consumers", "full", "on", True)
    assert list(consumers) == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert consumers[128].command == ("{build}/bin/bench_actor_lag", "consumers", "128", "3200000")
    assert lagging.by_actors("ring", "full", "off", False)[8].command[1:] == ("ring", "8", "100000")


def test_theorem_3_predicts_the_gain(lagging: ModuleType):
    # A message takes 3 us, of which 1 is the switch: eta 2. Nine of ten waits find something, after .1 us each.
    assert lagging.predicted(3, 1, 0.9, 0.1) == pytest.approx(3 / 2.2)
    assert lagging.predicted(3, 1, 0, 0) == 1, "nothing waits, nothing is gained"
    assert lagging.predicted(3, 0, 0, 0) == 1, "a switch whose cost is not known"


def test_the_worst_interval_is_the_one_that_misses_the_bar_first(lagging: ModuleType):
    wide, narrow, single = Interval(3, 1, 9, 3), Interval(2, 1.9, 2.1, 3), Interval(1.5, None, None, 1)
    assert lagging.worst([narrow, wide, single], is_low=True) == wide
    assert lagging.worst([narrow, wide, single], is_low=False) == wide
    assert lagging.worst([narrow, single], is_low=True) == single


def test_pekko_counts_with_its_faster_setting_at_the_size_where_it_is_best(lagging: ModuleType):
    taken = {}
    # Its settings by size, over 1: 3 or 4, 2 or 5, 6 or 2.5.
    for chosen, (five, fifty) in zip(lagging.inputs("count", "full"), ((3, 4), (2, 5), (6, 2.5)), strict=True):
        taken[lagging.in_turns("count", "full", chosen, "on")] = {"iterations": [1, 1]}
        for point, seconds in zip(lagging.pekko("count", "full", chosen), (five, fifty), strict=True):
            taken[point] = {"iterations": [seconds, seconds]}
    row = lagging.over_pekko("count", "full")
    assert set(row.points) == set(taken)
    assert row.value(samples_of(taken)) == pytest.approx((2, 2, 2, 2)) and row.bar.least == 2
    assert lagging.over_pekko("pingpong", "full").bar.least == 2.1 and lagging.over_pekko("big", "full").bar.least == 1


def test_on_over_off_counts_the_rounds_of_all_sizes(lagging: ModuleType):
    taken = {}
    for chosen, factor in zip(lagging.inputs("fib", "full"), (1, 2, 4), strict=True):
        taken[lagging.in_turns("fib", "full", chosen, "off", True)] = {"iterations": [1, 10]}
        taken[lagging.in_turns("fib", "full", chosen, "on", True)] = {"iterations": [factor, 10 * factor]}
    row = lagging.harmless("dear", "fib", "full", True)
    found = row.value(samples_of(taken))
    assert row.key == "dear-fib" and found.mean == pytest.approx(2) and found.samples == 6 and row.bar.most == 1.01


def test_times_converge_if_the_slowest_of_larger_c_is_near_the_fastest(lagging: ModuleType):
    us = {0: 9, 128: 8, 256: 7, 512: 3.3, 1024: 3, 2048: 3.1, 4096: 3.2}
    points = lagging.by_switch("ring", 2, "full")
    found = samples_of({points[spins]: {"us_a_message": [value] * 2} for spins, value in us.items()})
    row = lagging.converged("converged-pingpong", "ring", 2, "full")
    assert row.value(found).mean == pytest.approx(1.1), "3.3 from 512 on"


def test_the_consumers_with_the_least_gain_are_named(lagging: ModuleType):
    off, on = (lagging.by_actors("consumers", "full", mode, True) for mode in ("off", "on"))
    taken = {point: {"us_a_message": [2.0]} for point in off.values()}
    taken |= {point: {"us_a_message": [1.9 if n == 2 else 0.5]} for n, point in on.items()}
    assert lagging.least_gain("full").value(samples_of(taken)).mean == 2


def test_a_gain_is_held_against_the_prediction_of_its_round(lagging: ModuleType):
    off, on = (lagging.by_switch("ring", 2, "full")[spins] for spins in (0, 2048))
    lags = {"switch_us": [1, 1], "hit_share": [0.9, 0.9], "lag_us": [0.1, 0.1]}
    taken = {off: {"us_a_message": [3, 3]}, on: {"us_a_message": [2, 2], **lags}}
    row = lagging.theorem("theorem-pingpong", "ring", 2, "full")
    assert row.value(samples_of(taken)).mean == pytest.approx(1.5 / (3 / 2.2)) and row.bar.least == 0.85
