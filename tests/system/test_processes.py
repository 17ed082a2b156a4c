"""Processes that a program makes: fork, vfork, posix_spawn, execve, pipes, waits and signals between them.

The same source, compiled for this computer, says what the chip must print.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "guest"
CHECKED = ["--set", "coherence.check=true"]
WINDOW = ["--set", "core.model=window"]
WAYS = {
    "one core": ["--cores", "1"],
    "four cores": ["--cores", "4"],
    "window, one core": ["--cores", "1", *WINDOW],
    "window, four cores": ["--cores", "4", *WINDOW],
    "no fast-forward": ["--cores", "2", "--no-ff"],
    "fast-forward": ["--cores", "2", "--fast-forward"],
    "tiles of two cores": ["--cores", "8", "--set", "chip.cores_per_tile=2", *CHECKED],
    "short slices": ["--cores", "2", "--set", "run.time_slice=700", *CHECKED],
    "short slices, window": ["--cores", "2", "--set", "run.time_slice=700", *WINDOW, *CHECKED],
    "messages": ["--cores", "4", "--set", "coherence.protocol=tokenb", *CHECKED],
    "messages, tile of four cores": [
        "--cores", "4", "--set", "chip.cores_per_tile=4", "--set", "coherence.protocol=sparse", *CHECKED],
    "prefetcher": ["--cores", "4", "--set", "l1d.prefetcher=stride", *CHECKED],
    "prefetcher, messages": [
        "--cores", "2", "--set", "l1d.prefetcher=next_line", "--set", "coherence.protocol=flask", *CHECKED],
    "warm": ["--cores", "2", "--warm"],
    "another name": ["--cores", "2", "--argv0", "/no/such/program"],
}  # fmt: skip


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder, text=True,
        start_new_session=True,  # as a run on the chip begins
    )  # fmt: skip


@pytest.fixture(scope="module")
def on_host(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """What a program prints on this computer."""
    folder = tmp_path_factory.mktemp("host")
    known: dict[tuple[str, ...], str] = {}

    def output(name: str, *arguments: str) -> str:
        key = (name, *arguments)
        if key not in known:
            compiler = ["gcc", "-O1", "-w", "-pthread"]
            subprocess.run([*compiler, "-o", folder / name, SOURCES / f"{name}.c"], check=True)
            done = run(folder / "run", folder / name, *arguments)
            assert done.returncode == 0, done.stderr
            known[key] = done.stdout
        return known[key]

    return output


def on_chip(rubato_chip: Path, options: list[str], folder: Path, program: Path, *arguments: str) -> str:
    done = run(folder / "chip", rubato_chip, "--quiet", *options, "--out", folder / "run", program, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_processes_do_what_they_do_on_the_host(
    on_host: Callable[..., str], guests: Path, rubato_chip: Path, tmp_path: Path, way: str
) -> None:
    assert on_chip(rubato_chip, WAYS[way], tmp_path, guests / "processes") == on_host("processes")


@pytest.mark.parametrize("seed", ["1", "3", "6", "7"])
@pytest.mark.parametrize("way", ["one core", "four cores", "window, four cores", "fast-forward", "short slices",
                                 "messages", "messages, tile of four cores", "prefetcher, messages"])  # fmt: skip
def test_random_children_end_as_on_the_host(
    on_host: Callable[..., str], guests: Path, rubato_chip: Path, tmp_path: Path, way: str, seed: str
) -> None:
    chip = on_chip(rubato_chip, WAYS[way], tmp_path, guests / "process_storm", seed)
    assert chip == on_host("process_storm", seed)


@pytest.mark.parametrize("way", ["one core", "four cores", "window, four cores", "fast-forward"])
def test_file_locks_are_between_processes(
    on_host: Callable[..., str], guests: Path, rubato_chip: Path, tmp_path: Path, way: str
) -> None:
    assert on_chip(rubato_chip, WAYS[way], tmp_path, guests / "file_locks") == on_host("file_locks")


@pytest.mark.parametrize("way", WAYS)
def test_processes_stop_and_go_on_as_on_the_host(
    on_host: Callable[..., str], guests: Path, rubato_chip: Path, tmp_path: Path, way: str
) -> None:
    assert on_chip(rubato_chip, WAYS[way], tmp_path, guests / "job_control") == on_host("job_control")


@pytest.mark.parametrize("program", ["pidfds", "credentials", "process_settings"])
@pytest.mark.parametrize("way", ["one core", "four cores", "window, four cores", "fast-forward", "short slices"])
def test_processes_are_named_as_on_the_host(
    on_host: Callable[..., str], guests: Path, rubato_chip: Path, tmp_path: Path, way: str, program: str
) -> None:
    assert on_chip(rubato_chip, WAYS[way], tmp_path, guests / program) == on_host(program)


@pytest.mark.parametrize("program", ["system_v", "posix_queues", "signal_driven"])
@pytest.mark.parametrize(
    "way", ["one core", "four cores", "window, four cores", "fast-forward", "short slices", "messages"])
def test_processes_share_memory_semaphores_and_queues_as_on_the_host(
    on_host: Callable[..., str], guests: Path, rubato_chip: Path, tmp_path: Path, way: str, program: str
) -> None:
    assert on_chip(rubato_chip, WAYS[way], tmp_path, guests / program) == on_host(program)


STOPS = r"""
#include <pthread.h>
#include <signal.h>
void* wait(void* nothing) { for (;;) pause(); }
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, wait, 0);
  raise(SIGSTOP);
  return 0;
}
"""


@pytest.mark.parametrize("mode", ["--no-ff", "--fast-forward"])
def test_a_stop_that_no_process_ends_is_a_deadlock(rubato_chip: Path, tmp_path: Path, mode: str) -> None:
    (tmp_path / "stops.c").write_text(STOPS)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", "-pthread"]
    subprocess.run([*compiler, "-include", "unistd.h", tmp_path / "stops.c", "-o", tmp_path / "stops"], check=True)
    done = run(tmp_path, rubato_chip, "--quiet", "--cores", "2", mode, tmp_path / "stops")
    assert done.returncode == 4
    assert done.stderr.count("is stopped by signal 19 until SIGCONT comes") == 2


@pytest.mark.parametrize("model", ["inorder", "window"])
def test_a_run_with_processes_repeats_to_the_cycle(guests: Path, rubato_chip: Path, tmp_path: Path, model: str) -> None:
    stats = []
    for name in ("first", "second"):
        chip = ["--cores", "4", "--set", f"core.model={model}"]
        output = on_chip(rubato_chip, chip, tmp_path / name, guests / "processes")
        stats.append((output, (tmp_path / name / "run" / "stats.json").read_text()))
    assert stats[0] == stats[1]


def test_all_processes_count(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """Two processes on two cores take little longer than one of them, and execute twice as much."""
    figures = []
    for count in ("1", "2"):
        on_chip(rubato_chip, ["--cores", "2", "--no-ff"], tmp_path / count, guests / "process_work", count)
        stats = json.loads((tmp_path / count / "run" / "stats.json").read_text())
        figures.append((stats["roi"]["chip.instructions"], stats["roi"]["chip.cycles"]))
    (one, alone), (two, beside) = figures
    assert two > 1.7 * one
    assert beside < 1.3 * alone


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--set", "run.alloc=ideal"], "the ideal allocator (run.alloc=ideal) serves one process"),
        (["--set", "run.check_capsules=true"], "watch one process"),
    ],
)
def test_a_run_that_has_one_process_only_says_why(
    guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str], why: str
) -> None:
    done = run(tmp_path / "run", rubato_chip, "--quiet", *options, "--cores", "2", guests / "process_work", "2")
    assert why in done.stderr
    assert "ENOSYS" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("options", [["--cores", "1"], ["--cores", "4", *WINDOW], ["--cores", "2", "--no-ff"]])
def test_a_program_with_tasks_makes_no_processes(
    guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]
) -> None:
    done = run(tmp_path / "run", rubato_chip, "--quiet", *options, guests / "task_forks")
    assert done.stdout == "".join(f"{where}: -1 1, 1, 1, 1\n" for where in ("before", "in a task", "behind"))
    assert done.stderr.count("a program with tasks or capsules is one process") == 1
    assert done.returncode == 0


def test_a_checkpoint_is_taken_before_the_first_process(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    here, file = tmp_path / "here", tmp_path / "checkpoint"  # the working directory is a part of the checkpoint
    chip = [rubato_chip, "--quiet", "--cores", "2"]
    taken = run(here, *chip, "--checkpoint", file, guests / "processes")
    assert taken.returncode == 0, taken.stderr
    whole = run(here, *chip, "--out", tmp_path / "whole", guests / "processes")
    restored = run(here, *chip, "--restore", file, "--out", tmp_path / "restored", guests / "processes")
    assert (restored.stdout, restored.returncode) == (whole.stdout, 0)
    stats = [(tmp_path / name / "stats.json").read_text() for name in ("whole", "restored")]
    assert stats[0] == stats[1]
