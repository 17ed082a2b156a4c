"""Random task programs on random chips (C19), and that they find bugs put into the chip on purpose.

Everything a run can get wrong is in random_programs.py; a failure names the command that repeats it.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

from random_programs import Programs, command_with, failure_of, failures

SEEDS = 50  # a test
# Start of the search for runs that find a fault: rare ones near a seed that does.
FAULTS = {
    "skip_tile_check": 1,
    "lose_sticky_bits": 1,
    "lose_overflow": 1,
    "exclusive_speculative_read": 324,
    "ignore_canary": 1,
    "clear_own_sticky_bits": 1,
    "canary_of_writers_only": 17,
    "forget_undo": 1,
    "undo_in_wrong_order": 1,
    "forget_child": 1,
    "forget_dependent": 1,
    "commit_early": 1,
    "ignore_locales": 1,
}
# The same of those of capsules, and the kind of programs that finds them.
CAPSULE_FAULTS = {
    "doomed_store_performed": ("capsules", 1),
    "doomed_create_performed": ("capsules", 1),
    "vector_unchecked": ("wild", 256),
    "handler_lost": ("capsules", 1),
    "handler_twice": ("capsules", 1),
    "handler_after_commit": ("capsules", 1),
    "handlers_survive_in_place": ("capsules", 1),
    "suspended_not_aborted": ("pauses", 1),
    "resumed_marks_kept": ("pauses", 1),
    "log_line_to_wrong_core": ("pauses", 1),
}
# Faults that other tests look for.
ELSEWHERE = {
    # test_capsules.py
    "doom_frees_core",
    "doom_keeps_locale",
    "region_ends_before_handlers",
    # tests/chip/core/core_capsule_test.cpp
    "untracked_hit_without_rights",
    "rights_kept_after_return",
    "unchecked_load_marks",
    "sc_always_succeeds",
    "stack_unchecked",
    "depth_survives_task",
    # test_window_core.py, tests/chip/core/window/window_random_test.cpp
    "wrong_guess",
    "squash_keeps_register",
    "squash_keeps_store",
    "squash_keeps_flags",
    # test_litmus_suite.py
    "fence_passes_deferred",
    "fence_passes_stores",
    "atomic_passes_stores",
}
# A crash or a run that cannot go on shows a fault only if it says this.
CHECKS = {"log_line_to_wrong_core": "a core is given a line of another core's undo logs"}


@pytest.fixture(scope="module")
def programs(build: Path) -> Programs:
    return Programs.of(build)


@pytest.mark.parametrize(
    "first", [pytest.param(f, marks=pytest.mark.long if f > 2 * SEEDS else ()) for f in range(1, 201, SEEDS)]
)
def test_every_run_has_a_serial_order(first: int, programs: Programs) -> None:
    found = failures(range(first, first + SEEDS), programs)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("seed", [
    9005,  # a compare-and-swap of a non-speculative task, on a line that 31 other cores speculate on
    42013,  # who waits for a core for long aborts attempts that are earlier
    44249,  # the GVT waits for an exceptioned MAYSPEC task, which runs again without being promoted
    9116,  # what must end before a promotion creates a task for a full queue, after that was requested
])
def test_what_is_earliest_makes_progress(seed: int, programs: Programs) -> None:
    assert not failure_of(seed, programs)


def test_a_create_in_a_capsule_for_which_there_is_no_room_makes_progress(build: Path) -> None:
    """The task was doomed, ran again, and found as little room, for ever."""
    assert not failure_of(1_000_029, Programs.of(build, "capsules"))


def test_caches_of_few_sets_hold_records_of_handlers(build: Path) -> None:
    assert not failure_of(65, Programs.of(build, "capsules"))


# Runs that once did not end, or raised a false alarm: keys, and what random_tasks is given.
NARROW = {
    "the earliest stalls on a create while a promotion is served": (
        "chip.cores=16 chip.seed=149 task.task_queue=4 task.commit_queue=1 task.send_buffer=2 task.tracked_children=3 "
        "conflict.sets=exact arbiter.period=10 arbiter.delay=false task.spill_threshold=0.1 core.load_buffer=1 "
        "task.uncommitted_share=0.1 task.spare_workers=0 core.store_buffer=8 task.yield_aborts=1",
        "383 200 unique 20 16 sdl"),
    "the earliest waits for the send buffer behind a later task": (
        "chip.cores=8 chip.seed=749 task.task_queue=4 task.commit_queue=1 task.send_buffer=2 arbiter.period=10 "
        "arbiter.delay=false task.spill_batch=1 task.uncommitted_share=0.1 task.spare_workers=0 task.yield_aborts=4",
        "646 200 unique 6 16 sdl"),
    "the attempt whose fate others wait for becomes non-speculative": (
        "chip.cores=18 task.task_queue=5 task.commit_queue=1 task.send_buffer=3 conflict.sets=exact "
        "conflict.forwarding=stall conflict.free_checks=true arbiter.period=1 task.mapper=random "
        "task.uncommitted_share=0.1 task.spare_workers=0 core.store_buffer=2",
        "700423 600 unique 2 16 -w"),
    "a promoted task runs on another core than its exceptioned attempt": (
        "chip.cores=4 chip.seed=724 task.task_queue=8 task.commit_queue=2 task.send_buffer=2 task.tracked_children=1 "
        "task.spill_batch=2 task.uncommitted_share=1 task.spare_workers=0 core.store_buffer=8 task.yield_aborts=4",
        "5173 100 dense 6 16 sdl"),
    "a store across two lines, of which the L1 holds one, needs a line for the log": (
        "chip.cores=8 l1d.size=64 l1d.ways=1 core.store_buffer=1 core.load_buffer=1 run.lookahead_cycles=0",
        "2 300 dense 6 8 sd"),
    "the earliest attempt has waited in a call, and its core's task waits for its entry": (
        "chip.cores=2 chip.cores_per_tile=1 chip.seed=929 task.task_queue=4 task.send_buffer=3 task.spill_batch=1 "
        "task.yield_aborts=16 task.mayspec=nonspec conflict.selective_aborts=false conflict.free_checks=true "
        "net.contention=false coherence.check=true task.mapper=random l1d.size=1024 l1d.ways=1 l1i.size=1024 "
        "l1i.ways=2 l2.size=2048 l2.ways=2 llc.size=4096 llc.ways=2 run.alloc=ideal task.capsule_handlers=8 "
        "task.throttle_entries=2",
        "1027 300 dense 64 8 -hcp"),
}  # fmt: skip


@pytest.mark.parametrize("case", NARROW)
def test_narrow_chips_make_progress(case: str, programs: Programs) -> None:
    keys, arguments = NARROW[case]
    command = command_with(keys.split(), arguments.split(), programs, "--max-cycles", "8000000")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("first", range(1001, 21001, 500))
def test_every_run_has_a_serial_order_long(first: int, programs: Programs) -> None:
    found = failures(range(first, first + 500), programs)
    assert not found, "\n\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "seeds"), [("capsules", 20_000), ("pauses", 10_000), ("wild", 10_000)])
@pytest.mark.parametrize("part", range(40))
def test_every_run_with_capsules_has_a_serial_order_long(kind: str, seeds: int, part: int, build: Path) -> None:
    first = 1_000_001 + part * seeds // 40
    found = failures(range(first, first + seeds // 40), Programs.of(build, kind))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("kind", ["capsules", "pauses", "wild"])
def test_every_run_with_capsules_has_a_serial_order(kind: str, build: Path) -> None:
    found = failures(range(1, 31), Programs.of(build, kind))
    assert not found, "\n\n".join(found)


def find_fault(fault: str, first: int, build: Path, programs: Programs, tmp_path: Path) -> None:
    """By two seeds at least, whose runs are right without it."""
    check = CHECKS.get(fault)
    simulator = tmp_path / "faulty"
    simulator.write_text(f"#!/bin/sh\nexec {build / 'bin' / 'faulty-chip'} {fault} \"$@\"\n")
    simulator.chmod(0o755)
    faulty = dataclasses.replace(programs, simulator=simulator)
    finds: list[int] = []
    for seed in range(first, first + 100):
        wrong = failure_of(seed, faulty)
        is_found = wrong and (check in wrong if check else not re.search("exit code (4|-)", wrong))
        if is_found and not failure_of(seed, programs):
            finds.append(seed)
        if len(finds) == 2:
            return
    pytest.fail(f"of 100 seeds only {finds} find the fault {fault}")


def test_each_fault_of_the_chip_is_looked_for(build: Path) -> None:
    listed = subprocess.run([build / "bin" / "faulty-chip", "list"], capture_output=True, text=True, check=True)
    assert set(listed.stdout.split()) == {"none", *FAULTS, *CAPSULE_FAULTS, *ELSEWHERE}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_chip_is_found(fault: str, build: Path, programs: Programs, tmp_path: Path) -> None:
    find_fault(fault, FAULTS[fault], build, programs, tmp_path)


@pytest.mark.parametrize("fault", CAPSULE_FAULTS)
def test_a_fault_of_capsules_is_found(fault: str, build: Path, tmp_path: Path) -> None:
    kind, first = CAPSULE_FAULTS[fault]
    find_fault(fault, first, build, Programs.of(build, kind), tmp_path)
