"""Programs of threads on cores with a window (docs/window-core.md): what they print is what they print in order."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
PROTOCOLS = ["mesi", "sparse", "tokenb", "mosaic", "flask"]
PROGRAMS = ["pthreads", "reservations", "openmp", "threads", "deferred", "thread_signals", "spinning", "many_threads"]
MACHINE = ["chip.cores=8", "chip.cores_per_tile=1", "coherence.check=true"]
WINDOW = ["core.model=window", "core.width=6", "core.rob=196", "core.load_buffer=72", "core.store_buffer=42"]
SMALL = ["core.model=window", "core.width=2", "core.rob=7", "core.load_buffer=2", "core.store_buffer=1"]


def run(simulator: Path, settings: list[str], words: list[str | Path]) -> subprocess.CompletedProcess[str]:
    options = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([simulator, *options, *words], capture_output=True, text=True, check=False)


# More threads than cores take turns, which no protocol knows of: one without messages and one by messages.
OF_MANY_THREADS = {"mesi", "flask"}


def of_program(program: str, protocol: str) -> object:
    is_long = program == "many_threads" and protocol not in OF_MANY_THREADS
    return pytest.param(program, protocol, marks=pytest.mark.long if is_long else ())


@pytest.mark.parametrize(("program", "protocol"), [of_program(n, p) for n in PROGRAMS for p in PROTOCOLS])
def test_threads_print_what_they_print_in_order(program: str, protocol: str, guests: Path, rubato_chip: Path) -> None:
    words: list[str | Path] = ["--no-ff", guests / program]
    expected = run(rubato_chip, MACHINE, words)
    assert expected.returncode == 0
    for window in (WINDOW, SMALL):
        done = run(rubato_chip, [*MACHINE, *window, f"coherence.protocol={protocol}"], words)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout == expected.stdout


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("program", ["openmp", "threads"])
def test_loads_that_go_on_with_wrong_values_are_survived(
    program: str, protocol: str, guests: Path, rubato_chip: Path, build: Path
) -> None:
    words: list[str | Path] = ["--no-ff", guests / program]
    settings = [*MACHINE, *WINDOW, f"coherence.protocol={protocol}"]
    done = run(build / "bin" / "faulty-chip", [], ["wrong_guess"])
    assert done.returncode == 2, "a fault, and no program"
    options = [word for setting in settings for word in ("--set", setting)]
    done = run(build / "bin" / "faulty-chip", [], ["wrong_guess", *options, *words])
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == run(rubato_chip, MACHINE, words).stdout


@pytest.mark.parametrize("fault", ["squash_keeps_register", "squash_keeps_store"])
def test_a_squash_that_forgets_something_is_found(fault: str, guests: Path, rubato_chip: Path, build: Path) -> None:
    words: list[str | Path] = ["--no-ff", guests / "threads"]
    options = [word for setting in [*MACHINE, *WINDOW, "coherence.protocol=flask"] for word in ("--set", setting)]
    done = run(build / "bin" / "faulty-chip", [], [fault, "--max-cycles", "50000000", *options, *words])
    assert done.returncode != 0 or done.stdout != run(rubato_chip, MACHINE, words).stdout


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("lookahead", [0, 32])
def test_no_outcome_comes_that_rvwmo_forbids(protocol: str, lookahead: int, guests: Path, rubato_chip: Path) -> None:
    settings = ["chip.cores=4", "chip.cores_per_tile=1", f"run.lookahead_cycles={lookahead}", *WINDOW]
    done = run(rubato_chip, [*settings, f"coherence.protocol={protocol}"], ["--no-ff", guests / "litmus"])
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 24
    for line in lines:
        assert ": 0 forbidden" in line


def test_the_publications_machine_overlaps_misses(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    options: list[str | Path] = ["--config", CONFIGS / "flask-16.toml", "--out", tmp_path, "--no-ff", guests / "openmp"]
    done = run(rubato_chip, [], options)
    assert done.returncode == 0, done.stderr[-2000:]
    stats = json.loads((tmp_path / "stats.json").read_text())["run"]
    assert stats["core.0.window.mlp"] >= 1
    assert stats["core.0.window.occupancy"] > stats["core.0.instructions"], "each is in the buffer for some cycles"
    assert sum(stats[f"core.{c}.window.squashes"] for c in range(16)) > 0, "cores that spin are told by a squash"


def executed(simulator: Path, settings: list[str], program: Path, results: Path) -> list[str]:
    """What the program's instructions did on one core: address, instruction, result, and address in memory."""
    done = run(simulator, ["chip.cores=1", *settings], ["--no-ff", "--instructions", "--out", results, program])
    assert done.returncode == 0, done.stderr[-2000:]
    with gzip.open(results / "instructions.tsv.gz", "rt") as rows:
        return [row.split("\t", 3)[3] for row in rows]


@pytest.mark.parametrize("program", ["bit_manipulation", "new_instructions"])
def test_each_instruction_does_what_it_does_in_order(
    program: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    expected = executed(rubato_chip, [], guests / program, tmp_path / "in_order")
    assert len(expected) > 1000
    late = ["coherence.protocol=flask", "mem.latency=400", "l1d.size=1024"]
    for number, settings in enumerate(([*WINDOW, *late], [*SMALL, "l1d.size=1024"])):
        assert executed(rubato_chip, settings, guests / program, tmp_path / str(number)) == expected
