"""GDB on a simulated program: `rubato-chip --gdb PORT`."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NEEDS_GDB = pytest.mark.skipif(shutil.which("gdb-multiarch") is None,
                               reason="gdb-multiarch is not installed (tools/bootstrap)")


@contextmanager
def waiting(rubato_chip: Path, *command: str | Path) -> Iterator[tuple[subprocess.Popen, int]]:
    """The simulator, and the port where it waits for a debugger."""
    process = subprocess.Popen([rubato_chip, "--quiet", "--gdb", "0", *command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        yield process, int(re.search(r"target remote :(\d+)", line)[1])
    finally:
        process.kill()
        process.communicate()


def debug(program: Path, port: int, *commands: str) -> str:
    """Output of GDB for these commands."""
    words = ["gdb-multiarch", "-nx", "-q", "-batch", program, "-ex", "set pagination off",
             "-ex", "set can-use-hw-watchpoints 0", "-ex", f"target remote :{port}"]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


FAST_FORWARD = ("--roi", "main")
DETAIL = ("--no-ff", "--cores", "4")


@NEEDS_GDB
@pytest.mark.parametrize("chip", [FAST_FORWARD, DETAIL, ("--cores", "1")])
def test_breakpoints_stop_a_program(chip: tuple[str, ...], rubato_chip: Path, guests: Path) -> None:
    program = guests / "hello"
    with waiting(rubato_chip, *chip, program) as (chip_process, port):
        text = debug(program, port, "break main", "continue", "info threads",
                     "stepi", "stepi", "delete", "continue")
        printed, errors = chip_process.communicate()
    assert re.search(r"Breakpoint 1, .*main", text), text
    assert "Thread 1000" in text
    assert "exited with code 07" in text
    plain = subprocess.run([rubato_chip, "--quiet", program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           check=False)
    assert printed == plain.stdout
    assert chip_process.returncode == plain.returncode == 1, errors


@NEEDS_GDB
def test_each_task_stops_once(rubato_chip: Path, guests: Path) -> None:
    program = guests / "hello_task"
    with waiting(rubato_chip, "--cores", "4", program) as (chip_process, port):
        text = debug(program, port, "break hello", *["continue"] * 4)
        printed, errors = chip_process.communicate()
    assert len(re.findall("Breakpoint 1, .*hello", text)) == 3, text
    assert "exited normally" in text
    assert printed.splitlines() == [f"hello from timestamp {i}" for i in range(3)]
    assert chip_process.returncode == 0, errors


@NEEDS_GDB
def test_speculative_tasks_stop_and_the_result_stays(rubato_chip: Path, guests: Path) -> None:
    program = guests / "sssp"
    names = subprocess.run(["riscv64-linux-gnu-nm", "-C", program], capture_output=True, text=True, check=True).stdout
    tasks = re.findall(r"^(\w+) t [^{}\n]*::visit<[^{}\n]*>\(rubato::apps::VertexLine\*\)$", names, re.MULTILINE)
    assert len(tasks) == 3, names
    command = ["--cores", "16", program, "--generate", "road:8x8", "--verify", "--type", "spec"]
    with waiting(rubato_chip, *command) as (chip_process, port):
        text = debug(program, port, *[f"break *0x{task}" for task in tasks], *["continue"] * 5, "delete", "continue")
        printed, errors = chip_process.communicate()
    assert len(re.findall(r"hit Breakpoint \d, ", text, re.MULTILINE)) == 5, text
    assert "exited normally" in text
    assert "check: passed" in printed
    assert chip_process.returncode == 0, errors


@NEEDS_GDB
def test_a_fault_stops_before_the_run_ends(rubato_chip: Path, guests: Path) -> None:
    program = guests / "wild_pointer"
    with waiting(rubato_chip, program) as (chip_process, port):
        text = debug(program, port, "continue", "backtrace", "continue")
        _, errors = chip_process.communicate()
    assert "SIGSEGV" in text
    assert "The program no longer exists" in text
    assert chip_process.returncode == 3
    assert "which is not mapped" in errors


@NEEDS_GDB
def test_the_debugger_changes_memory_and_registers(rubato_chip: Path, guests: Path) -> None:
    program = guests / "hello"
    with waiting(rubato_chip, *DETAIL, program) as (chip_process, port):
        text = debug(program, port, "break main", "continue", "set $s1 = 77", "print $s1", "set $fa0 = 2.5",
                     "print $fa0", "set *(int *)($sp - 64) = 1234", "print *(int *)($sp - 64)", "kill")
        chip_process.wait()
    assert "$1 = 77" in text
    assert "double = 2.5" in text
    assert "$3 = 1234" in text
    assert chip_process.returncode == 130


@NEEDS_GDB
def test_a_detached_program_runs_on(rubato_chip: Path, guests: Path) -> None:
    program = guests / "hello"
    with waiting(rubato_chip, program) as (chip_process, port):
        debug(program, port, "break main", "continue", "detach")
        printed, _ = chip_process.communicate()
    assert chip_process.returncode == 1  # as ever: the program exits with 7
    assert printed


def test_a_running_program_is_interrupted_and_ends_with_the_connection(rubato_chip: Path, guests: Path) -> None:
    with waiting(rubato_chip, guests / "endless_loop") as (chip_process, port):
        connection = socket.create_connection(("localhost", port))
        connection.sendall(b"$c#63")
        time.sleep(0.2)
        connection.sendall(b"\x03")
        received = b""
        while b"T02thread:" not in received:
            part = connection.recv(4096)
            assert part, received
            received += part
        connection.close()
        chip_process.wait()
        assert chip_process.returncode == 130
        assert "ended by the debugger" in chip_process.stderr.read()


def test_waiting_for_a_debugger_is_interrupted(rubato_chip: Path, guests: Path) -> None:
    with waiting(rubato_chip, guests / "hello") as (chip_process, _):
        os.kill(chip_process.pid, signal.SIGINT)
        chip_process.wait()
        assert chip_process.returncode == 130


@pytest.mark.parametrize("port", ["x", "65536", "-1"])
def test_a_wrong_port_is_refused(port: str, rubato_chip: Path, guests: Path) -> None:
    done = subprocess.run([rubato_chip, f"--gdb={port}", guests / "hello"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"rubato-chip: --gdb is '{port}', expected a port, 0 to 65535\n"
