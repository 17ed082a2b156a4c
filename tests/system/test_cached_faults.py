"""Bugs put into the cache on purpose (cached/fault.hpp): histories that no order explains show them (T91)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = re.findall(r"\bX\((\w+)\)", (ROOT / "cached/fault.hpp").read_text())


def look(build: Path, fault: str, histories: int) -> subprocess.CompletedProcess[str]:
    program = build / "bin" / "find-cached-fault"
    if not program.exists():
        pytest.skip("find-cached-fault is not built: libevent or libxxhash is absent")
    environment = {**os.environ, "RUBATO_FAULT": fault}
    return subprocess.run([program, str(histories)], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_history_shows_the_fault(build: Path, fault: str) -> None:
    """By an order that explains nothing, by a crash, or by a history that does not end (SIGPROF, SIGALRM)."""
    found = look(build, fault, 200)
    assert found.returncode < 0 or "no order of its requests explains their answers" in found.stdout


def test_without_a_fault_every_history_is_explained(build: Path) -> None:
    assert look(build, "none", 5).returncode == 0


def test_a_name_that_is_no_fault_is_refused(build: Path) -> None:
    found = look(build, "unpined", 1)
    assert found.returncode == 2
    assert found.stderr == "RUBATO_FAULT is 'unpined', which is no fault\n"
