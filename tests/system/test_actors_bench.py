"""`bench/actors`: the suite beside other libraries of actors, as far as they are installed; with the smallest sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def bench(
    root: Path, *arguments: str | Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "bench" / "actors", *arguments], capture_output=True, text=True, check=False,
                          env=environment)  # fmt: skip


def test_a_row_is_measured_in_turns_and_goes_on(root: Path, tmp_path: Path) -> None:
    """Every installed peer passes its own check, else the command ends with 1. Pekko only where it has been built: that
    takes its libraries from Maven."""
    peers = "CPGE" if (root / "build" / "peers" / "pekko").exists() else "CGE"
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


@pytest.mark.skipif(shutil.which("erlc") is None, reason="needs erlang-base")
def test_all_of_erlangs_benchmarks_pass_their_checks(root: Path, tmp_path: Path) -> None:
    done = bench(root, "--quick", "--rounds", "1", "--peers", "E", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "measurements.json").read_text())["samples"]
    rows = {name.split("/")[0] for name in kept}
    assert rows >= {"pingpong", "count", "fjthrput", "fjcreate", "threadring", "chameneos", "big", "streaming", "fib"}
    for row in rows:
        assert len(kept[f"{row}/erlang-on-heap/time"]) == len(kept[f"{row}/erlang-off-heap/time"]) == 1


def test_a_peer_that_is_not_installed_is_said_and_left_out(root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.executable).resolve())
    done = bench(root, "--quick", "--rows", "pingpong", "--rounds", "1", "--peers", "E", "--out", tmp_path / "out",
                 environment=os.environ | {"PATH": str(programs), "COLUMNS": "120"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Erlang: not measured: apt-get install erlang-base" in done.stdout
    assert "pingpong-E" not in done.stdout


@pytest.mark.parametrize("wrong", [["--rows", "pong"], ["--peers", "X"], ["--rounds", "0"]])
def test_wrong_usage_is_refused(wrong: list[str], root: Path, tmp_path: Path) -> None:
    done = bench(root, *wrong, "--out", tmp_path)
    assert done.returncode == 2 and not (tmp_path / "measurements.json").exists()
