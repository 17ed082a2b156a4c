"""Runs of the simulator, whole or restored, and what is compared of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path


def chip(simulator: Path, *words: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([simulator, *words], capture_output=True, text=True, check=False, **given)


def results(simulator: Path, out: Path, *words: str | Path) -> tuple[bytes, bytes]:
    """Statistics and output of a run."""
    done = chip(simulator, "--quiet", "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return (out / "stats.json").read_bytes(), (out / "output.txt").read_bytes()
