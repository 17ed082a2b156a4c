"""bench/lagging --default without its programs: scripts that take as long as they are told to."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from harness import lag_default
from rubato.errors import UsageError
from rubato.process import machine
from rubato.results.intervals import median_interval
from rubato.results.measurements import Results, Verdict

ROOT = Path(__file__).resolve().parents[2]
TWO_CPUS = pytest.mark.skipif(machine.processors() < 2, reason="lagging needs two CPUs")

SAVINA = """#!/usr/bin/env python3
import json, os, sys
on = os.environ["RUBATO_LAG"] == "on"
print(json.dumps({"iterations": [9, 2.0 if on else 1.0, 2.0 if on else 1.0]}))
"""
DIVIDE = """#!/usr/bin/env python3
print('{"seconds": 0.5, "peak_mb": 1}')
"""


@pytest.fixture
def bench(tmp_path: Path):
    for name, program in (("savina-native", SAVINA), ("bench_native_divide", DIVIDE)):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(program)
        file.chmod(0o755)

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [ROOT / "bench" / "lagging", "--default", "--out", tmp_path / "kept", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env=os.environ | {"RUBATO_BUILD": str(tmp_path)})  # fmt: skip

    return run


@TWO_CPUS
def test_each_row_is_held_against_both_bars(bench, tmp_path: Path) -> None:
    done = bench("--rows", "sieve,native/fib", "--rounds", "6", "--json")
    assert done.returncode == 1, done.stderr
    rows = {r["name"]: Verdict(**r) for r in json.loads(done.stdout)["rows"]}
    assert list(rows) == ["sieve", "sieve-cpu", "native/fib", "native/fib-cpu"]
    assert (rows["sieve"].mean, rows["sieve"].judgement) == (2, "missed")
    assert (rows["native/fib"].mean, rows["native/fib"].judgement) == (1, "met")
    assert (rows["sieve"].bar, rows["sieve-cpu"].bar) == (1.01, 1.05) and rows["sieve-cpu"].mean > 0


@TWO_CPUS
def test_a_second_call_takes_only_what_is_missing(bench, tmp_path: Path) -> None:
    words = ("--rows", "native/fib", "--json", "--rounds")
    assert bench(*words, "1").stderr.count("native/fib") == 1
    assert bench(*words, "3").stderr.count("native/fib") == 2
    kept = json.loads((tmp_path / "kept" / "measurements.json").read_text())["samples"]
    assert {name: len(values) for name, values in kept.items()} == {
        f"native/fib/{mode}/{kind}": 3 for mode in ("off", "workers") for kind in ("time", "cpu")}  # fmt: skip
    (tmp_path / "bin" / "bench_native_divide").write_text(DIVIDE + "# another build\n")
    changed = bench(*words, "4")
    assert changed.returncode == 2 and "bench_native_divide changed since" in changed.stderr


def test_all_of_the_suite_and_what_may_lag_of_bench_native_are_rows() -> None:
    rows = lag_default.rows(quick=False)
    sources = [f for f in (ROOT / "apps" / "savina").glob("*/*.cpp") if f.parent.name != "reference"]
    assert len(lag_default.SAVINA) == 31 == len(sources)
    names = {name for name in rows if name.startswith("native/")}
    assert {"native/C/tasks", "native/join/1024", "native/sort", "native/wake-up", "native/churn"} <= names
    assert not any("onetbb" in n or "openmp" in n or "threads" in n or n.endswith("-8") for n in names)


@pytest.mark.parametrize("words", [("--rows", "sieve"), ("--quick",)])
def test_only_a_whole_measurement_is_recorded(bench, words: tuple[str, ...]) -> None:
    done = bench("--record", *words)
    assert done.returncode == 2 and "--record needs --default, all rows and the full sizes" in done.stderr


def row(name: str, low: float, mean: float, high: float, bar: float) -> Verdict:
    return Verdict(name=name, title="", mean=mean, low=low, high=high, samples=60, bar=bar, at_least=False)


def test_the_record_replaces_what_lies_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    other = f"{lag_default.BEGIN.format('workers')}other\n{lag_default.END}"
    page.write_text(f"Before.\n{lag_default.BEGIN.format('on')}old\n{lag_default.END}{other}After.\n")
    results = Results(title="", machine="CPU, 2 cores", samples={"a/on/time": [1.0] * 60})
    results.rows = [row("a", 0.99, 1.0, 1.005, 1.01), row("a-cpu", 1.06, 1.1, 1.2, 1.05),
                    row("b", 1.0, 1.01, 1.02, 1.01), row("b-cpu", 1.0, 1.01, 1.02, 1.05)]  # fmt: skip
    lag_default.record(results, "on", page)
    text = page.read_text()
    assert text.startswith("Before.\n<!-- Gen") and text.endswith(f"{other}After.\n") and "old" not in text
    assert "CPU, 2 cores; 60 pairs a row." in text
    assert "- Time, at most 1.01: 1 met, 1 undecided." in text
    assert "- Processor time, at most 1.05: 1 met, 1 missed." in text
    assert "| a | 1.000 (0.990 to 1.005) | met | 1.100 (1.060 to 1.200) | **missed** |" in text
    page.write_text("no marks")
    with pytest.raises(UsageError, match="has lost its marks"):
        lag_default.record(results, "on", page)


def test_the_page_has_its_marks() -> None:
    text = lag_default.PAGE.read_text(encoding="utf-8")
    marks = [text.index(lag_default.BEGIN.format(mode)) for mode in ("workers", "on")]
    assert marks == sorted(marks) and text.count(lag_default.END) == 2


def test_the_median_has_an_interval_by_order() -> None:
    assert median_interval([3, 1, 2]) == (2, None, None, 3), "fewer than six have none"
    assert median_interval([1, 2, 3, 4, 5, 6]) == (3.5, 1, 6, 6)
    # Of 60, the 22nd and the 39th: P(fewer than 22 of 60 coins fall on one side) is 0.0137, of 23 it is 0.0259.
    assert median_interval(range(1, 61)) == (30.5, 22, 39, 60)
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def test_a_bar_within_the_interval_decides_nothing() -> None:
    assert row("a", 0.9, 1.0, 1.1, 1.05).judgement == "undecided"
    assert row("a", 1.06, 1.1, 1.2, 1.05).judgement == "missed" and row("a", 0.9, 1, 1.05, 1.05).judgement == "met"
    assert Verdict(name="a", title="", mean=1, low=1, high=1, samples=9).judgement == ""
