"""A home with stand-ins for the simulator and a native program, and one application, for every test that does not ask
for the real ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

os.environ.pop("COLUMNS", None)  # what is set before the command is imported holds for good
sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))  # scripts that are imported find their harness there

APP = """
name = "sssp"
summary = "Shortest paths from one node"
source = "Espresso, Listing 1"
inputs = "DIMACS .gr, Matrix Market .mtx, edge lists"
verify_flag = "--verify"
mode_flag = "--type"
[[options]]
flag = "--graph FILE"
help = "the graph"
[[options]]
flag = "--source N"
help = "first node"
[[options]]
flag = "--verify"
help = "compare with the serial reference"
"""


def make_home(home: Path) -> Path:
    """A home as RUBATO_HOME points to it: bin, guest, apps, configs."""
    (home / "bin").mkdir(parents=True)
    (home / "guest").mkdir()
    (home / "apps/sssp").mkdir(parents=True)
    (home / "configs").mkdir()
    script = (Path(__file__).parent / "fake_chip.py").read_text()
    chip = home / "bin/rubato-chip"
    chip.write_text(script.replace("/usr/bin/env python3", sys.executable, 1))
    chip.chmod(0o755)
    native = home / "bin/sssp-native"
    native.write_text((Path(__file__).parent / "fake_native.py").read_text())
    native.chmod(0o755)
    (home / "guest/sssp").write_bytes(b"\x7fELF not really")
    (home / "apps/sssp/app.toml").write_text(APP)
    (home / "configs/small.toml").write_text("[l2]\nsize = 65536\n")
    return home


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory) -> Path:
    return make_home(tmp_path_factory.mktemp("home") / "h")


@pytest.fixture
def home(shared_home, monkeypatch, tmp_path) -> Path:
    """The stand-in's home, and an empty working directory."""
    monkeypatch.setenv("RUBATO_HOME", str(shared_home))
    monkeypatch.setenv("COLUMNS", "120")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return shared_home


@pytest.fixture
def own_home(monkeypatch, tmp_path) -> Path:
    """A home of the test's own, to be broken at will."""
    home = make_home(tmp_path / "home")
    monkeypatch.setenv("RUBATO_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    yield home
    shutil.rmtree(home)
