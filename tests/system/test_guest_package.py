"""Guest programs of a project outside the tree, against an install prefix: the project of docs/guest-programs.md."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from test_docs import File, steps
from test_package import call, configure, folder_beside_builds, install


@pytest.fixture(scope="module")
def prefix(rubato_chip: Path) -> Iterator[Path]:
    """Headers, host libraries and the package; the simulator as `cmake --install` of a whole build puts it."""
    with folder_beside_builds("guest") as folder:
        found = install(folder, "-DRUBATO_TM=OFF")
        (found / "bin").mkdir(exist_ok=True)
        (found / "bin" / "rubato-chip").symlink_to(rubato_chip)
        yield found


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """An empty folder with the files of the page."""
    for step in steps((root / "docs" / "guest-programs.md").read_text()):
        assert isinstance(step, File), "its commands need an installation: they stand in blocks of sh"
        (tmp_path / step.name).parent.mkdir(exist_ok=True)
        (tmp_path / step.name).write_text(step.text)
    return tmp_path


def package_of(prefix: Path) -> Path:
    return next(prefix.glob("lib*/**/rubatoConfig.cmake")).parent


def test_a_project_has_programs_for_chip_and_host(project: Path, prefix: Path, rubato_chip: Path) -> None:
    configure(project, project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    call("ninja", "-j2", "-C", project / "build")
    for program in ("walk-native", "walk-serial"):
        assert call(project / "build" / program) == "10 steps\n"
    guest = project / "build" / "guest" / "walk"
    assert call(rubato_chip, "--quiet", "--cores", "4", guest) == "10 steps\n"
    home = project / "home"
    (home / "apps").mkdir(parents=True)
    (home / "bin").symlink_to(rubato_chip.parent)
    out = call(sys.executable, "-m", "rubato", "run", guest, "--cores", "4", "--out", project / "run",
               env=os.environ | {"RUBATO_HOME": str(home)})
    assert "10 steps" in out and "walk on 4 simulated cores" in out
    # Headers are tracked.
    (project / "walk.cpp").write_text('#include "more.hpp"\n' + (project / "walk.cpp").read_text())
    for text in ("#define STEPS 1\n", "#define STEPS 2\n"):
        (project / "more.hpp").write_text(text)
        assert "Building guest object walk/walk.cpp" in call("ninja", "-C", project / "build", "guest_walk")


def test_with_the_toolchain_file_every_target_is_a_guest_program(project: Path, prefix: Path) -> None:
    configure(project / "guests", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
              f"-DCMAKE_TOOLCHAIN_FILE={package_of(prefix)}/guest-toolchain.cmake")
    call("ninja", "-j2", "-C", project / "build")
    header = (project / "build" / "guest" / "walk").read_bytes()[:20]
    assert header[:4] == b"\x7fELF" and header[18] == 243, "of RISC-V"
    assert "100% tests passed, 0 tests failed out of 1" in call("ctest", "--test-dir", project / "build")


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("rubato_add_guest(walk)", "rubato_add_guest(walk) names no source file"),
        ("rubato_add_guest(walk walk.cpp CAPALLOC)", "asks for CAPALLOC, which this installation"),
    ],
)
def test_wrong_calls_are_said(project: Path, prefix: Path, line: str, sentence: str) -> None:
    (project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES CXX)\nfind_package(rubato REQUIRED)\n{line}\n")
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", project, "-B", project / "b", f"-DCMAKE_PREFIX_PATH={prefix}"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert sentence in " ".join(done.stderr.split())
