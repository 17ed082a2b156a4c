"""Cost of a task of the native engine in instructions, counted by callgrind: a change that makes the path of every
task longer fails here, however noisy the machine. Run when native/ or the native engine's headers change.

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

#: Instructions of one task, created and run on one worker; GCC 12, -O3, x86-64.
INSTRUCTIONS = {
    "one_after_the_other": 179.4,
    "crowds/256": 142.7,
    "ordered_one_after_the_other": 513.4,  # 504.0 before own tasks ran depth first
    "readers": 186.0,  # 181.1 before own tasks ran depth first
}
TOLERANCE = 0.05
ITERATIONS = (1, 3)
TASKS_AN_ITERATION = 1 << 18  # kTasks of bench/native_tasks.cpp
ATTEMPTS = 3  # what a worker does by the clock it does more often in as many tasks on a busy machine
#: What is left out: on a busy machine the engine times its tasks one by one for a while, to find long ones.
TIMING = re.compile(r"^ *([0-9,]+) .*native::(?:TaskTimer::begin|TaskTimer::end|Worker::end_timing|ticks_of|"
                    r"worth_ticks)\(", re.MULTILINE)


def instructions(program: Path, benchmark: str, folder: Path) -> int:
    """Instructions of a whole program."""
    profile = folder / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", str(program)]
    command += [f"--benchmark_filter=^{re.escape(benchmark)}$", "--benchmark_format=json"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RUBATO_")} | {"RUBATO_WORKERS": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert f'"name": "{benchmark}"' in result.stdout, f"{program} has no benchmark {benchmark}"
    collected = re.search(r"Collected : (\d+)", result.stderr)
    assert collected, result.stderr
    functions = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", str(profile)],
                               capture_output=True, text=True, check=True).stdout
    assert "Worker::work(" in functions, functions[:2000]
    return int(collected[1]) - sum(int(count.replace(",", "")) for count in TIMING.findall(functions))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed (`make install`)")
@pytest.mark.parametrize("benchmark", INSTRUCTIONS)
def test_a_task_takes_no_more_instructions(build: Path, tmp_path: Path, benchmark: str) -> None:
    program = build / "bin" / "bench_native_tasks"
    assert program.exists(), f"{program} does not exist; run `make build`"
    limit = INSTRUCTIONS[benchmark] * (1 + TOLERANCE)
    for _ in range(ATTEMPTS):
        few, many = (instructions(program, f"{benchmark}/iterations:{n}", tmp_path) for n in ITERATIONS)
        counted = (many - few) / ((ITERATIONS[1] - ITERATIONS[0]) * TASKS_AN_ITERATION)
        print(f"{benchmark}: {counted:.1f} instructions a task, at most {limit:.1f}")
        if counted <= limit:
            break
    assert counted <= limit, f"{counted:.1f} instructions a task; {INSTRUCTIONS[benchmark]} + 5 % are allowed"
