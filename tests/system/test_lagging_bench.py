"""`bench/lagging`: the gap sweep and the suite without and with lagging in turns; with the smallest sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rubato.process import machine


def bench(root: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "bench" / "lagging", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.skipif(machine.processors() < 2, reason="lagging needs two CPUs")
def test_rows_are_measured_without_and_with_lagging(root: Path, tmp_path: Path) -> None:
    done = bench(root, "--quick", "--rows", "gap-1,fib", "--rounds", "1", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [r["name"] for r in result["rows"]] == ["gap-1", "gap-1-cpu", "fib"]
    assert all(r["mean"] > 0 and r["samples"] == 1 for r in result["rows"])
    kept = json.loads((tmp_path / "measurements.json").read_text())["samples"]
    assert set(kept) == {f"{n}/{m}" for n in ("gap-1", "fib") for m in ("off/time", "on/time")} | {
        "gap-1/off/cpu", "gap-1/on/cpu"}  # fmt: skip
    assert min(kept["gap-1/off/time"] + kept["gap-1/on/time"]) >= 1, "a message takes at least its microsecond of work"


def test_the_gap_program_says_what_it_needs(build: Path) -> None:
    done = subprocess.run([build / "bin" / "bench_actor_gap", "1"], env={"RUBATO_WORKERS": "1"}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 2 and done.stderr == (
        "bench_actor_gap: it needs two workers, for an actor each (RUBATO_WORKERS)\n")
    for wrong in (["-1"], ["fast"], ["1", "0"], []):
        done = subprocess.run([build / "bin" / "bench_actor_gap", *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.startswith("usage: bench_actor_gap MICROSECONDS [MESSAGES]")


@pytest.mark.parametrize("wrong", [["--rows", "gap-7"], ["--rounds", "0"], ["--mode", "off"]])
def test_wrong_usage_is_refused(wrong: list[str], root: Path, tmp_path: Path) -> None:
    done = bench(root, *wrong, "--out", tmp_path)
    assert done.returncode == 2 and not (tmp_path / "measurements.json").exists()
