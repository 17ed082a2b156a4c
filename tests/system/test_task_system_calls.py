"""System calls of tasks under speculation see and leave what the order of timestamps says (C18)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("cores", ["1", "4", "16"])
def test_calls_between_speculative_tasks_happen_in_order(cores: str, guests: Path, rubato_chip: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", cores, guests / "task_system_calls"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines() == [*(f"{n:04}" for n in range(1, 41)), "check: passed (0)"]
