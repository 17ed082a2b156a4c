"""Queued signals and CPU-time clocks, in detail and in fast-forward: what the same program prints under Linux."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

# Fast-forward alone: the program marks no region.
MODES = {
    "1 core": ["--no-ff", "--cores", "1"],
    "4 cores": ["--no-ff", "--cores", "4"],
    "window core": ["--no-ff", "--cores", "2", "--set", "core.model=window"],
    "fast-forward": ["--roi", "@markers"],
}

# Output under Linux 6.1 on x86-64, but for the limit: there a user's signals are counted in all processes together.
SIGNALS = """pending 1 1 0
delivered: -10:1 0:1 0:2 0:3 0:4 0:5
waited 3:31 code -1
waited 1:11 code -1
waited 1:12 code -1
waited 2:21 code -1
waited 2:22 code -1
ignored:
thread 1:1
thread 1:2
limit 0 sent 3 Resource temporarily unavailable
taken 3 Resource temporarily unavailable
timer 1, told the same 1, at most one more 1
"""

# Linux sleeps by CPU time, too.
CLOCKS = """asleep: process 1, thread 1, getrusage 1, clock 1, times 0 of 1
a waiting thread: none 1, all of it here 1
an ended thread: -1 Invalid argument
by number of process: 1
no such process: 1
sleep by CPU time: Operation not supported
timer by CPU time: 0
threads: as much as they did 1, getrusage 1, sum 1, process 1
"""


def output_of(guest: Path, rubato_chip: Path, options: list[str], folder: Path) -> str:
    command = [rubato_chip, "--quiet", *options, guest]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("mode", MODES)
def test_real_time_signals_queue(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    assert output_of(guests / "realtime_signals", rubato_chip, MODES[mode], tmp_path) == SIGNALS


@pytest.mark.parametrize("mode", MODES)
def test_cpu_time_is_time_on_a_core(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    printed = output_of(guests / "cpu_clocks", rubato_chip, MODES[mode], tmp_path)
    facts, cores = printed.split("cores in use: ")
    assert facts == CLOCKS
    # Loops of 1 + 2 + 3 + 4 parts, the longest of which is 4: 2.5 where each has a core; fast-forward runs one at a
    # time, as one core does.
    low, high = {"4 cores": (2.2, 2.6), "window core": (1.5, 2.1)}.get(mode, (0.9, 1.1))
    assert low <= float(cores) <= high
