"""Random task programs on random chips (chip.md, C19), and that they find bugs put into the chip on purpose.

Everything a run can get wrong is in random_programs.py; a failure names the command that repeats it.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from random_programs import Programs, failure_of, failures

SEEDS = 50  # a test
# Where the search for runs that find a fault begins: rare ones near a seed that does.
FAULTS = {
    "skip_tile_check": 1,
    "lose_sticky_bits": 1,
    "lose_overflow": 1,
    "exclusive_speculative_read": 42,
    "ignore_canary": 1,
    "clear_own_sticky_bits": 1,
    "canary_of_writers_only": 140,
    "forget_undo": 1,
    "undo_in_wrong_order": 1,
    "forget_child": 1,
    "forget_dependent": 1,
    "commit_early": 1,
    "ignore_locales": 1,
}


@pytest.fixture(scope="module")
def programs(build: Path) -> Programs:
    return Programs.of(build)


@pytest.mark.parametrize("first", range(1, 201, SEEDS))
def test_every_run_has_a_serial_order(first: int, programs: Programs) -> None:
    found = failures(range(first, first + SEEDS), programs)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("seed", [
    9005,  # a compare-and-swap of a non-speculative task, on a line that 31 other cores speculate on
    9116,  # what must end before a promotion creates a task for a full queue, after that was requested
])
def test_what_is_earliest_makes_progress(seed: int, programs: Programs) -> None:
    assert not failure_of(seed, programs)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1001, 21001, 500))
def test_every_run_has_a_serial_order_long(first: int, programs: Programs) -> None:
    found = failures(range(first, first + 500), programs)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_chip_is_found(fault: str, build: Path, programs: Programs, tmp_path: Path) -> None:
    """By two seeds at least, whose runs are right without it."""
    simulator = tmp_path / "faulty"
    simulator.write_text(f"#!/bin/sh\nexec {build / 'bin' / 'faulty-chip'} {fault} \"$@\"\n")
    simulator.chmod(0o755)
    faulty = dataclasses.replace(programs, simulator=simulator)
    finds: list[int] = []
    for seed in range(FAULTS[fault], FAULTS[fault] + 100):
        wrong = failure_of(seed, faulty)
        if wrong and "exit code 4" not in wrong and not failure_of(seed, programs):
            finds.append(seed)
        if len(finds) == 2:
            return
    pytest.fail(f"of 100 seeds only {finds} find the fault {fault}")
