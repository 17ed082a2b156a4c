"""When MAYSPEC tasks speculate: not once they are the earliest (C13), nor where it gains nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize(("mode", "nonspeculative"), [("spec", 0), ("nonspec", 2), ("mayspec", 2)])
def test_a_task_that_becomes_the_earliest_speculates_no_more(
    mode: str, nonspeculative: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    settings = ["--set", f"task.mayspec={mode}", "--set", "run.check_replay=true"]
    command = [rubato_chip, "--quiet", "--cores", "256", *settings, "--out", tmp_path, guests / "task_overlap"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.split() == [str(sum(range(3000))), str(sum(range(9000)))]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["tasks"]["nonspeculative"] == nonspeculative
    # Only where both ran at once the longer one hides the shorter one.
    assert (summary["cycles"] > 70_000) == (mode == "nonspec")


def test_hardly_any_task_speculates_where_tasks_of_the_earliest_timestamp_are_plentiful(
    guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    settings = ["--quiet", "--warm", "--cores", "16", "--out", tmp_path]
    graph = ["--generate", "band:8000:12:3000", "--unit-lengths"]
    command = [rubato_chip, *settings, guests / "sssp", *graph, "--verify"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    tasks = json.loads((tmp_path / "summary.json").read_text())["tasks"]
    assert tasks["spilled"] > 50_000
    # Of 149,317; 936 where only a full commit queue keeps them from it. At the ends of levels they do.
    assert 0 < tasks["committed"] - tasks["nonspeculative"] < 500


def test_a_task_waits_for_one_that_aborts_it_again_and_again(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """Participants with many ratings keep a step going, and what the next one reads and writes."""
    cycles, aborted = {}, {}
    for limit in (0, 16):
        settings = ["--quiet", "--warm", "--cores", "64", "--set", f"task.yield_aborts={limit}"]
        ratings = ["--generate", "rmat:7:16", "--steps", "3"]
        command = [rubato_chip, *settings, "--out", tmp_path / str(limit), guests / "cf", *ratings, "--verify"]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]
        summary = json.loads((tmp_path / str(limit) / "summary.json").read_text())
        cycles[limit], aborted[limit] = summary["cycles"], summary["tasks"]["aborted"]
    assert 0 < aborted[16] < aborted[0] / 3
    assert cycles[16] < 0.95 * cycles[0]


@pytest.mark.parametrize("limit", [0, 16])
def test_who_waits_for_a_task_that_aborts_it_waits_for_no_other(
    limit: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    settings = ["--set", f"task.yield_aborts={limit}", "--set", "run.check_replay=true"]
    command = [rubato_chip, "--quiet", "--cores", "64", *settings, "--out", tmp_path, guests / "task_yield"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.split() == ["4000", "12003", "95992"]
    summary = json.loads((tmp_path / "summary.json").read_text())
    tasks = summary["tasks"]
    assert 8 <= tasks["aborted"] < 40 if limit else tasks["aborted"] > 800
    # 98,000, most of them of the four tasks that run one after another; 435,000 if the eight do so too.
    assert summary["cycles"] < 120_000
    assert tasks["nonspeculative"] == 4
