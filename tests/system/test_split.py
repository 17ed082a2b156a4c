"""The split of flask's storage moves to where a program's phase needs it (K59)."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "flask-16-inorder.toml"


@pytest.mark.parametrize("sharing", ["updates", "exchange"])
def test_a_shared_phase_ends_with_more_directory_than_it_began_with(
    sharing: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """Four homes of 8 x 32 rows; what is shared fills six ways. Each phase has six epochs or more."""
    settings = ["chip.cores=4", "coherence.capacity=0.05", "coherence.directory_ways=1",
                "coherence.partition=adaptive", "coherence.check=true"]  # fmt: skip
    options = [word for setting in settings for word in ("--set", setting)]
    program = [guests / "phases", "--verify", "--threads", "4", "--sharing", sharing, "--work", "1",
               "--lines", "768", "--private-lines", "8192", "--accesses", "24576"]  # fmt: skip
    command = [rubato_chip, "--config", CONFIG, *options, "--roi", "@markers", "--out", tmp_path, *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    stats: dict[str, float] = json.loads((tmp_path / "stats.json").read_text())["run"]
    for home in range(4):
        assert stats[f"tile.{home}.split.epochs"] >= 12
        assert stats[f"tile.{home}.split.directory_ways"] >= 5
        assert 2 <= stats[f"tile.{home}.split.moves"] <= 4
