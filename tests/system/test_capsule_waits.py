"""Calls that wait in capsules of speculative tasks (P40, P50, P51): a task leaves its core with its attempt, others run
there, and whatever is aborted meanwhile, tracked and untracked memory agree in the end."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

CHIPS = {
    "2 cores": ["--cores", "2"],
    "4 cores": ["--cores", "4"],
    "4 cores, no look-ahead": ["--cores", "4", "--set", "run.lookahead_cycles=0"],
    "16 cores stalling": ["--cores", "16", "--set", "conflict.forwarding=stall"],
    "16 cores aborting": ["--cores", "16", "--set", "conflict.forwarding=abort"],
    "no worker to spare": ["--cores", "4", "--set", "task.spare_workers=0"],
    "one core a tile": ["--cores", "4", "--set", "chip.cores_per_tile=1", "--set", "task.spare_workers=16"],
    "small queues": ["--cores", "4", "--set", "task.task_queue=4", "--set", "task.commit_queue=1"],
    "few records": ["--cores", "4", "--set", "task.handler_records=64"],
}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def suspended(out: Path, what: str) -> int:
    """Sum of `suspended_attempts.WHAT` over all tiles, as the summary has it."""
    stats = json.loads((out / "stats.json").read_text())["run"]
    tiles = sum(n for name, n in stats.items() if re.fullmatch(rf"tile\..*\.suspended_attempts\.{what}", name))
    assert tiles == stats[f"tasks.suspended_attempts.{what}"]
    assert tiles == json.loads((out / "summary.json").read_text())["suspended_attempts"][what]
    return tiles


def test_attempts_that_wait_share_one_core(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    # The other core is a task's that waits for all of them, so none has committed when the last has slept.
    options = ["--quiet", "--cores", "2", "--set", "task.spare_workers=16", "--check-replay", "--out", tmp_path / "run"]
    done = run(rubato_chip, *options, guests / "sleeping_capsules", "overlap")
    assert (done.returncode, done.stdout) == (0, "slept 8, speculative 8, at once\n"), done.stderr[-2000:]
    assert suspended(tmp_path / "run", "count") == 8
    assert suspended(tmp_path / "run", "doomed") == 0
    # Twenty microseconds each, at 2 GHz; no core was theirs.
    cycles = suspended(tmp_path / "run", "cycles")
    assert 8 * 40_000 - 8 * 1000 < cycles < 8 * 40_000 + 8 * 4000
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())["run"]
    of_cores = sum(stats[f"chip.core_cycles.{c}"] for c in ("committed", "aborted", "stall"))
    assert of_cores < cycles / 10


@pytest.mark.parametrize("chip", CHIPS)
def test_what_tasks_did_before_and_after_they_waited_is_undone_together(
    chip: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    options = ["--quiet", *CHIPS[chip], "--check-replay", "--out", tmp_path / "run"]
    done = run(rubato_chip, *options, guests / "sleeping_capsules", "ledger")
    seen = "sum 40 and 80, other 120, taken 120\n"
    assert (done.returncode, done.stdout) == (0, seen), done.stderr[-2000:]
    assert suspended(tmp_path / "run", "doomed") > 0  # or it has shown nothing
    assert suspended(tmp_path / "run", "count") > suspended(tmp_path / "run", "doomed")


@pytest.mark.parametrize("chip", CHIPS)
def test_a_capsule_waits_for_what_a_later_task_writes(chip: str, guests: Path, rubato_chip: Path) -> None:
    # Without a worker to spare the later task has another core: with one a tile it is on another tile.
    done = run(rubato_chip, "--quiet", *CHIPS[chip], "--check-replay", guests / "sleeping_capsules", "pipe")
    assert (done.returncode, done.stdout) == (0, "bytes 7, text seven.., speculative 1\n"), done.stderr[-2000:]


#: What a capsule changes, and what read() gives a capsule that waits for it; poll() gives 1, POLLIN.
CHANGES = {"pipe": 1, "close": 0, "event": 8, "timer": 8, "socket": 1, "write": 16, "mode": 16, "direct": 16}


@pytest.mark.parametrize("how", ["read", "poll", "epoll"])
@pytest.mark.parametrize("what", CHANGES)
def test_a_capsule_s_call_ends_the_waits_of_others(
    what: str, how: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    expected = CHANGES[what] if how == "read" else 16 if what == "close" else 1
    command = [rubato_chip, "--quiet", "--cores", "2", guests / "waking_capsules", what, how]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, f"{what} {how}: {expected}, speculative\n"), done.stderr[-2000:]


def test_a_capsule_s_call_wakes_a_waiter_of_a_futex(guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", "--cores", "2", guests / "waking_capsules", "futex", "read")
    assert (done.returncode, done.stdout) == (0, "futex read: 0, speculative\n"), done.stderr[-2000:]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_task_that_waits_becomes_non_speculative_in_place(chip: str, guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", *CHIPS[chip], "--check-replay", guests / "sleeping_capsules", "place")
    assert (done.returncode, done.stdout) == (0, "begun 1, slept 1, speculative 0, sum 2\n"), done.stderr[-2000:]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_task_that_went_wrong_does_not_wait_for_ever(chip: str, guests: Path, rubato_chip: Path) -> None:
    # Tasks one after the other read nothing. The rest of an aborted attempt may read a value that no task ever writes.
    done = run(rubato_chip, "--quiet", *CHIPS[chip], "--check-replay", guests / "endless_waits", "wrong")
    assert (done.returncode, done.stdout) == (0, "sum 40, doomed some\n"), done.stderr[-2000:]


@pytest.mark.parametrize("chip", CHIPS)
def test_attempts_that_wait_leave_workers_to_earlier_tasks(chip: str, guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", *CHIPS[chip], "--check-replay", guests / "endless_waits", "readers")
    assert (done.returncode, done.stdout) == (0, "written 40, read 40\n"), done.stderr[-2000:]


@pytest.mark.parametrize("cores", [2, 4, 16])
def test_a_signal_of_the_process_is_not_lost_while_tasks_wait(cores: int, guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", "--cores", str(cores), guests / "endless_waits", "signal")
    assert (done.returncode, done.stdout) == (0, "slept 2, alarms 1\n"), done.stderr[-2000:]


def test_waiting_in_place_counts_as_waiting(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    options = ["--quiet", "--cores", "4", "--out", tmp_path / "run"]
    done = run(rubato_chip, *options, guests / "sleeping_capsules", "place")
    assert done.returncode == 0, done.stderr[-2000:]
    assert suspended(tmp_path / "run", "count") == 1
    assert 40_000 - 1000 < suspended(tmp_path / "run", "cycles") < 40_000 + 4000  # twenty microseconds


def test_two_runs_with_attempts_that_wait_are_the_same(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    for out in ("one", "two"):
        done = run(rubato_chip, "--quiet", "--cores", "4", "--seed", "7", "--out", tmp_path / out,
                   guests / "sleeping_capsules", "ledger")  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
    one, two = (json.loads((tmp_path / out / "stats.json").read_text())["run"] for out in ("one", "two"))
    assert {k: v for k, v in one.items() if "host" not in k} == {k: v for k, v in two.items() if "host" not in k}
