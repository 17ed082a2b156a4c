"""astar on the chip: every type of task on roads, with its own check passed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

DATA = Path(os.environ.get("RUBATO_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def astar(rubato_chip: Path, guests: Path, cores: int, *arguments: str) -> str:
    command = [rubato_chip, "--cores", str(cores), "--check-replay", guests / "astar", *arguments, "--verify"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("kind", ["mayspec", "spec", "nonspec"])
@pytest.mark.parametrize("cores", [1, 4, 16, 64])
def test_a_route_passes_its_check(cores: int, kind: str, rubato_chip: Path, guests: Path) -> None:
    out = astar(rubato_chip, guests, cores, "--generate", "road:30x30", "--type", kind)
    assert "with an estimate from coordinates" in out
    assert "check: passed" in out


def test_chip_and_host_settle_the_same_vertices(rubato_chip: Path, guests: Path, build: Path) -> None:
    arguments = ["--generate", "road:24x24", "--seed", "5"]
    host = subprocess.run(
        [build / "bin" / "astar-serial", *arguments], capture_output=True, text=True, check=True
    ).stdout
    assert [line for line in host.splitlines() if line not in astar(rubato_chip, guests, 4, *arguments)] == []


def test_california_is_crossed(rubato_chip: Path, guests: Path) -> None:
    graph = DATA / "california.gr"
    if not graph.exists():
        pytest.skip(f"{graph} is not here")
    assert "check: passed" in astar(rubato_chip, guests, 16, "--graph", str(graph), "--target", "200")


def test_malformed_coordinates_are_refused_with_file_and_line(build: Path, tmp_path: Path) -> None:
    (tmp_path / "two.gr").write_text("p sp 2 1\na 1 2 5\n")
    (tmp_path / "two.co").write_text("p aux sp co 2\nv 1 0 x\n")
    command = [build / "bin" / "astar-serial", "--graph", tmp_path / "two.gr"]
    command += ["--coordinates", tmp_path / "two.co"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{tmp_path}/two.co:2: the y coordinate is not a whole number" in done.stderr
