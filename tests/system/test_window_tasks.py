"""Task programs on cores with a window (docs/window-core.md): each gives the result of a serial execution, whatever the
type of its tasks, and the replay finds nothing."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from random_programs import Programs, failures

WINDOW = ["core.model=window"]
#: Hardly any window: each queue is full, and instructions wait for each other.
NARROW = ["core.model=window", "core.width=2", "core.rob=7", "core.load_buffer=2", "core.store_buffer=1"]

#: Applications with a small input of each.
INPUTS = {
    "sssp": ["--generate", "road:12x12"],
    "bfs": ["--generate", "rmat:7:8"],
    "mis": ["--generate", "rmat:7:8"],
    "color": ["--generate", "rmat:7:8"],
    "triangle": ["--generate", "rmat:7:8"],
    "cf": ["--generate", "rmat:4:4"],
    "astar": ["--generate", "road:12x12"],
    "des": ["--generate", "csa:4", "--vectors", "2"],
    "kmeans": ["--points", "60", "--centres", "4", "--dimensions", "4", "--iterations", "2"],
    "genome": ["--gene", "64", "--segment", "16", "--segments", "100"],
    "silo": ["--items", "100", "--customers", "10", "--transactions", "20"],
    "nocsim": ["--width", "3", "--height", "2", "--cycles", "30", "--load", "30", "--traffic", "uniform"],
}


def run(simulator: Path, settings: list[str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    options = [word for setting in settings for word in ("--set", setting)]
    command = [simulator, "--quiet", *options, *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def of_cores(application: str, cores: int) -> object:
    return pytest.param(application, cores, marks=() if cores == 4 else pytest.mark.long)


@pytest.mark.parametrize(("application", "cores"), [of_cores(a, c) for a in INPUTS for c in (1, 4, 16)])
def test_the_check_passes_and_the_replay_finds_nothing(
    application: str, cores: int, guests: Path, rubato_chip: Path
) -> None:
    words = [guests / application, *INPUTS[application], "--verify"]
    for kind in ("spec", "mayspec", "nonspec"):
        for window in (WINDOW, NARROW):
            machine = [f"chip.cores={cores}", *window, "run.check_replay=true"]
            done = run(rubato_chip, machine, *words, "--type", kind)
            assert done.returncode == 0, done.stderr[-2000:]
            assert "check: passed" in done.stdout


@pytest.mark.parametrize(
    "first", [pytest.param(f, marks=() if f == 1 else pytest.mark.long) for f in range(1, 401, 10)]
)
def test_every_run_has_a_serial_order(first: int, build: Path) -> None:
    found = failures(range(first, first + 10), Programs.of(build, "window"))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("variant", ["capsule", "promote", "memory"])
def test_capsules_keep_the_tuples(variant: str, guests: Path, rubato_chip: Path) -> None:
    words = ["--queries", "100", "--tuples", "60", "--frames", "40", "--free", "8", "--writes", "50", "--verify"]
    for window in (WINDOW, NARROW):
        done = run(rubato_chip, ["chip.cores=4", *window], guests / "kvstore", *words, "--variant", variant)
        assert done.returncode == 0, done.stderr[-2000:]
        assert "check: passed" in done.stdout


def test_two_runs_are_the_same(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        settings = ["chip.cores=16", *WINDOW, "task.mayspec=spec"]
        words = ["--out", tmp_path / name, guests / "sssp", "--generate", "rmat:7:8", "--verify"]
        assert run(rubato_chip, settings, *words).returncode == 0
        found.append((tmp_path / name / "stats.json").read_bytes())
    assert found[0] == found[1]
    assert json.loads(found[0])["run"]["tasks.aborted"] > 0, "speculation went wrong, or the run shows little"
