"""Random task programs find bugs put into the native engine on purpose (native/fault.hpp), and none without.

`faulty-native` is the program of tests/differential with the engine that `RUBATO_FAULT` breaks, and
`actor_programs-faulty` that of tests/actor_programs; a failure is shown by
`RUBATO_FAULT=<fault> tests/differential/run.py --bin build/release/bin --native faulty-native --workers 8`.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# A fault of each kind of finding, found within seconds; the others with `make test-long`. Of those, the rules that two
# rare ones break have unit tests: ends_when_idle ProtocolMutants, company_for_spec Requests.DecideWhoMayMeet.
QUICK = {"even_while_writing", "open_latch", "wakes_without_epoch", "early_timestamp", "group_ignored",
         "no_birth_epochs",
         "actor_two_turns", "actor_half_linked", "actor_muted_for_ever", "actor_stop_ignored", "actor_timer_unnoticed"}
PROGRAMS = 12000  # at most, until a fault is found as it should be; three times what the rarest took on other seeds
BATCH = 250
# Seconds that are a hang: in which all threads sleep, or of CPU time for one program, which takes milliseconds.
ASLEEP, BUSY = 5, 5
WORKERS = 8  # more than there are CPUs: threads lose theirs anywhere
FEW_WORKERS = {"inbox_forgotten": 2}  # all must be idle at once

TORN = "half an update"
WRONG = r"seed \d+: "  # what a task found, or another result than the serial engine's
HANG = "no progress at seed"
ANYTHING = ""  # memory that is used again too early, or by two at once, shows as anything
# The finding that shows each fault. A fault may do other things before.
FAULTS = {
    "even_while_writing": TORN,
    "unvalidated_reads": TORN,
    "open_latch": TORN,
    "readers_pass_writer": TORN,
    "children_of_losers": WRONG,
    "pool_claimed_twice": ANYTHING,
    "pool_let_go_early": ANYTHING,
    "freed_at_once": ANYTHING,
    "no_birth_epochs": ANYTHING,
    "no_local_epochs": ANYTHING,
    "no_recheck": HANG,
    "wakes_without_epoch": HANG,
    "ends_when_idle": ANYTHING,
    "silent_arrival": HANG,
    "inbox_forgotten": ANYTHING,
    "inbox_loses_last": ANYTHING,
    "early_timestamp": "later timestamp",
    "company_for_spec": TORN,
    "group_ignored": "group",
    "group_not_released": "waits? for a TaskGroup that cannot complete",
}
# The same for actors, found by their own random programs.
ACTOR_FAULTS = {
    "actor_two_turns": ANYTHING,
    "actor_half_linked": WRONG,
    "actor_last_freed": ANYTHING,
    "actor_any_generation": ANYTHING,
    "actor_cell_at_once": ANYTHING,
    "actor_reached_unseen": ANYTHING,
    "actor_without_budget": HANG,
    "actor_muted_for_ever": WRONG,
    "actor_stop_ignored": WRONG,
    "actor_timer_unnoticed": HANG,
}
TASKS = ("faulty-native", "differential-serial")
ACTORS = ("actor_programs-faulty", "actor_programs-serial")


def findings(build: Path, fault: str, workers: int, programs: int, until: str = ANYTHING,
             engines: tuple[str, str] = TASKS) -> tuple[int, str]:
    """The exit code of the comparison with the serial engine, and what it printed until a finding of `until`."""
    native, serial = engines
    command = [sys.executable, "tests/differential/run.py", "--bin", build / "bin", "--native", native,
               "--serial", serial, "--workers", str(workers), "--seeds", str(programs), "--batch", str(BATCH),
               "--asleep", str(ASLEEP), "--busy", str(BUSY), "--until", until]
    done = subprocess.run(command, env=os.environ | {"RUBATO_FAULT": fault}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    assert "serial engine" not in done.stdout, done.stdout
    return done.returncode, done.stdout


@pytest.mark.long  # differential.perturbed_* run the same programs on the same engine, as a part of CTest
@pytest.mark.parametrize("workers", [2, WORKERS])
def test_nothing_is_found_without_a_fault(workers: int, build: Path) -> None:
    code, printed = findings(build, "none", workers, 3000)
    assert code == 0, printed


def test_every_fault_is_looked_for(build: Path) -> None:
    done = subprocess.run([build / "bin" / "faulty-native", "1", "1"], env=os.environ | {"RUBATO_FAULT": "?"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.partition(":")[2].split() == ["none", *FAULTS, *ACTOR_FAULTS]


def of_each(faults: dict[str, str]) -> list[object]:
    return [f if f in QUICK else pytest.param(f, marks=pytest.mark.long) for f in faults]


@pytest.mark.parametrize("fault", of_each(FAULTS))
def test_a_fault_of_the_native_engine_is_found(fault: str, build: Path) -> None:
    code, printed = findings(build, fault, FEW_WORKERS.get(fault, WORKERS), PROGRAMS, FAULTS[fault])
    assert code == 1, f"not found by {PROGRAMS} programs: {fault}"
    assert re.search(FAULTS[fault], printed), printed


@pytest.mark.parametrize("fault", of_each(ACTOR_FAULTS))
def test_a_fault_of_the_actors_is_found(fault: str, build: Path) -> None:
    code, printed = findings(build, fault, WORKERS, PROGRAMS, ACTOR_FAULTS[fault], ACTORS)
    assert code == 1, f"not found by {PROGRAMS} programs: {fault}"
    assert re.search(ACTOR_FAULTS[fault], printed), printed
