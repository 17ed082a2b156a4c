"""Guest programs print the same bytes on the chip as under qemu-riscv64 (C5): those of tests/guest, in detail.

A program needs no entry here: each source in tests/guest is one program. `NAME.args` beside it holds its arguments,
one a line, `NAME.stdin` its input. One that must not be compared has a line `// no-qemu: REASON` in its first ten.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "guest"


def is_compared(source: Path) -> bool:
    return "no-qemu:" not in "".join(source.read_text().splitlines(keepends=True)[:10])


NEEDS_QEMU = pytest.mark.skipif(
    shutil.which("qemu-riscv64") is None, reason="qemu-riscv64 is not installed (tools/bootstrap)"
)
THREADED = [
    "threads", "pthreads", "openmp", "system", "spinning", "thread_signals", "waits", "many_threads", "openmp_more",
    "heap", "reservations", "one_set", "epoll", "timers", "socket_events",
]  # fmt: skip
PROGRAMS = sorted(s.stem for s in SOURCES.glob("*.c*") if s.suffix in {".c", ".cpp"} and is_compared(s))


def run(command: list[str | Path], folder: Path, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=False)


def expected_status(returncode: int) -> int:
    """Exit status as a shell says it: qemu-riscv64 dies of the signal that its guest died of."""
    return returncode if returncode >= 0 else 128 - returncode


def run_in(folder: Path, command: list[str | Path], program: str, guests: Path) -> subprocess.CompletedProcess[bytes]:
    """The program with its arguments and input, in an empty folder as programs may write files."""
    arguments = (SOURCES / f"{program}.args").read_text().splitlines() if (SOURCES / f"{program}.args").exists() else []
    stdin = (SOURCES / f"{program}.stdin").read_bytes() if (SOURCES / f"{program}.stdin").exists() else b""
    (folder / program).symlink_to(guests / program)
    return run([*command, f"./{program}", *arguments], folder, stdin)


@functools.cache
def under_qemu(program: str, guests: Path) -> subprocess.CompletedProcess[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return run_in(Path(folder), ["qemu-riscv64"], program, guests)


def compare(program: str, options: list[str], guests: Path, rubato_chip: Path, folder: Path) -> None:
    reference = under_qemu(program, guests)
    (folder / "chip").mkdir()
    command = [rubato_chip, "--quiet", "--out", folder / "run", *options]
    chip = run_in(folder / "chip", command, program, guests)
    assert chip.stdout == reference.stdout, chip.stderr.decode(errors="replace")[-2000:]
    # The command's own exit code is 1 for every guest that exits with something else than 0.
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert summary["guest_status"] == expected_status(reference.returncode)
    assert (chip.returncode == 0) == (reference.returncode == 0), chip.stderr.decode(errors="replace")[-2000:]


@NEEDS_QEMU
@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_it_prints_under_qemu(
    program: str, cores: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    compare(program, ["--set", f"chip.cores={cores}"], guests, rubato_chip, tmp_path)


# Cores that make no rectangle of tiles, detail from the first instruction, checks of every coherence invariant, more
# cores than threads, slices so short that every thread is preempted all the time.
CHIPS = {
    "3 cores in detail from the start": ["--no-ff", "--set", "chip.cores=3"],
    "16 cores, coherence checked": ["--set", "chip.cores=16", "--set", "coherence.check=true"],
    "64 cores": ["--set", "chip.cores=64"],
    "2 cores, short slices, strict order": [
        "--set", "chip.cores=2", "--set", "run.time_slice=500", "--set", "run.lookahead_cycles=0",
    ],
}  # fmt: skip


@NEEDS_QEMU
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("program", THREADED)
def test_threads_print_the_same_on_every_chip(
    program: str, chip: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    compare(program, CHIPS[chip], guests, rubato_chip, tmp_path)


@pytest.mark.parametrize("cores", [2, 16])
def test_a_store_conditional_succeeds_while_nobody_else_writes(cores: int, guests: Path, rubato_chip: Path) -> None:
    """Without it, that reservations.c must fail to store would prove nothing."""
    command: list[str | Path] = [rubato_chip, "--quiet", "--cores", str(cores), guests / "reservations", "control"]
    assert run(command, guests, b"").stdout == b"alone: sc succeeds\n"


def output_of(rubato_chip: Path, folder: Path, *command: str | Path) -> bytes:
    """Output of a program that must end by itself, well before the given cycle."""
    done = run([rubato_chip, "--quiet", "--out", folder / "run", "--max-cycles", "60000000", *command], folder, b"")
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout


# Caches in which the words of one_set.c and the locks of malloc share a set, with as many ways as named.
FEW_WAYS = [
    (2, "l2.ways=1"), (2, "llc.ways=1"), (4, "l1d.ways=1"), (4, "l2.ways=2"), (8, "l2.ways=2"), (8, "l2.ways=1"),
    (16, "llc.ways=4"), (16, "llc.ways=1"), (16, "llc.ways=16"), (64, "llc.ways=2"),
]  # fmt: skip


@pytest.mark.parametrize(("cores", "ways"), FEW_WAYS)
def test_cores_that_reserve_lines_of_one_set_get_on(
    cores: int, ways: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    chip = ["--cores", str(cores), "--set", ways, "--set", "coherence.check=true"]
    assert output_of(rubato_chip, tmp_path, *chip, guests / "one_set") == b"1600\n"
    assert output_of(rubato_chip, tmp_path, *chip, guests / "task_one_set") == b"2400\n"


@pytest.mark.parametrize(
    "chip", [["--cores", "4"], ["--cores", "4", "--set", "run.time_slice=500"], ["--cores", "12", "--no-ff"]]
)
def test_threads_run_where_their_affinity_allows(
    chip: list[str], guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    cores = (1 << int(chip[1])) - 1
    assert output_of(rubato_chip, tmp_path, *chip, guests / "affinity").decode().splitlines() == [
        f"at first: {cores:x}",
        "pinned: 0 wrong",
        "inherited: 0 wrong",
        "from outside: 0 wrong",
        "none: -1 EINVAL",
        "no such core: -1 EINVAL",
        "one of two: 0, then 2",
    ]


def test_a_task_that_waits_for_its_thread_is_told_why(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    done = run([rubato_chip, "--quiet", "--out", tmp_path / "run", guests / "task_starts_thread"], tmp_path, b"")
    assert done.returncode == 4
    assert b"is ready, but only tasks run until run() ends" in done.stderr


@pytest.mark.parametrize("detail", ["true", "false"])
def test_a_thread_may_call_run_while_another_one_is_about_to_join_it(
    detail: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    chip = ["--cores", "2", "--set", f"run.fast_forward={detail}"]
    assert output_of(rubato_chip, tmp_path, *chip, guests / "task_run_in_thread") == b"ran\n"


def test_an_empty_resource_handle_is_locale_0_and_cannot_be_removed(
    guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    program = guests / "task_empty_resource"
    assert output_of(rubato_chip, tmp_path, "--cores", "4", program) == b"ran\n"
    done = run([rubato_chip, "--quiet", "--out", tmp_path / "run", program, "remove"], tmp_path, b"")
    assert done.returncode == 3
    assert b"remove() was called with an empty resource handle" in done.stderr
