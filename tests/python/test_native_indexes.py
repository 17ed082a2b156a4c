"""bench/native_indexes without its programs: a script that prints the rates that it is told to have measured."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """#!/usr/bin/env python3
import json, os, sys
rates = json.loads(os.environ["RATES"])
if sys.argv[1] == "--list":
    print("\\n".join(rates))
    sys.exit()
if rates[sys.argv[1]] is None:
    sys.exit("it found 3 of 4 keys")
rate = rates[sys.argv[1]]
print(json.dumps({"million_requests_a_second": rate, "million_requests_a_processor_second": rate * len(sys.argv[1])}))
"""


@pytest.fixture
def bench(tmp_path: Path):
    program = tmp_path / "bin" / "bench_native_indexes"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    runs = 0

    def run(rates: dict[str, float | None], *arguments: str) -> tuple[int, dict]:
        nonlocal runs
        runs += 1
        words = ["--json", "--workloads", "C", "--rounds", "2", "--out", tmp_path / f"run-{runs}", *arguments]
        environment = os.environ | {"RUBATO_BUILD": str(tmp_path), "RATES": json.dumps(rates)}
        done = subprocess.run([ROOT / "bench" / "native_indexes", *words], capture_output=True, text=True, check=False,
                              env=environment)  # fmt: skip
        return done.returncode, json.loads(done.stdout) if done.stdout else {"said": done.stderr}

    return run


def rows_of(printed: dict) -> dict[str, tuple[float, float | None]]:
    return {row["title"]: (round(row["mean"], 3), row["bar"]) for row in printed["rows"]}


def test_a_choice_is_held_against_every_other_size(bench):
    code, printed = bench({"olc": 10, "olc-512": 8, "olc-4096": 10.2, "bwtree": 1}, "--rows", "olc")
    assert code == 0
    assert rows_of(printed) == {"lookups: olc / olc-512": (1.25, 0.95), "lookups: olc / olc-4096": (0.98, 0.95)}


def test_a_choice_that_is_slower_than_another_size_misses_its_bar(bench):
    code, printed = bench({"olc": 10, "olc-512": 11}, "--rows", "olc")
    assert code == 1
    assert rows_of(printed) == {"lookups: olc / olc-512": (0.909, 0.95)}


def test_relations_have_the_bars_of_the_publications(bench):
    code, printed = bench({"olc": 8, "masstree": 6, "bwtree": 4}, "--rows", "relations")
    assert code == 0
    assert rows_of(printed) == {"lookups: olc / bwtree": (2, 1.5), "lookups: masstree / bwtree": (1.5, 1)}
    code, printed = bench({"olc": 5, "masstree": 6, "bwtree": 4}, "--rows", "relations")
    assert code == 1


def test_an_index_that_finds_other_keys_is_named_and_the_others_are_compared(bench):
    code, printed = bench({"olc": 10, "olc-512": None, "olc-4096": 9}, "--rows", "olc")
    assert code == 1
    assert rows_of(printed) == {"lookups: olc / olc-4096": (1.111, 0.95)}
    assert "it found 3 of 4 keys" in printed["failed"]["olc-512/C"]


def test_bars_do_not_apply_to_small_indexes(bench):
    code, printed = bench({"olc": 10, "olc-512": 11}, "--rows", "olc", "--quick")
    assert code == 0
    assert rows_of(printed) == {"lookups: olc / olc-512": (0.909, None)}


def test_a_busy_machine_is_measured_by_the_time_of_its_processors(bench):
    code, printed = bench({"olc": 9, "olc-51": 9}, "--rows", "olc", "--busy")
    assert rows_of(printed) == {"lookups: olc / olc-51": (0.5, 0.95)}
    assert code == 1 and "processor second" in printed["title"]
