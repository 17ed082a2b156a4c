"""`rubato repeat`: a run directory is enough to run again, with the same results to the bit."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUBATO = ROOT / ".venv" / "bin" / "rubato"


def rubato(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RUBATO, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)  # fmt: skip


@pytest.fixture
def first(guests: Path, tmp_path: Path) -> Path:
    """A run whose input is named relative to where it ran, of a copy of the program."""
    program = tmp_path / "sssp"
    program.write_bytes((guests / "sssp").read_bytes())
    program.chmod(0o755)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "g.txt").write_text("0 1\n1 2\n0 3\n")
    done = rubato(tmp_path, "run", "./sssp", "--cores", "4", "--seed", "3", "--set", "l2.size=128KiB", "--env", "A=1",
                  "--out", "runs/a", "--", "--graph", "in/g.txt", "--unit-lengths")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path / "runs" / "a"


def test_a_run_is_repeated_from_anywhere(first: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = rubato(elsewhere, "repeat", first, "--out", "again")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"All statistics are those of {first}.\n")
    assert (elsewhere / "again" / "stats.json").read_bytes() == (first / "stats.json").read_bytes()
    assert (elsewhere / "again" / "output.txt").read_bytes() == (first / "output.txt").read_bytes()


def test_a_difference_is_told(first: Path) -> None:
    stats = json.loads((first / "stats.json").read_text())
    stats["run"]["chip.cycles"] += 1
    (first / "stats.json").write_text(json.dumps(stats))
    done = rubato(first.parent, "repeat", first, "--out", "again")
    assert done.returncode == 1
    assert done.stderr == f"rubato: 1 statistic differs from what {first} has; `rubato compare` shows which.\n"


@pytest.mark.parametrize(("break_it", "sentence"), [
    (lambda run: (run / "run.toml").unlink(), "holds no run"),
    (lambda run: (run / "run.toml").write_text("format = 9\n"), "is of format 9, and this Rubato reads format 1"),
    (lambda run: (run / "run.toml").write_text("format = 1\n"), "has no program"),
    (lambda run: (run.parents[1] / "sssp").unlink(), "is no longer there"),
    (lambda run: (run.parents[1] / "sssp").write_bytes(b"x"), "has changed since; --changed repeats with it"),
])  # fmt: skip
def test_what_cannot_be_repeated_is_refused(break_it, sentence: str, first: Path) -> None:
    break_it(first)
    done = rubato(first.parent, "repeat", first, "--out", "again")
    assert done.returncode == 2
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (first.parent / "again").exists()


def test_a_run_is_not_repeated_into_itself(first: Path) -> None:
    done = rubato(first.parent, "repeat", first, "--out", first, "--force")
    assert done.returncode == 2 and "into itself" in done.stderr
    assert (first / "stats.json").exists()


def test_a_native_run_is_repeated(build: Path, tmp_path: Path) -> None:
    words = ["run", "bfs", "--engine", "native", "--out", "runs/a", "--", "--generate", "rmat:8:8"]
    assert rubato(tmp_path, *words).returncode == 0
    done = rubato(tmp_path, "repeat", "runs/a", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again" / "output.txt").read_text() == (tmp_path / "runs/a/output.txt").read_text()
