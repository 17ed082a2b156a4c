"""Cost of a task of the native engine in instructions, counted by callgrind: a change that makes the path of every
task longer fails here, however busy the machine. Run when native/ or the native engine's headers change.

Each benchmark of `bench_native_tasks` named here has two fixed numbers of iterations; the difference between the two,
divided by the tasks between them, leaves out what a program does once. After an improvement lower the number:
`pytest -s tests/system/test_native_instructions.py` prints what was counted.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rubato.process.preload import preloadable

#: Instructions of one task, created and run on one worker; GCC 12, -O3, x86-64.
INSTRUCTIONS = {
    "one_after_the_other": 184.6,
    "crowds/256": 148.1,
    "ordered_one_after_the_other": 506.4,
    "readers": 191.4,
}
TOLERANCE = 0.03  # of another minor version of the compiler
ITERATIONS = (1, 3)
TASKS_AN_ITERATION = 1 << 18  # kTasks of bench/native_tasks.cpp


def instructions(build: Path, benchmark: str, folder: Path) -> int:
    """Instructions of a whole program, whose clock makes what the engine does by the time the same in each run."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind.out'}"]
    command += [str(build / "bin" / "bench_native_tasks"), f"--benchmark_filter=^{re.escape(benchmark)}$",
                "--benchmark_format=json"]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RUBATO_")} | {"RUBATO_WORKERS": "1"}
    with preloadable(build / "bench" / "libbench_slow_clock.so") as clock:
        environment["LD_PRELOAD"] = str(clock)
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert f'"name": "{benchmark}"' in result.stdout, f"there is no benchmark {benchmark}"
    collected = re.search(r"Collected : (\d+)", result.stderr)
    assert collected, result.stderr
    return int(collected[1])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed (`make install`)")
@pytest.mark.parametrize("benchmark", INSTRUCTIONS)
def test_a_task_takes_no_more_instructions(build: Path, tmp_path: Path, benchmark: str) -> None:
    for file in ("bin/bench_native_tasks", "bench/libbench_slow_clock.so"):
        assert (build / file).exists(), f"{build / file} does not exist; run `make build`"
    few, many = (instructions(build, f"{benchmark}/iterations:{n}", tmp_path) for n in ITERATIONS)
    counted = (many - few) / ((ITERATIONS[1] - ITERATIONS[0]) * TASKS_AN_ITERATION)
    print(f"{benchmark}: {counted:.1f} instructions a task")
    assert counted <= INSTRUCTIONS[benchmark] * (1 + TOLERANCE), (
        f"{counted:.1f} instructions a task; {INSTRUCTIONS[benchmark]} + 3 % are allowed"
    )
