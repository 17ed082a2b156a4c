"""The Savina suite with small sizes on both engines: every benchmark checks itself."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"native": [1, 2, 8], "serial": [1]}


def savina(build: Path, engine: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [build / "bin" / f"savina-{engine}", *arguments], env=os.environ | environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_run_is_summed_up_with_its_messages(build: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / ".venv" / "bin" / "rubato", "run", "savina", "--engine", "native", "--json", "--out", tmp_path / "run",
         "--", "--benchmark", "fib", "--set", "n=10"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )  # fmt: skip
    actors = json.loads(done.stdout)["actors"]
    assert actors["spawned"] > 100 and actors["messages"] > 100 and actors["dead_letters"] == 0


def benchmarks(build: Path) -> list[str]:
    listed = savina(build, "serial", "--list").stdout
    return re.findall(r"^([a-z]+) +(?:micro|concurrency|parallelism) ", listed, re.MULTILINE)


def test_the_list_has_the_suites_thirty_and_one_more(build: Path) -> None:
    names = benchmarks(build)
    assert len(set(names)) == len(names) == 31 and "streaming" in names


@pytest.mark.parametrize(("engine", "workers"), [(e, n) for e, counts in PROGRAMS.items() for n in counts])
def test_every_benchmark_checks_itself(engine: str, workers: int, build: Path) -> None:
    for name in benchmarks(build):
        done = savina(build, engine, "--benchmark", name, "--small", "--verify", "--iterations", "2",
                      RUBATO_WORKERS=str(workers), RUBATO_OVERSUBSCRIBE="1")  # fmt: skip
        assert done.returncode == 0 and done.stdout.endswith("check: passed\n"), f"{name}: {done.stderr}"


@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_every_order_of_the_serial_engine_passes(seed: str, build: Path) -> None:
    for name in benchmarks(build):
        done = savina(build, "serial", "--benchmark", name, "--small", "--verify", RUBATO_SEED=seed)
        assert done.returncode == 0, f"{name}: {done.stderr}"


def test_the_result_is_one_json_object(build: Path) -> None:
    done = savina(build, "native", "--benchmark", "fib", "--set", "n=10", "--iterations", "3", "--verify", "--json")
    result = json.loads(done.stdout)
    assert result["parameters"] == {"n": 10} and len(result["iterations"]) == 3
    assert result["actors"] == 109 and result["messages"] == 217  # 2 F(10) - 1; F(10) = 55
    assert result["check"] == "passed" and result["cpu_seconds"] >= 0 and result["peak_mb"] > 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--benchmark", "fibb"], "--benchmark fibb: there is none of that name; --list names all"),
        (["--set", "n=0"], "--set n=0: n is a whole number from 1 to 100000000"),
        (["--set", "n"], "--set n: n is a whole number from 1 to 100000000"),
        (["--set", "n=1x"], "--set n=1x: n is a whole number from 1 to 100000000"),
        (["--set", "m=1"], "--set m=1: pingpong has the parameters n"),
        (["--benchmark", "bitonicsort", "--set", "n=6"],
         "--set: bitonicsort: n is a power of two: the network has no other width"),
    ],
)  # fmt: skip
def test_wrong_sizes_are_named(arguments: list[str], sentence: str, build: Path) -> None:
    for engine in PROGRAMS:
        done = savina(build, engine, *arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr == f"savina: {sentence}\n"
