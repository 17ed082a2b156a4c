"""Programs behave the same under every coherence protocol: threads, atomics, and tasks that speculate."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

BY_MESSAGES = ["sparse", "mosaic", "flask"]
# Directories and filters so small that entries are evicted and probes err all the time.
SCARCE = ["chip.cores=8", "chip.cores_per_tile=1", "coherence.capacity=0.05", "coherence.ways=2",
          "coherence.directory_ways=1", "coherence.check=true"]  # fmt: skip


def run(rubato_chip: Path, settings: list[str], command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    options = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([rubato_chip, *options, *command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("protocol", BY_MESSAGES)
@pytest.mark.parametrize("program", ["pthreads", "reservations", "openmp", "threads"])
def test_threads_print_what_they_print_under_mesi(
    program: str, protocol: str, guests: Path, rubato_chip: Path
) -> None:
    command: list[str | Path] = ["--no-ff", guests / program]
    expected = run(rubato_chip, ["chip.cores=8"], command)
    assert expected.returncode == 0
    done = run(rubato_chip, [*SCARCE, f"coherence.protocol={protocol}"], command)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == expected.stdout


@pytest.mark.parametrize("protocol", BY_MESSAGES)
def test_tasks_speculate_and_their_replay_agrees(
    protocol: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    command = ["--check-replay", "--out", tmp_path, guests / "sssp", "--generate", "road:20x20"]
    done = run(rubato_chip, [*SCARCE, f"coherence.protocol={protocol}"], command)
    assert done.returncode == 0, done.stderr[-2000:]
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert "coherence.messages.unblock" in json.dumps(stats)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["chip.cores=256", "chip.cores_per_tile=1"], "works on 64 tiles at most"),
        (["coherence.directory_ways=8"], "leaves the filter none of coherence.ways = 8"),
        (["coherence.ways=64", "coherence.directory_ways=4"], "a filter has 8 at most"),
        (["coherence.capacity=0.05", "l2.size=16KiB"], "fewer than 4 sets of entries a tile"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    settings: list[str], sentence: str, guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, ["chip.cores=4", "coherence.protocol=flask", *settings], [guests / "hello"])
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_command_names_the_protocols_that_there_are(guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, ["coherence.protocol=dragon"], [guests / "hello"])
    assert done.returncode == 2
    assert "mesi" in done.stderr and "flask" in done.stderr
