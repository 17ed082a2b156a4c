"""Real programs under a simulator and under qemu-riscv64: the same bytes, the same exit status (C1 to C3, C5).

The simulator is `run-functional` (fast-forward only), or what RUBATO_GUEST_RUNNER names, for example
`build/release/bin/rubato-chip --set chip.cores=4`: the list and the comparison are the same.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

GOOD = [
    ("hello", ["one", "two three"]),
    ("exceptions", []),
    ("files", []),
    ("containers", []),
    ("threads", []),
    ("pthreads", []),
    ("openmp", []),
    ("system", []),
    ("static_pie", []),
    ("spinning", []),
    ("thread_signals", []),
    ("waits", []),
    ("many_threads", []),
    ("openmp_more", []),
]


@pytest.fixture(scope="session")
def runner(build: Path) -> list[str]:
    """The command that runs a guest program."""
    if command := os.environ.get("RUBATO_GUEST_RUNNER"):
        return shlex.split(command)
    program = build / "bin" / "run-functional"
    assert program.exists(), f"{program} does not exist; run `make build`"
    return [str(program)]


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False)


@pytest.mark.parametrize(("name", "arguments"), GOOD, ids=[name for name, _ in GOOD])
def test_prints_what_it_prints_under_qemu(name, arguments, runner, guests, tmp_path):
    qemu = shutil.which("qemu-riscv64")
    assert qemu, "qemu-riscv64 is missing: apt-get install qemu-user"
    program = str(guests / name)
    ours = run([*runner, program, *arguments], tmp_path)
    theirs = run([qemu, program, *arguments], tmp_path)
    assert ours.stdout == theirs.stdout, ours.stderr.decode()
    assert ours.returncode == theirs.returncode


@pytest.mark.parametrize("name", ["threads", "openmp"])
def test_two_runs_are_equal(name, runner, guests, tmp_path):
    first, second = (run([*runner, str(guests / name)], tmp_path) for _ in range(2))
    assert (first.stdout, first.stderr, first.returncode) == (second.stdout, second.stderr, second.returncode)


BAD = [
    ("wild_pointer", 3, ["wrote address 0x123456789000", "not mapped", "main+", "sd "]),
    ("wild_jump", 3, ["jumped to 0x40", "not mapped", "called from main"]),
    ("stack_overflow", 3, ["overflowed its stack", "sink+"]),
    ("illegal_instruction", 3, ["illegal instruction 0xffffffff", "main"]),
    ("aborts", 3, ["SIGABRT"]),
    ("deadlock", 4, ["thread 1000 at", "(right), a mutex held by thread 1001", "(left), a mutex held by thread 1000"]),
]


@pytest.mark.parametrize(("name", "status", "words"), BAD, ids=[name for name, _, _ in BAD])
def test_a_bad_program_ends_in_a_report(name, status, words, runner, guests, tmp_path):
    result = run([*runner, str(guests / name)], tmp_path)
    report = result.stderr.decode()
    assert result.returncode == status, report
    for word in words:
        assert word in report


def test_an_endless_loop_ends_at_the_limit(build, guests, tmp_path):
    program = str(build / "bin" / "run-functional")
    result = run([program, "--max-instructions", "1000000", str(guests / "endless_loop")], tmp_path)
    assert result.returncode == 4
    assert "spin_for_ever" in result.stderr.decode() or "main" in result.stderr.decode()


@pytest.mark.parametrize("sandboxed", [False, True])
def test_nothing_is_written_outside(sandboxed, build, guests, tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    outside = tmp_path / "outside"
    command = [str(build / "bin" / "run-functional")]
    if sandboxed:
        command += ["--sandbox", str(box)]
    result = run([*command, str(guests / "escape"), str(outside), *(["read"] if sandboxed else [])], box)
    assert result.stdout == b"0 escapes\n", result.stdout
    assert result.returncode == 0
    assert not outside.exists()
    assert list(box.iterdir()) == []
    assert b"refused to" in result.stderr


def elf(changes: dict[int, bytes], guests: Path) -> bytes:
    data = bytearray((guests / "hello").read_bytes())
    for offset, value in changes.items():
        data[offset : offset + len(value)] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({18: b"\x3e\x00"}, "x86-64"),
        ({18: b"\x28\x00"}, "ARM"),
        ({4: b"\x01"}, "32-bit"),
        ({5: b"\x02", 18: b"\x00\xf3"}, "big-endian"),
        ({16: b"\x01\x00"}, "relocatable object"),
        ({0: b"#!/bin/sh\n"}, "script"),
        ({0: b"MZ"}, "not an ELF file"),
        ({32: b"\xff" * 8}, "truncated"),
        ({24: b"\x00" * 8}, "entry point"),
    ],
)
def test_what_is_no_static_risc_v_program_is_named(changes, words, runner, guests, tmp_path):
    program = tmp_path / "program"
    program.write_bytes(elf(changes, guests))
    result = run([*runner, str(program)], tmp_path)
    assert result.returncode == 2
    assert words in result.stderr.decode()
    assert len(result.stderr.decode().strip().splitlines()) == 1


@pytest.mark.parametrize("length", [0, 3, 17, 40, 64, 100, 5000])
def test_truncated_programs_are_refused(length, runner, guests, tmp_path):
    program = tmp_path / "program"
    program.write_bytes((guests / "hello").read_bytes()[:length])
    result = run([*runner, str(program)], tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.decode().strip().splitlines()) == 1


def test_a_dynamic_program_is_refused(runner, tmp_path):
    compiler = shutil.which("riscv64-linux-gnu-gcc")
    assert compiler
    source = tmp_path / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    program = tmp_path / "program"
    subprocess.run([compiler, str(source), "-o", str(program)], check=True)
    result = run([*runner, str(program)], tmp_path)
    assert result.returncode == 2
    assert "link with -static" in result.stderr.decode()


def test_missing_programs_and_folders_are_refused(runner, tmp_path):
    for path, words in [(tmp_path / "missing", "No such file"), (tmp_path, "is a directory")]:
        result = run([*runner, str(path)], tmp_path)
        assert result.returncode == 2
        assert words in result.stderr.decode()
