"""System calls of tasks under speculation see and leave what the order of timestamps says (C18)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CHIPS = [
    "chip.cores=1", "chip.cores=4", "chip.cores=16", "chip.seed=2", "chip.seed=3", "chip.seed=7",
    "conflict.selective_aborts=false", "conflict.forwarding=stall", "conflict.forwarding=abort", "arbiter.delay=false",
]  # fmt: skip


@pytest.mark.parametrize("setting", CHIPS)
def test_calls_between_speculative_tasks_happen_in_order(setting: str, guests: Path, rubato_chip: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", "16", "--set", setting, guests / "task_system_calls"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines() == [*(f"{n:04}" for n in range(1, 41)), "check: passed (0)"]
