"""`bench/cached --soak`: days of different sizes and lifetimes beside memcached, on clocks that run fast."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

STEP, REQUESTS = 300, 350
SHORT = ["--step", str(STEP), "--requests", str(REQUESTS), "--megabytes", "32"]
#: Of memcached's hits. The command asks for 0.995 of them; here pages have fewer looks of the clock to move in, on a
#: machine that tests share.
LEAST = 0.97


@pytest.fixture
def moved_clock(cached_program: Path, build: Path) -> Path:
    library = build / "bench/libbench_moved_clock.so"
    if not shutil.which("memcached"):
        pytest.skip("memcached is not installed")
    assert cached_program.exists() and library.exists(), f"{library} does not exist; run `make build`"
    return library


def soak(root: Path, build: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [root / "bench/cached", "--soak", "--json", *SHORT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | {"RUBATO_BUILD": str(build)})  # fmt: skip


def check(done: subprocess.CompletedProcess[str], days: int) -> None:
    assert done.returncode in (0, 1) and not done.stderr, done.stderr + done.stdout
    found = json.loads(done.stdout)["days"]
    assert len(found) == days
    assert done.returncode == any(day["is_lower"] for day in found)
    for day in found:
        assert day["ratio"] >= LEAST, done.stdout
        for server in ("rubato-cached", "memcached"):
            assert day[server]["asked"] == 86400 // STEP * REQUESTS
            assert day[server]["hits"] > 0
            assert day[server]["refused"] == 0
    # Memory was short at least once: else the rates would be those of lifetimes alone.
    assert any(day["memcached"]["evictions"] for day in found)


def test_the_hits_of_a_day_are_not_lower_than_memcacheds(root: Path, build: Path, moved_clock: Path) -> None:
    check(soak(root, build, "--days", "4"), 4)


@pytest.mark.long
@pytest.mark.parametrize("discipline", ["locks", "tm", "tm-it", "tasks"])
def test_the_hits_of_a_week_are_not_lower(root: Path, build: Path, moved_clock: Path, discipline: str) -> None:
    check(soak(root, build, "--discipline", discipline), 7)


def test_a_server_with_less_memory_is_found_to_be_lower(
    root: Path, build: Path, cached_program: Path, moved_clock: Path, tmp_path: Path
) -> None:
    """The last -m counts."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / moved_clock.name).symlink_to(moved_clock)
    program = tmp_path / "bin" / "rubato-cached"
    program.write_text(f'#!/bin/sh\nexec "{cached_program}" "$@" -m 12\n')
    program.chmod(0o755)
    done = soak(root, tmp_path, "--days", "1")
    assert done.returncode == 1, done.stderr + done.stdout
    (day,) = json.loads(done.stdout)["days"]
    assert day["is_lower"] and day["ratio"] < 0.995
