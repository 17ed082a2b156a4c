"""`rubato run APP --engine serial`: the reference, one thread, an order that the seed chooses."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROAD = ["--", "--generate", "road:20x20"]


@pytest.fixture
def rubato(root: Path, build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Calls the command in a folder of the test's own. @returns exit code, standard output, standard error."""
    home = tmp_path / "home"
    home.mkdir()
    for name, target in {"bin": build / "bin", "guest": build / "guest", "apps": root / "apps",
                         "configs": root / "configs"}.items():
        (home / name).symlink_to(target)
    monkeypatch.setenv("RUBATO_HOME", str(home))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        done = subprocess.run([sys.executable, "-m", "rubato", *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return call


def test_an_application_runs_is_checked_repeated_and_reported(rubato) -> None:
    code, out, err = rubato("run", "sssp", "--engine", "serial", "--seed", "3", "--out", "r", "--json", *ROAD)
    assert code == 0, err
    summary = json.loads(out)
    assert (summary["engine"], summary["cores"], summary["seed"], summary["check"]) == ("serial", 1, 3, "passed")
    assert summary["tasks"]["created"] == summary["tasks"]["committed"] > 400
    assert summary["seconds"] > 0 and summary["host"]["peak_mb"] > 0 and summary["cycles"] is None
    code, out, _ = rubato("repeat", "r", "--out", "again")
    assert code == 0 and "sssp-serial on the serial engine, seed 3\n" in out
    again = json.loads(Path("again/summary.json").read_text())
    assert again["tasks"] == summary["tasks"] and again["seed"] == 3
    assert rubato("report", "r", "--out", "r.html")[0] == 0
    assert "(serial)" in Path("r.html").read_text()


def test_the_seed_chooses_the_order_of_ties(rubato, build: Path) -> None:
    results = set()
    for seed in range(1, 9):
        options = ["--engine", "serial", "--seed", str(seed), "--out", f"s{seed}"]
        code, _, err = rubato("run", build / "bin" / "task_model_ties-serial", *options)
        assert code == 0, err
        results.add(Path(f"s{seed}/output.txt").read_text())
        assert json.loads(Path(f"s{seed}/summary.json").read_text())["seed"] == seed
    assert results == {"expected: 5\nhappened: 5\n", "expected: 5\nhappened: 8\n"}


def test_serial_code_is_measured_as_such(rubato) -> None:
    code, out, err = rubato("run", "sssp", "--engine", "serial", "--json", *ROAD, "--serial")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["mode"] == "serial" and summary["seconds"] > 0 and summary["tasks"]["created"] == 0


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["sssp", "--cores", "4"], "the serial engine is one thread; leave --cores 4 out."),
        (["sssp", "--trace"], "the serial engine writes no trace; leave out --trace."),
        (["sssp", "--oversubscribe"], "--oversubscribe is for the native engine (--engine native)."),
        (["sssp", "--set", "l2.size=1MiB"], "--set is for the simulated chip; leave it out with --engine serial."),
        (["/bin/true"], "true is not a program of the serial engine: it wrote no counters."),
    ],
)
def test_what_it_cannot_do_is_said(rubato, arguments: list[str], sentence: str) -> None:
    code, _, err = rubato("run", "--engine", "serial", *arguments)
    assert code == 2
    assert err.splitlines()[-1] == f"rubato: {sentence}"


def test_a_seed_that_is_no_number_is_wrong_usage(rubato, build: Path) -> None:
    program = build / "bin" / "task_model_ties-serial"
    code, _, err = rubato("run", program, "--engine", "serial", "--env", "RUBATO_SEED=x")
    assert code == 2
    assert err.splitlines()[-1] == "rubato: RUBATO_SEED is 'x', but a number from 0 to 2^64 - 1 was expected"


def test_a_failed_task_says_which_seed_repeats_it(rubato, build: Path) -> None:
    program = build / "bin" / "task_model_earlier_child-serial"
    code, _, err = rubato("run", program, "--engine", "serial", "--seed", "5")
    assert code == 1  # what the program's own exit code means is not known
    assert "RUBATO_SEED=5 repeats this order of tasks" in err and "at timestamp 8 creates task" in err
