"""`cmake -P cmake/uninstall.cmake` removes what `cmake --install` put under a prefix, and nothing else."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(small LANGUAGES NONE)
install(FILES a.h DESTINATION include/deep/small COMPONENT dev)
install(FILES b.txt DESTINATION share COMPONENT chip)
"""


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A configured project that installs two files, each of a component of its own."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT)
    for name in ("a.h", "b.txt"):
        (source / name).write_text(name)
    subprocess.run(["cmake", "-S", source, "-B", tmp_path / "build"], check=True, capture_output=True)
    return tmp_path / "build"


def install(build: Path, prefix: Path, *more: str) -> None:
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, *more], check=True, capture_output=True)


def uninstall(root: Path, build: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = ["cmake", f"-DBUILD={build.name}", *more, "-P", root / "cmake" / "uninstall.cmake"]
    return subprocess.run(command, cwd=build.parent, capture_output=True, text=True, check=False)


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_and_empty_folders_go_and_other_files_stay(root: Path, build: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix with spaces"
    install(build, prefix)
    (prefix / "share" / ".mine").write_text("mine")
    done = uninstall(root, build)
    assert done.returncode == 0 and "files removed: 2" in done.stdout, done.stderr
    assert below(prefix) == ["share", "share/.mine"]
    again = uninstall(root, build)
    assert again.returncode == 1 and "nothing was installed from it" in again.stderr


def test_each_component_that_was_installed_is_removed(root: Path, build: Path, tmp_path: Path) -> None:
    for component in ("dev", "chip"):
        install(build, tmp_path / "prefix", "--component", component)
    assert uninstall(root, build).returncode == 0
    assert not (tmp_path / "prefix").exists()


def test_a_file_that_is_gone_already_is_no_error(root: Path, build: Path, tmp_path: Path) -> None:
    install(build, tmp_path / "prefix")
    (tmp_path / "prefix" / "share" / "b.txt").unlink()
    done = uninstall(root, build)
    assert done.returncode == 0 and "files removed: 1" in done.stdout
    assert not (tmp_path / "prefix").exists()


def test_of_another_prefix_nothing_is_removed(root: Path, build: Path, tmp_path: Path) -> None:
    install(build, tmp_path / "first")
    assert uninstall(root, build, "-DPREFIX=fir").returncode == 0
    assert (tmp_path / "first" / "share" / "b.txt").exists()
    assert uninstall(root, build, "-DPREFIX=first").returncode == 0
    assert not (tmp_path / "first").exists()
