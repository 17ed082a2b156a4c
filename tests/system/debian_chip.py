"""Programs of Debian's riscv64 port on the chip, for tests: their packages, the chips, and a shell that starts them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

import debian

CHIPS = {
    "in order, mesi": [],
    "in order, flask": ["--set", "coherence.protocol=flask"],
    "window, mesi": ["--set", "core.model=window"],
    "window, flask": ["--set", "core.model=window", "--set", "coherence.protocol=flask"],
}


def unpacked(folder: Path, packages: Iterable[str], last: str) -> Path:
    """The folder that has usr; `last`: of the files that are unpacked. Skips the test where packages cannot be had."""
    is_there = (folder / "root" / last).exists()
    if reason := "" if is_there else debian.unpack(folder, packages, needed=True):
        pytest.skip(f"Debian's riscv64 packages cannot be fetched: {reason}")
    return folder / "root"


def in_shell(
    rubato_chip: Path, root: Path, script: str, place: Path, variables: Mapping[str, object], *options: str
) -> str:
    """What a script prints that a static shell runs in the folder `place`."""
    given = [part for name, value in variables.items() for part in ("--env", f"{name}={value}")]
    # As /bin/sh it is also the shell that programs start.
    command = [rubato_chip, "--quiet", "--cores", "4", *options, "--argv0", "/bin/sh", *given]
    done = subprocess.run(
        [*command, root / "usr/bin/bash-static", "-c", script],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not implemented" not in done.stderr
    return done.stdout
