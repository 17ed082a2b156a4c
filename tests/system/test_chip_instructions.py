"""Cost of a simulated instruction in host instructions and misses of the host's instruction cache, counted by
callgrind: a change that makes the path of every access or task longer fails here, however noisy the machine. So does
one that makes the path of a window core's instructions longer.

The limits are those of the ordinary build by GCC 12 for x86-64. After an improvement lower the numbers:
`pytest -s tests/system/test_chip_instructions.py` prints the counts; `bench/instructions --functions 9` their places.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Limit:
    counted: float  # for a guest instruction in detail, as last measured
    tolerance: float


#: The misses are those of --any-layout, which other orders of the functions change by 3 % (docs/simulator-speed.md).
LIMITS = {
    "tasks": {"host instructions": Limit(860.0, 0.03), "L1I misses": Limit(33.9, 0.04)},  # `sssp` on 64 cores
    "window": {"host instructions": Limit(767.0, 0.03), "L1I misses": Limit(13.3, 0.04)},  # `oltp` on 16 window cores
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed (`make install`)")
@pytest.mark.parametrize("row", LIMITS)
def test_a_simulated_instruction_takes_no_more_of_the_host(row: str, root: Path, rubato_chip: Path) -> None:
    assert rubato_chip.exists()
    command = [root / "bench" / "instructions", "--quick", "--any-layout", "--json"]
    command += ["--window"] if row == "window" else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    for name, limit in LIMITS[row].items():
        counted = counts["detail"][name] / counts["guest_instructions"]
        most = limit.counted * (1 + limit.tolerance)
        print(f"{row}, {name}: {counted:.2f} a guest instruction, at most {most:.2f}")
        assert counted <= most, f"{counted:.2f} {name} a guest instruction; at most {most:.2f} are allowed"
