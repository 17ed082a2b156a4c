"""Fast-forward as a mode of its own, the exit status of the guest, and timers on CPU time in each mode."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
SOURCE = r"""
#include <signal.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  for (volatile long i = 0; i < 100000; ++i) {
  }
  if (argv[1][0] == 's') raise(SIGTERM);
  if (argv[1][0] == 'n') *(volatile int*)0 = 1;
  return atoi(argv[1]);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that ends as its argument says."""
    folder = tmp_path_factory.mktemp("ends")
    (folder / "ends.c").write_text(SOURCE)
    command = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", folder / "ends.c", "-o", folder / "ends"]
    subprocess.run(command, check=True)
    return folder / "ends"


def status(*command: str | Path) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode


@pytest.mark.parametrize("mode", ["--no-ff", "--fast-forward"])
@pytest.mark.parametrize(
    ("argument", "of_guest", "of_chip"), [("0", 0, 0), ("77", 77, 1), ("127", 127, 1), ("s", 143, 3), ("n", 139, 3)]
)
def test_the_exit_status_is_the_guests_if_asked_for(
    mode: str, argument: str, of_guest: int, of_chip: int, program: Path, rubato_chip: Path
) -> None:
    assert status(rubato_chip, "--quiet", mode, "--guest-status", program, argument) == of_guest
    assert status(rubato_chip, "--quiet", mode, program, argument) == of_chip


def test_what_ends_the_simulator_itself_is_no_status_of_the_guest(program: Path, rubato_chip: Path) -> None:
    assert status(rubato_chip, "--quiet", "--guest-status", "--max-cycles", "1000", program, "0") == 4
    assert status(rubato_chip, "--quiet", "--guest-status", "--set", "no.key=1", program, "0") == 2


def test_fast_forward_counts_all_instructions_and_no_cycles(program: Path, rubato_chip: Path, tmp_path: Path) -> None:
    command = [rubato_chip, "--fast-forward", "--out", tmp_path, program, "0"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["cycles"] == 0
    assert summary["instructions"] == summary["host"]["total_instructions"]
    assert 300_000 < summary["instructions"] < 1_000_000  # the loop has four or five instructions
    assert f"ends in fast-forward: {summary['instructions']} instructions, no cycles" in done.stderr
    assert "nothing was measured" not in done.stderr


@pytest.mark.parametrize("other", [["--no-ff"], ["--roi", "main"]])
def test_fast_forward_excludes_other_regions(other: list[str], program: Path, rubato_chip: Path) -> None:
    command = [rubato_chip, "--fast-forward", *other, program, "0"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert "leave out --no-ff and --roi" in done.stderr


def test_tasks_run_in_detail_even_so(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    chip = [rubato_chip, "--quiet", "--fast-forward", "--cores", "4", "--out", tmp_path]
    assert status(*chip, guests / "task_zeroed_blocks") == 0
    assert json.loads((tmp_path / "summary.json").read_text())["tasks"]["committed"] > 0


def test_a_run_without_a_region_is_measured_as_a_whole(rubato_chip: Path, tmp_path: Path) -> None:
    """A program with tasks that never calls run(), simulated in detail."""
    source = '#include <cstdio>\n#include "rubato/rubato.hpp"\nint main(int n, char**) {\n'
    source += "  rubato::create<rubato::mayspec>([] {}, {});\n  if (n > 1) rubato::run();\n  std::puts(\"done\");\n}\n"
    (tmp_path / "idle.cpp").write_text(source)
    compiler = ["riscv64-linux-gnu-g++", "-std=c++20", "-O2", "-static", "-I", INCLUDE]
    subprocess.run([*compiler, tmp_path / "idle.cpp", "-o", tmp_path / "idle"], check=True)
    figures = []
    for arguments in ([], ["run"]):
        command = [rubato_chip, "--no-ff", "--out", tmp_path / "run", tmp_path / "idle", *arguments]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        summary = json.loads((tmp_path / "run" / "summary.json").read_text())
        whole = json.loads((tmp_path / "run" / "stats.json").read_text())["run"]
        figures.append((summary["cycles"], whole["chip.cycles"], done.stderr))
    (cycles, of_run, said), (of_region, of_second_run, said_of_region) = figures
    assert 0 < cycles == of_run
    assert "the program never called run(): the figures are of the whole run" in said
    assert 0 < of_region < of_second_run
    assert "never called" not in said_of_region


@pytest.mark.parametrize("mode", [["--no-ff"], ["--fast-forward"]])
def test_a_store_conditional_without_reservation_fails_in_each_mode(
    mode: list[str], guests: Path, rubato_chip: Path
) -> None:
    done = subprocess.run([rubato_chip, "--quiet", *mode, guests / "failing_sc"], capture_output=True, check=True)
    assert done.stdout == b"1 1 1\nwith a reservation: signal 11\n"


@pytest.mark.parametrize(
    "mode", [["--no-ff"], ["--no-ff", "--cores", "2"], ["--fast-forward"], ["--no-ff", "--set", "core.model=window"]]
)
def test_timers_on_cpu_time_run_while_threads_run(mode: list[str], guests: Path, rubato_chip: Path) -> None:
    command = [rubato_chip, "--quiet", *mode, guests / "profiling_timers"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == [
        "ITIMER_PROF: ten while busy, none in a sleep, left in time",
        "ITIMER_PROF: off: 0 0",
        "ITIMER_VIRTUAL: ten while busy, none in a sleep, left in time",
        "ITIMER_VIRTUAL: off: 0 0",
        "no such timer: -1 Invalid argument",
        "of two threads: 1",
        "clock 0: ten, left in time",
        "clock 0: absolute: 1",
        "clock 1: ten, left in time",
        "clock 1: absolute: 1",
    ]
