"""The wheel of tools/wheel, in a bare virtual environment: no compiler, no source tree, no library of this machine."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def call(*command: str | Path, folder: Path = ROOT, **options) -> str:
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    call("tools/wheel", "--out", out)
    file, = out.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "venv"
    call(sys.executable, "-m", "venv", folder)
    call(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "5", wheel)
    return folder


def test_the_name_says_what_it_runs_on(wheel: Path) -> None:
    assert re.fullmatch(r"rubato-[\d.]+-py3-none-manylinux_2_\d+_x86_64\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("lib/licenses/libfmt.so.9") for name in names) == Path("/usr/share/doc/libfmt9").exists()
    assert "rubato/_home/include/rubato/rubato.hpp" in names


def test_it_brings_all_libraries_but_glibc(environment: Path) -> None:
    program, = environment.rglob("_home/bin/rubato-chip")
    foreign = [file for file in re.findall(r"=> (/\S+)", call("ldd", program))
               if program.parent.parent.resolve() not in Path(file).resolve().parents]
    assert foreign
    assert all(re.search(r"/lib(c|m)\.so\.6$", file) for file in foreign), foreign


def test_an_application_runs_and_is_reported(environment: Path, tmp_path: Path) -> None:
    rubato = environment / "bin" / "rubato"
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    call(rubato, "sweep", "--program", "sssp", "--cores", "1,4", "--out", "runs/s", "--", "--generate", "road:40x40",
         "--verify", folder=tmp_path, env=bare)
    call(rubato, "report", "runs/s", "--out", "report.html", folder=tmp_path, env=bare)
    assert "sssp" in (tmp_path / "report.html").read_text()
    applications = call(rubato, "apps", "--json", folder=tmp_path, env=bare)
    assert "mis" in applications
    configured = call(rubato, "run", "sssp", "--config", "espresso-16", "--json", "--", "--generate", "road:20x20",
                      folder=tmp_path, env=bare)
    assert '"cores": 16' in configured
