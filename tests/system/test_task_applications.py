"""Applications without a graph on the chip: their own check and the replay pass on 1 to 64 cores, for every type of
task, no two tasks are tied, and the chip prints what the serial engine prints."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

#: A small input of each, which takes about a second on the chip.
INPUTS = {
    "kmeans": ["--points", "200", "--centres", "8", "--dimensions", "8", "--iterations", "2"],
    "genome": ["--gene", "128", "--segment", "16", "--segments", "400"],
    "silo": ["--items", "100", "--customers", "10", "--transactions", "30"],
    "nocsim": ["--width", "4", "--height", "3", "--cycles", "60", "--load", "30", "--traffic", "uniform"],
}
#: What each refuses, and a part of the sentence.
REFUSED = {
    "kmeans": (["--points", "5", "--centres", "6"], "kmeans: --centres 6: at most as many as points, 5, were expected"),
    "genome": (
        ["--gene", "20", "--segment", "21"],
        "genome: --segment 21: at most as long as the gene, 20, was expected",
    ),
}


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def on_chip(rubato_chip: Path, guest: Path, cores: int, options: list[str], arguments: list[str]) -> str:
    done = run([rubato_chip, "--quiet", "--cores", str(cores), *options, guest, *arguments])
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("cores", [1, 4, 16, 64])
@pytest.mark.parametrize("application", INPUTS)
def test_the_check_passes_on_the_chip(
    application: str, cores: int, rubato_chip: Path, guests: Path, build: Path
) -> None:
    expected = run([build / "bin" / f"{application}-serial", *INPUTS[application], "--verify"]).stdout
    assert expected.endswith("check: passed\n")
    for task_type in ["mayspec", "nonspec", "spec"]:
        arguments = [*INPUTS[application], "--type", task_type, "--verify"]
        assert on_chip(rubato_chip, guests / application, cores, ["--check-replay"], arguments) == expected


@pytest.mark.parametrize("task_type", ["mayspec", "nonspec", "spec"])
@pytest.mark.parametrize("application", INPUTS)
def test_no_two_tasks_are_tied(application: str, task_type: str, rubato_chip: Path, guests: Path) -> None:
    arguments = [*INPUTS[application], "--type", task_type, "--verify"]
    assert "check: passed" in on_chip(rubato_chip, guests / application, 8, ["--check-ties"], arguments)


@pytest.mark.parametrize("application", REFUSED)
def test_sizes_that_do_not_fit_are_refused_in_one_sentence(application: str, build: Path) -> None:
    arguments, sentence = REFUSED[application]
    done = run([build / "bin" / f"{application}-serial", *arguments])
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{sentence}\n")


@pytest.mark.parametrize("application", ["genome", "silo", "nocsim"])
@pytest.mark.parametrize("alloc", ["capsules", "plain", "libc"])
def test_every_allocator_serves_its_tasks(application: str, alloc: str, rubato_chip: Path, guests: Path) -> None:
    options = {"capsules": [], "plain": ["--set", "task.capsules=false"], "libc": []}[alloc]
    guest = guests / (f"{application}-libc" if alloc == "libc" else application)
    arguments = [*INPUTS[application], "--type", "spec", "--verify"]
    assert "check: passed" in on_chip(rubato_chip, guest, 4, [*options, "--check-replay"], arguments)
