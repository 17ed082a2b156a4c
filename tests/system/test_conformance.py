"""The conformance suite of the task model on the chip; CTest runs the same program on the serial engine."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ERRORS = Path(__file__).resolve().parents[1] / "conformance" / "errors.py"


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("cores", [1, 4, 16, 64])
def test_every_case_passes_on_the_chip(cores: int, seed: int, rubato_chip: Path, guests: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", str(cores), "--seed", str(seed), guests / "conformance"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.parametrize("cores", [1, 4, 16])
def test_every_misuse_ends_with_its_sentence(cores: int, rubato_chip: Path, guests: Path) -> None:
    command = [sys.executable, ERRORS, guests / "conformance", rubato_chip, "--quiet", "--cores", str(cores)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
