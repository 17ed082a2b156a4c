"""bench/native without its programs: scripts that print what they are told to have measured."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = ("--rows", "baseline-C-tasks,churn-bytes", "--rounds", "3", "--json")

PROGRAM = """#!/usr/bin/env python3
import json, os, sys
operations = int(sys.argv[sys.argv.index("--operations") + 1])
print(json.dumps({"million_requests_a_second": float(os.environ["RATE"]),
                  "peak_unreclaimed_bytes": 1000 + operations * float(os.environ.get("LEAK", "0"))}))
"""


@pytest.fixture
def bench(tmp_path: Path):
    program = tmp_path / "bin" / "ycsb-native"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    runs = 0

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        nonlocal runs
        runs += 1
        return subprocess.run([ROOT / "bench" / "native", "--baseline", tmp_path / "baseline.json", "--out",
                               tmp_path / f"run-{runs}", *arguments], capture_output=True, text=True, check=False,
                              env=os.environ | {"RUBATO_BUILD": str(tmp_path)} | environment)

    return run


def test_a_continued_family_begins_with_the_first_round_that_is_not_whole(bench, tmp_path: Path):
    """Else samples of one round would be hours apart, and what the machine did meanwhile in the ratio."""
    out = ("--out", tmp_path / "kept", "--rounds", "2", "--no-figures")
    def taken(*rows: str) -> list[str]:
        said = bench("--rows", ",".join(rows), *out, "--json", RATE="4").stderr
        return [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("C, round")]

    alone, both, again = taken("baseline-C-tasks"), taken("scaling-C"), taken("scaling-C")
    assert len(alone) == 2 and again == []
    assert len(both) == 4 and set(both[:2]) == set(both[2:]) > set(alone)


def rows(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return {r["name"]: r for r in json.loads(done.stdout)["rows"]}


def test_compares_with_the_saved_medians(bench, tmp_path: Path):
    first = bench(*ROWS, "--save-baseline", RATE="4")
    assert "baseline-C-tasks" not in rows(first)  # there was nothing to compare with
    kept = json.loads((tmp_path / "baseline.json").read_text())
    assert kept["medians"]["C/tasks"] == 4 and "core" in kept["machine"]
    same, slower = bench(*ROWS, RATE="4"), bench(*ROWS, RATE="3.6")
    assert (same.returncode, rows(same)["baseline-C-tasks"]["mean"]) == (0, pytest.approx(1))
    assert (slower.returncode, rows(slower)["baseline-C-tasks"]["mean"]) == (1, pytest.approx(0.9))


def test_leaves_the_baseline_of_another_machine_alone(bench, tmp_path: Path):
    (tmp_path / "baseline.json").write_text(json.dumps({"machine": "another", "medians": {"C/tasks": 100}}))
    assert "baseline-C-tasks" not in rows(bench(*ROWS, RATE="4"))


def test_says_what_is_wrong_with_a_baseline(bench, tmp_path: Path):
    (tmp_path / "baseline.json").write_text("[]")
    done = bench(*ROWS, RATE="4")
    assert done.returncode == 2 and "is no baseline" in done.stderr
    assert "leave --quick out" in bench("--quick", "--save-baseline").stderr


def test_sees_memory_that_grows_with_the_requests(bench):
    assert rows(bench(*ROWS, RATE="4"))["churn-bytes"]["mean"] == pytest.approx(1)
    leaking = bench(*ROWS, RATE="4", LEAK="0.01")
    assert leaking.returncode == 1
    assert rows(leaking)["churn-bytes"]["mean"] > 5
