"""The programs of docs/ordered-patterns.md: nested domains, reducers and commutative updates give on every engine, in
every mode, what the serial engine gives, and nothing in them is left to chance."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

PROGRAMS = ("nested_domains", "reducers", "commutative")
MODES = ("spec", "nonspec", "mayspec")


def output(command: list[str | Path], **environment: str) -> str:
    done = subprocess.run(command, env=os.environ | environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def serial(build: Path) -> dict[str, str]:
    return {name: output([build / "bin" / f"{name}-serial"], RUBATO_SEED="1") for name in PROGRAMS}


def cycles(rubato_chip: Path, out: Path, *words: str | Path) -> int:
    output([rubato_chip, "--quiet", "--out", out, *words])
    return json.loads((out / "summary.json").read_text())["cycles"]


def test_every_program_is_on_the_page(root: Path) -> None:
    page = (root / "docs/ordered-patterns.md").read_text()
    assert tuple(re.findall(r"^\|.*\(\.\./examples/(\w+)\.cpp\) \|$", page, re.MULTILINE)) == PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_order_that_the_serial_engine_may_choose_changes_the_result(
    name: str, serial: dict[str, str], build: Path
) -> None:
    assert serial[name].endswith("check: passed\n")
    for seed in range(2, 8):
        assert output([build / "bin" / f"{name}-serial"], RUBATO_SEED=str(seed)) == serial[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_this_machine_gives_what_the_serial_engine_gives(name: str, serial: dict[str, str], build: Path) -> None:
    for workers in ("1", "2", "4"):
        environment = {"RUBATO_WORKERS": workers, "RUBATO_OVERSUBSCRIBE": "1"}
        assert output([build / "bin" / f"{name}-native"], **environment) == serial[name]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cores", ["1", "16"])
def test_the_chip_gives_what_the_serial_engine_gives(
    name: str, mode: str, cores: str, serial: dict[str, str], rubato_chip: Path, guests: Path
) -> None:
    words = [rubato_chip, "--quiet", "--cores", cores, "--set", f"task.mayspec={mode}", guests / name]
    assert output(words) == serial[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_two_tasks_touch_a_word_without_an_order(name: str, rubato_chip: Path, guests: Path) -> None:
    output([rubato_chip, "--quiet", "--cores", "16", "--check-ties", guests / name])


def test_domains_overlap_where_tasks_may_speculate(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    """NONSPEC tasks of a search wait for the searches before it."""
    found = {mode: cycles(rubato_chip, tmp_path / mode, "--cores", "16", "--set", f"task.mayspec={mode}",
                          guests / "nested_domains") for mode in MODES}  # fmt: skip
    assert found["mayspec"] < 0.7 * found["nonspec"], found


def test_reducers_spare_the_conflicts_of_one_word(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    found = {}
    for way in ("word", "parts", "capsule"):
        out = tmp_path / way
        found[way] = cycles(rubato_chip, out, "--cores", "16", guests / "reducers", way)
        aborted = json.loads((out / "summary.json").read_text())["tasks"]["aborted"]
        assert (aborted > 0) == (way == "word"), (way, aborted)
    assert max(found["parts"], found["capsule"]) < 0.7 * found["word"], found
