"""Calls and files of Linux that qemu-riscv64 has not, or shows of the host: what the chip answers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "guest"
PROC = """pid 1, parent 1, threads 1, user 1
8 MiB more: 8192 KiB; most: 1
in pages the same: 1
stat: 3, this 1 proc_files R
its 23rd field: 1
auxv: entry 1
limits: files 1
smaps: 1
no such file: -1
not written: -1 EACCES
tasks 2, named a-thread
of the thread: 1
it has ended: -1
descriptors 4
reads 1 a
may not write: -1
truncated to 0
written 3, seen 3
without a name: 3
status of the file: 1
memory: 2
the pipe's other end: 1 1
its end: 0
a socket: -1 ENXIO
readlink 1
the program itself is not written: -1 EACCES
no folder: -1 ENOTDIR
"""


def run(folder: Path, *command: str | Path) -> str:
    folder.mkdir()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode()


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
def test_rare_calls_answer_as_the_host_does(
        guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    """The same source, compiled for this computer."""
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", tmp_path / "native", SOURCES / "rare_calls.c"], check=True)
    host = run(tmp_path / "host", tmp_path / "native")
    chip = run(tmp_path / "chip", rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "rare_calls")
    assert chip == host


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"], ["--cores", "2", "--sandbox", "chip"]])
def test_inotify_tells_of_the_changes_that_the_host_tells_of(
        guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    """The same source, compiled for this computer."""
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", tmp_path / "native", SOURCES / "inotify.c"], check=True)
    host = run(tmp_path / "host", tmp_path / "native")
    options = [str(tmp_path / option) if option == "chip" else option for option in options]
    chip = run(tmp_path / "chip", rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "inotify")
    assert chip == host
    assert chip.count("move 0 ") == 2, "both halves of a move have one number"


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
def test_the_bound_of_descriptors_is_that_of_the_host(
        guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    source = SOURCES / "descriptor_limit.c"
    subprocess.run(["gcc", "-O1", "-w", "-o", tmp_path / "native", source], check=True)
    host = run(tmp_path / "host", tmp_path / "native")
    command = [rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "descriptor_limit"]
    assert run(tmp_path / "chip", *command) == host


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
def test_files_of_proc_agree_with_calls(guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    command = [rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "proc_files"]
    assert run(tmp_path / "chip", *command) == PROC
