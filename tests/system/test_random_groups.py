"""Random programs of tasks that wait for groups, on all engines and on random chips (tests/random_programs/groups.cpp).

The program checks itself; besides, what it prints, or the sentence with which it ends where no task can run, must be
that of the serial engine, and the chip's statistics must count each task once, however often it looked at its group.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from random_programs import draw_chip, draw_edges

SEEDS = 40  # a test


def draw_command(seed: int, build: Path, out: Path) -> tuple[list[str], list[str]]:
    """The simulator with its settings, and the program's arguments."""
    rng = random.Random(seed)
    chip = draw_chip(rng) | draw_edges(rng)
    chip["run.alloc"] = rng.choice(["guest", "ideal"])
    arguments = [str(seed), str(rng.choice([3, 20, 100, 300])), rng.choice(["whole", "circles"])]
    options = ["--quiet", "--argv0", "random_groups", "--max-cycles", "100000000", "--out", str(out)]
    settings = [word for key, value in chip.items() for word in ("--set", f"{key}={value}")]
    return [str(build / "bin/rubato-chip"), *options, *settings, str(build / "guest/random_groups")], arguments


def outcome(command: list[str], environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code, and what was printed or, where no task can run, which tasks wait: not the first one's name."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
                          env=os.environ | (environment or {}))  # fmt: skip
    said = re.search(r"no task can run: .*, the first is task ", done.stderr)
    at = re.search(r"(at timestamp \d+|without a timestamp)$", done.stderr)
    if said and at:
        return done.returncode, f"{said[0]}... {at[0]}"
    return done.returncode, done.stdout + done.stderr[-1500:]


def difference(seed: int, build: Path, out: Path) -> str:
    """Fault of a seed, and how to repeat it. Empty: none."""
    simulator, arguments = draw_command(seed, build, out)
    serial = outcome([str(build / "bin/random_groups-serial"), *arguments])
    repeat = f"repeat: {shlex.join([*simulator, *arguments])}"
    if serial[0] not in (0, 4):
        return f"seed {seed}: the serial engine says {serial}"
    native = outcome([str(build / "bin/random_groups-native"), *arguments], {"RUBATO_WORKERS": "2"})
    if native != serial:
        return f"seed {seed}: the native engine says {native}, the serial engine {serial}\n{repeat}"
    chip = outcome([*simulator, *arguments])
    if chip != serial:
        return f"seed {seed}: the chip says {chip}, the serial engine {serial}\n{repeat}"
    stats = json.loads((out / "stats.json").read_text())["run"]
    discarded = sum(value for key, value in stats.items() if key.endswith(".task_unit.discarded"))
    counts, tasks = (stats["tasks.created"] - discarded, stats["tasks.committed"]), serial[1].split()[0]
    if chip[0] == 0 and counts != (int(tasks), int(tasks)):
        return f"seed {seed}: {counts} were created and committed, but there are {tasks} tasks\n{repeat}"
    return ""


@pytest.mark.parametrize("first", range(1, 121, SEEDS))
def test_tasks_wait_for_groups_as_on_the_serial_engine(first: int, build: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:
        seeds = range(first, first + SEEDS)
        found = [wrong for wrong in pool.map(lambda s: difference(s, build, tmp_path / str(s)), seeds) if wrong]
    assert not found, "\n\n".join(found)
