"""The sentence that concludes names what limits how many tasks run at a time, on 4 cores and on 16.

planted/tasks.cpp has programs with one such limit each, and programs without. Their sources say which it is.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import rubato
from rubato.results.run import Run

LOCALE = r"tasks such as work wait for locale 7, which one task has at a time"
LOCALES = r"tasks such as work wait for 3 locales, each of which one task has at a time"
LONG = r"one task of huge runs for (9\d|100) % of the run, and too few others are there meanwhile"
ORDER = r"without speculation a task waits until all of earlier timestamps have ended"
CHAIN = (r"a chain of tasks, each created by the one before, is as long as the run, most of them of link")
ROUNDS = r"few tasks are there at a time, most often 1, most of them of work"
#: Situation: the sentence behind "no task:", by mode.
LIMITED = {
    "one_locale": (LOCALE, LOCALE),
    "long_task": (LONG, LONG),
    "chain": (CHAIN, CHAIN),
    "rounds": (ROUNDS, ROUNDS),
    "order_on_one_locale": (LOCALE, ORDER),
}
BUSY = ("many_locales", "long_task_beside_others", "balanced")


@pytest.fixture(scope="module")
def program(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiled = tmp_path_factory.mktemp("planted") / "tasks"
    subprocess.run(["riscv64-linux-gnu-g++", "-std=c++20", "-O2", "-static", "-pthread", f"-I{root / 'include'}",
                    root / "tests" / "system" / "planted" / "tasks.cpp", "-o", compiled],
                   check=True, capture_output=True)  # fmt: skip
    return compiled


def run(simulator: Path, program: Path, situation: str, cores: int, mode: str, *options: str) -> Run:
    out = program.parent / f"{situation}-{cores}-{mode}"
    command = [simulator, "--quiet", "--out", out, "--cores", str(cores), "--set", f"task.mayspec={mode}",
               "--max-cycles", "10000000", *options, program, situation]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = rubato.load(out)
    assert isinstance(found, Run)
    return found


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("mode", ["mayspec", "nonspec"])
@pytest.mark.parametrize("situation", LIMITED)
def test_the_sentence_names_the_limit(
    rubato_chip: Path, program: Path, situation: str, mode: str, cores: int
) -> None:
    found = run(rubato_chip, program, situation, cores, mode)
    says = LIMITED[situation][mode == "nonspec"]
    said = re.fullmatch(rf"(\d+) % of core cycles have no task: {says}\.", found.conclusion)
    assert said is not None, found.conclusion
    # A single task runs at a time, all other cores have none.
    assert int(said[1]) >= 100 - 100 // cores - 3
    assert found.limits[0].share >= 0.8


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("situation", BUSY)
def test_a_program_that_keeps_cores_busy_has_no_limit(
    rubato_chip: Path, program: Path, situation: str, cores: int
) -> None:
    found = run(rubato_chip, program, situation, cores, "mayspec")
    said = (
        r"\d+ % of core cycles are of tasks that count; idle cores, aborted attempts, "
        r"full queues and spilling take less than 20 % each\."
    )
    assert re.fullmatch(said, found.conclusion)


@pytest.mark.parametrize("cores", [4, 16])
def test_order_limits_only_without_speculation(rubato_chip: Path, program: Path, cores: int) -> None:
    strict = run(rubato_chip, program, "order", cores, "nonspec")
    assert re.fullmatch(rf"\d+ % of core cycles have no task: {ORDER}\.", strict.conclusion), strict.conclusion
    free = run(rubato_chip, program, "order", cores, "mayspec")
    assert "no task" not in free.conclusion


@pytest.mark.parametrize("cores", [4, 16])
def test_several_locales_are_counted(rubato_chip: Path, program: Path, cores: int) -> None:
    found = run(rubato_chip, program, "three_locales", cores, "mayspec")
    assert re.fullmatch(rf"\d+ % of core cycles have no task: {LOCALES}\.", found.conclusion), found.conclusion


def test_without_enough_samples_no_limit_is_named(rubato_chip: Path, program: Path) -> None:
    for options in (("--set", "run.profile_cycles=0"), ("--set", "run.profile_cycles=100000")):
        found = run(rubato_chip, program, "one_locale", 4, "mayspec", *options)
        assert found.limits == []
        assert found.conclusion.endswith("have no task: there are not enough tasks that may run at a time.")


def test_samples_change_no_result(rubato_chip: Path, program: Path) -> None:
    results = []
    for cycles in (0, 1000, 10000):
        found = run(rubato_chip, program, "one_locale", 4, "mayspec", "--set", f"run.profile_cycles={cycles}")
        document = found.stats_document
        results.append({key: value for key, value in document.items() if key not in ("profile", "parallelism")})
    assert results[0] == results[1] == results[2]


def test_reasons_are_shares_of_the_idle_cores(rubato_chip: Path, program: Path) -> None:
    for situation in ("three_locales", "long_task", "order"):
        found = run(rubato_chip, program, situation, 16, "nonspec").stats_document["parallelism"]
        explained = sum(found["waiting"].values()) + sum(found["few"].values()) + found["locales"]["idle"]
        assert explained == pytest.approx(found["idle"], abs=1)
