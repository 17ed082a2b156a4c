"""The counter-examples of docs/task-model.md: what happens is what the page says, on every engine, and what is expected
wrongly really fails where the page says so."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

SEEDS = range(1, 13)

# Possible results, and those that the serial engine must show over all SEEDS: both sides of the wrong expectation.
CASES = {
    "ties": ({5, 8}, {5, 8}),
    "untimestamped": ({0, 1, 2, 3}, {1, 2, 3}),
    "two_locales": (set(range(1, 401)), {400}),
    "spec_beside_mayspec": (set(range(1, 401)), {400}),
    "child_before_end": ({0, 1}, {1}),
    "group_of_children": ({0, 1}, {0, 1}),
    "group_too_soon": ({0, 1, 2}, {0, 2}),
    "priority": ({0, 1}, {0, 1}),
    "commit_order": (set(range(10)), set()),
}
ERRORS = {
    "earlier_child": r"task .*parent\(\) at timestamp 8 creates task .*child\(\) at timestamp 7: ",
    "nested_run": r"task .*wrong\(\) without a timestamp calls run\(\), ",
}


def happened(command: list[str | Path], **environment: str) -> int:
    done = subprocess.run(command, env=os.environ | environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"^happened: (\d+)$", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return int(found.group(1))


def expected_by(root: Path, name: str) -> int:
    """Result that the program's author is said to expect."""
    text = (root / "examples" / "task_model" / f"{name}.cpp").read_text()
    return int(re.search(r"expected: (\d+)\\n", text).group(1))


def test_every_counter_example_is_on_the_page_and_here(root: Path) -> None:
    page = (root / "docs" / "task-model.md").read_text()
    programs = {f.stem for f in (root / "examples" / "task_model").glob("*.cpp")}
    assert programs == CASES.keys() | ERRORS.keys()
    assert programs == set(re.findall(r"examples/task_model/(\w+)\.cpp\)", page))


@pytest.mark.parametrize("name", CASES)
def test_on_the_serial_engine_both_sides_are_seen(name: str, build: Path) -> None:
    allowed, seen = CASES[name]
    program = build / "bin" / f"task_model_{name}-serial"
    results = {happened([program], RUBATO_SEED=str(seed)) for seed in SEEDS}
    assert seen <= results <= allowed


@pytest.mark.parametrize("name", CASES)
def test_on_the_native_engine_it_is_one_of_what_the_page_says(name: str, build: Path) -> None:
    program = build / "bin" / f"task_model_{name}-native"
    for workers in ("1", "4"):
        assert happened([program], RUBATO_WORKERS=workers, RUBATO_OVERSUBSCRIBE="1") in CASES[name][0]


@pytest.mark.parametrize("name", CASES)
def test_on_the_chip_it_is_one_of_what_the_page_says(name: str, rubato_chip: Path, guests: Path) -> None:
    for cores in ("1", "16"):
        command = [rubato_chip, "--quiet", "--cores", cores, guests / f"task_model_{name}"]
        assert happened(command) in CASES[name][0]


@pytest.mark.parametrize("name", ["two_locales", "spec_beside_mayspec", "child_before_end"])
def test_where_tasks_run_at_once_the_expectation_fails(name: str, root: Path, rubato_chip: Path, guests: Path) -> None:
    """A single core is the counterpart. The chip is deterministic: this is no race."""
    one, many = (happened([rubato_chip, "--quiet", "--cores", cores, guests / f"task_model_{name}"])
                 for cores in ("1", "16"))
    assert one == expected_by(root, name) != many


@pytest.mark.parametrize(("name", "arguments"), [("two_locales", ["mayspec"]), ("spec_beside_mayspec", [])])
def test_speculative_tasks_need_no_locale_to_be_atomic(
    name: str, arguments: list[str], rubato_chip: Path, guests: Path
) -> None:
    command = [rubato_chip, "--quiet", "--cores", "16", "--set", "task.mayspec=spec", guests / f"task_model_{name}"]
    assert happened([*command, *arguments]) == 400


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_sentence_on_every_engine(name: str, build: Path, rubato_chip: Path, guests: Path) -> None:
    chip = [rubato_chip, "--quiet", "--cores", "4", guests / f"task_model_{name}"]
    for command in ([build / "bin" / f"task_model_{name}-serial"], [build / "bin" / f"task_model_{name}-native"], chip):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert re.search(ERRORS[name], done.stderr), done.stderr


def test_a_group_does_what_a_nested_run_was_meant_for(build: Path, rubato_chip: Path, guests: Path) -> None:
    program = build / "bin"
    assert happened([program / "task_model_nested_run-serial", "right"]) == 6
    assert happened([program / "task_model_nested_run-native", "right"]) == 6
    assert happened([rubato_chip, "--quiet", "--cores", "4", guests / "task_model_nested_run", "right"]) == 6
