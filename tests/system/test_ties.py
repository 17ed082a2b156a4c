"""Ties: tasks that touch one word though nothing orders them. `--check-ties` of the chip and RUBATO_CHECKED with the
serial engine name them; neither complains of programs that are right."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

SERIAL = ["g++", "-std=c++20", "-O0", "-DRUBATO_CHECKED"]

# The counter-examples of docs/task-model.md whose tasks tie, and the data that they tie about.
TIES = {
    "two_locales": "counter",
    "spec_beside_mayspec": "counter",
    "untimestamped": "done",
    "child_before_end": "parent_has_ended",
    "group_of_children": "child_has_run",
}
RIGHT = ["ties", "commit_order", "priority"]  # apart by a locale, or nothing is shared


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", TIES)
def test_the_chip_names_both_tasks_and_the_word(rubato_chip: Path, guests: Path, name: str) -> None:
    done = run(rubato_chip, "--quiet", "--cores", "16", "--check-ties", guests / f"task_model_{name}")
    assert done.returncode == 1, done.stderr
    assert " are not ordered, and " in done.stderr
    assert f"({TIES[name]})" in done.stderr
    assert done.stderr.count("task ") >= 2


@pytest.mark.parametrize("program", [*(f"task_model_{name}" for name in RIGHT), "algorithms", "hello_task", "task_heap",
                                     "ordered_program", "phases", "capsule_counter", "containers"])
def test_the_chip_says_nothing_of_programs_that_are_right(rubato_chip: Path, guests: Path, program: str) -> None:
    for cores in ("3", "16"):
        done = run(rubato_chip, "--quiet", "--cores", cores, "--check-ties", guests / program)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", ["mayspec", "spec", "nonspec"])
@pytest.mark.parametrize("program", ["sssp --generate road:20x20", "bfs --generate rmat:7:8", "mis --generate rmat:6:8",
                                     "color --generate rmat:6:8", "astar --generate road:20x20", "des"])
def test_the_chip_says_nothing_of_applications(rubato_chip: Path, guests: Path, program: str, mode: str) -> None:
    name, *arguments = program.split()
    done = run(rubato_chip, "--quiet", "--cores", "8", "--check-ties", "--set", f"task.mayspec={mode}", guests / name,
               *arguments)
    assert done.returncode == 0, done.stderr


def test_a_check_changes_no_cycle(rubato_chip: Path, guests: Path) -> None:
    plain, checked = (json.loads(run(rubato_chip, "--json", "--cores", "16", *options, guests / "sssp", "--generate",
                                     "road:15x15").stdout) for options in ([], ["--check-ties"]))
    assert plain["cycles"] == checked["cycles"] > 0


def test_one_core_has_no_ties_to_find(rubato_chip: Path, guests: Path) -> None:
    done = run(rubato_chip, "--quiet", "--cores", "1", "--check-ties", guests / "hello_task")
    assert done.returncode == 2
    assert "take 2 or more" in done.stderr


@pytest.fixture(scope="module")
def checked(root: Path, build: Path, tmp_path_factory: pytest.TempPathFactory):
    """Compiles an example against the serial engine, checked, and runs it with a seed."""
    folder = tmp_path_factory.mktemp("checked")

    def call(source: Path, seed: int) -> subprocess.CompletedProcess[str]:
        program = folder / source.stem
        if not program.exists():
            library = build / "serial" / "librubato_serial.a"
            subprocess.run([*SERIAL, f"-I{root / 'include'}", source, library, "-o", program], check=True)
        return subprocess.run([program], env={"RUBATO_SEED": str(seed)}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)

    return call


@pytest.mark.parametrize("name", TIES)
def test_the_serial_engine_names_both_tasks_whatever_the_order(checked, root: Path, name: str) -> None:
    for seed in (1, 2, 3):
        done = checked(root / "examples" / "task_model" / f"{name}.cpp", seed)
        assert done.returncode != 0
        assert " are not ordered, and " in done.stderr


@pytest.mark.parametrize("source", [*(f"task_model/{name}" for name in RIGHT), "algorithms", "parallel_tree",
                                    "ordered_program"])
def test_the_serial_engine_says_nothing_of_programs_that_are_right(checked, root: Path, source: str) -> None:
    done = checked(root / "examples" / f"{source}.cpp", 1)
    assert done.returncode == 0, done.stderr
