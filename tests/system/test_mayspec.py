"""When MAYSPEC tasks speculate: not once they are the earliest (C13), nor where it gains nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: Runs (guest, its arguments..., options of the chip): what it prints, and its summary.
Chip = Callable[..., tuple[str, dict[str, Any]]]


@pytest.fixture
def chip(guests: Path, rubato_chip: Path, tmp_path: Path) -> Chip:
    def run(guest: str, *arguments: str, cores: int, warm: bool = False, **keys: object) -> tuple[str, dict[str, Any]]:
        settings = [s for key, value in keys.items() for s in ("--set", f"{key.replace('__', '.')}={value}")]
        settings += ["--warm"] if warm else []
        command = [rubato_chip, "--quiet", "--cores", str(cores), *settings, "--out", tmp_path]
        done = subprocess.run(
            [*command, guests / guest, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]
        return done.stdout, json.loads((tmp_path / "summary.json").read_text())

    return run


@pytest.mark.parametrize(("mode", "nonspeculative"), [("spec", 0), ("nonspec", 2), ("mayspec", 2)])
def test_a_task_that_becomes_the_earliest_speculates_no_more(mode: str, nonspeculative: int, chip: Chip) -> None:
    output, summary = chip("task_overlap", cores=256, task__mayspec=mode, run__check_replay="true")
    assert output.split() == [str(sum(range(3000))), str(sum(range(9000)))]
    assert summary["tasks"]["nonspeculative"] == nonspeculative
    # Only where both ran at once the longer one hides the shorter one.
    assert (summary["cycles"] > 70_000) == (mode == "nonspec")


def test_tasks_of_the_earliest_timestamp_go_first_where_they_are_plentiful(chip: Chip) -> None:
    graph = ("--generate", "band:8000:12:3000", "--unit-lengths")
    _, nonspec = chip("sssp", *graph, cores=16, warm=True, task__mayspec="nonspec")
    _, summary = chip("sssp", *graph, "--verify", cores=16, warm=True)
    tasks = summary["tasks"]
    assert tasks["spilled"] > 50_000
    # Few of 149,317 tasks speculate, at the ends of levels.
    assert 0 < tasks["committed"] - tasks["nonspeculative"] < 2000
    # 613 K and 620 K cycles; 642 K where only a full commit queue keeps tasks from speculating.
    assert summary["cycles"] < nonspec["cycles"]


def test_tiles_that_have_ended_a_timestamp_run_ahead_while_others_have_not(chip: Chip) -> None:
    """Each run is up to 6 % off with where the stack and the code lie: four graphs are compared."""
    cycles = {"spec": 0, "mayspec": 0}
    for seed in range(1, 5):
        for mode in cycles:
            _, summary = chip("sssp", "--generate", "rmat:12:16", "--seed", str(seed), cores=16, warm=True,
                              task__mayspec=mode)  # fmt: skip
            assert summary["tasks"]["spilled"] > 10_000
            cycles[mode] += summary["cycles"]
    # 6,069 K to 6,089 K cycles.
    assert 0.98 * cycles["mayspec"] < cycles["spec"]


def test_a_task_waits_for_one_that_aborts_it_again_and_again(chip: Chip) -> None:
    """Participants with many ratings keep a step going, and what the next one reads and writes."""
    ratings = ("--generate", "rmat:7:16", "--steps", "3")
    _, never = chip("cf", *ratings, "--verify", cores=64, warm=True, task__yield_aborts=0)
    _, yields = chip("cf", *ratings, "--verify", cores=64, warm=True, task__yield_aborts=16)
    assert 0 < yields["tasks"]["aborted"] < never["tasks"]["aborted"] / 3
    assert yields["cycles"] < 0.95 * never["cycles"]


@pytest.mark.parametrize("limit", [0, 16])
def test_who_waits_for_a_task_that_aborts_it_waits_for_no_other(limit: int, chip: Chip) -> None:
    output, summary = chip("task_yield", cores=64, task__yield_aborts=limit, run__check_replay="true",
                           task__throttle="none")
    assert output.split() == ["4000", "12003", "95992"]
    tasks = summary["tasks"]
    assert 8 <= tasks["aborted"] < 40 if limit else tasks["aborted"] > 800
    # 98,000, most of them of the four tasks that run one after another; 435,000 if the eight do so too.
    assert summary["cycles"] < 120_000
    assert tasks["nonspeculative"] == 4


@pytest.mark.parametrize("program", [("votes", "2000"), ("bank", "64", "1000")], ids=lambda words: words[0])
def test_where_tasks_fight_for_a_line_the_throttle_makes_mayspec_the_best_mode(
    program: tuple[str, ...], chip: Chip
) -> None:
    """`votes`: 106 K cycles and 6,500 aborts with the throttle, 211 K and 20,700 without, 402 K if none speculates."""
    _, free = chip(*program, cores=64, task__throttle="none")
    _, nonspec = chip(*program, cores=64, task__mayspec="nonspec")
    output, throttled = chip(*program, cores=64)
    assert output.endswith("check: passed\n")
    assert throttled["tasks"]["aborted"] < free["tasks"]["aborted"] / 2
    assert throttled["cycles"] < min(free["cycles"] / 1.5, nonspec["cycles"])


def test_a_table_of_one_entry_throttles_too_and_runs_have_a_serial_order(chip: Chip) -> None:
    """Both programs have one function, and no locales: one entry is all that they use."""
    _, many = chip("bank", "64", "1000", cores=64, run__check_replay="true")
    output, one = chip("bank", "64", "1000", cores=64, run__check_replay="true", task__throttle_entries=1)
    assert output.endswith("check: passed\n")
    assert (one["cycles"], one["tasks"]["aborted"]) == (many["cycles"], many["tasks"]["aborted"])


@pytest.mark.parametrize(("work", "cores"), [(400, 64), (100, 64), (10, 16)])
def test_the_throttle_gives_up_limits_under_which_tasks_commit_more_slowly(work: int, cores: int, chip: Chip) -> None:
    """653 K and 176 K cycles (400, 64 cores) where nothing asked whether tasks commit faster with limits."""
    _, free = chip("counters", str(work), cores=cores, task__throttle="none")
    output, summary = chip("counters", str(work), cores=cores)
    assert output == "check: passed\n"
    assert summary["tasks"]["aborted"] > 2 * summary["tasks"]["committed"]
    assert 0.85 * summary["cycles"] < free["cycles"]


@pytest.mark.parametrize(
    ("program", "cores", "best"),
    [
        ("rounds", 16, "nonspec"),
        ("ordered blocks", 16, "nonspec"),
        ("ordered boruvka", 64, "nonspec"),
        ("ordered list", 64, "nonspec"),
        ("ordered format", 64, "spec"),
        ("capsuled counter", 16, "nonspec"),
        ("capsuled nested", 64, "nonspec"),
        ("capsuled table", 16, "nonspec"),
    ],
)
def test_trials_cost_little_beside_the_mode_that_is_best(program: str, cores: int, best: str, chip: Chip) -> None:
    """Rows of `bench/speculation --rows learned` that reach their target."""
    _, better = chip(*program.split(), cores=cores, task__mayspec=best)
    output, mayspec = chip(*program.split(), cores=cores)
    assert output == "check: passed\n"
    assert 0.9 * mayspec["cycles"] < better["cycles"]


def test_rounds_that_abort_all_that_runs_ahead_stop_it(chip: Chip) -> None:
    """25.6 K cycles and 844 aborts where attempts went on, 10.4 K without any."""
    _, free = chip("rounds", cores=64, task__throttle="none")
    output, summary = chip("rounds", cores=64)
    assert output == "check: passed\n"
    assert summary["tasks"]["aborted"] < free["tasks"]["aborted"] / 3
    assert 1.4 * summary["cycles"] < free["cycles"]
    # The cycles that cores lost meanwhile are counted.
    assert 0 < summary["tasks"]["held_back"] < 64 * summary["cycles"]
