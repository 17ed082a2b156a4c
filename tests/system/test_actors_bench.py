"""`bench/actors`: the suite beside other libraries of actors, as far as they are installed; with the smallest sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest


def bench(root: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "bench" / "actors", *arguments], capture_output=True, text=True, check=False)


def test_a_row_is_measured_in_turns_and_goes_on(root: Path, tmp_path: Path) -> None:
    """Every installed peer passes its own check, else the command ends with 1. Pekko only where it has been built: that
    takes its libraries from Maven."""
    peers = "CPG" if (root / "build" / "peers" / "pekko").exists() else "CG"
    for rounds in (1, 2):
        done = bench(root, "--quick", "--rows", "pingpong", "--rounds", str(rounds), "--out", tmp_path, "--json",
                     "--peers", peers)  # fmt: skip
        assert done.returncode == 0, done.stderr
        kept = json.loads((tmp_path / "measurements.json").read_text())["samples"]
        assert {len(s) for s in kept.values()} == {rounds}
    result = json.loads(done.stdout)
    measured = {n.split("/")[1] for n in kept} - {"rubato"}
    assert bool(measured) == bool(result["rows"])
    assert all(r["mean"] > 0 and r["samples"] == 2 and r["bar"] is None for r in result["rows"])


@pytest.mark.parametrize("wrong", [["--rows", "pong"], ["--peers", "X"], ["--rounds", "0"]])
def test_wrong_usage_is_refused(wrong: list[str], root: Path, tmp_path: Path) -> None:
    done = bench(root, *wrong, "--out", tmp_path)
    assert done.returncode == 2 and not (tmp_path / "measurements.json").exists()
