"""Capsules of whole programs: what is left to do where a task is aborted in one (P36 to P38), what wild callers do not
reach (P14, P19), what run.check_capsules finds (P104), what a hang's report says (P53), and that bugs put into the chip
or into capalloc are seen (P105)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

# Bugs of the task unit, each with the program that shows it.
FAULTS = ["doom_frees_core", "doom_keeps_locale", "region_ends_before_handlers", "doomed_create_performed"]
# Bugs of capalloc or of the stubs, each with the program that is built with it (tests/guest/CMakeLists.txt).
MUTANTS = {
    "no_lock": "capalloc_lists",
    "wrong_class": "capalloc_lists",
    "free_before_commit": "capalloc_lists",
    "no_handler": "aborted_blocks",
    "gp_kept": "wild_registers",
}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "options", [["--cores", "2"], ["--cores", "4"], ["--cores", "16", "--set", "run.lookahead_cycles=0"]], ids=" ".join
)
def test_a_doomed_run_keeps_its_core_and_the_end_of_the_region_but_not_its_task(
    options: list[str], guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, "--quiet", *options, "--check-replay", guests / "doomed_run")
    assert (done.returncode, done.stdout) == (0, "calls 2, created 0, handled 1\n"), done.stderr[-2000:]


@pytest.mark.parametrize(
    "options", [["--cores", "2"], ["--cores", "4"], ["--cores", "16", "--set", "run.lookahead_cycles=0"]], ids=" ".join
)
def test_a_capsule_makes_its_system_calls_at_once_and_promotes_for_others(
    options: list[str], guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, "--quiet", *options, "--check-replay", guests / "capsule_calls")
    seen = "calls 2, speculative 2, bytes 5 of 5, refused 10, mapped 2, begun 5, promoted 2\n"
    assert (done.returncode, done.stdout) == (0, seen), done.stderr[-2000:]


def test_a_task_in_a_capsule_does_not_give_way_where_another_can(guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", "--cores", "2", guests / "capsule_yields")
    assert (done.returncode, done.stdout) == (0, "calls 1, doomed 0\n"), done.stderr[-2000:]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bug_of_doomed_runs_is_seen(fault: str, build: Path, guests: Path) -> None:
    options = ["--quiet", "--cores", "2", "--max-cycles", "1000000", guests / "doomed_run"]
    assert run(build / "bin" / "faulty-chip", "none", *options).returncode == 0
    assert run(build / "bin" / "faulty-chip", fault, *options).returncode != 0


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_of_capalloc_or_of_a_stub_is_seen(mutant: str, guests: Path, rubato_chip: Path) -> None:
    options = [rubato_chip, "--quiet", "--cores", "16", "--max-cycles", "4000000"]
    program = MUTANTS[mutant]
    right = run(*options, guests / program)
    assert right.returncode == 0, right.stdout + right.stderr[-2000:]
    wrong = run(*options, guests / f"{program}_{mutant}")
    assert wrong.returncode != 0, wrong.stdout


@pytest.mark.parametrize(
    "options", [["--cores", "4"], ["--cores", "16"], ["--cores", "16", "--seed", "5"]], ids=" ".join
)
@pytest.mark.parametrize("program", ["wild_registers", "wild_pointers"])
def test_a_wild_caller_reaches_nothing(program: str, options: list[str], guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", *options, guests / program)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("static", "accesses (anonymous namespace)::limit, which tasks can write to"),
        ("thread", "by tp, which is its caller's"),
        ("back", "loads what it has stored at (anonymous namespace)::word: in a doomed run that is not there"),
        ("kept", "takes a lock that its capsule holds where it returns, waits or promotes"),
        ("held", "accesses (anonymous namespace)::word, which is tracked, with a lock held"),
        ("create", "creates a task with a lock held"),
    ],
)
def test_what_a_capsule_must_not_do_is_named(what: str, words: str, guests: Path, rubato_chip: Path) -> None:
    program = [rubato_chip, "--quiet", "--cores", "4", guests / "bad_capsules", what]
    assert run(*program).returncode == 0
    done = run(*program[:-2], "--set", "run.check_capsules=true", *program[-2:])
    assert done.returncode == 1 and words in done.stderr, done.stderr


@pytest.mark.parametrize(
    "program",
    [["capsule_counter"], ["capalloc_lists", "200"], ["capalloc_task_heap", "spec"], ["wild_pointers"],
     ["random_tasks", "5", "60", "unique", "6", "3", "sc"],
     ["random_tasks_capalloc", "5", "60", "unique", "6", "3", "shc"]],
    ids=lambda program: program[0],
)  # fmt: skip
def test_our_capsules_do_nothing_that_they_must_not(program: list[str], guests: Path, rubato_chip: Path) -> None:
    checked = [rubato_chip, "--quiet", "--cores", "8", "--set", "run.check_capsules=true"]
    done = run(*checked, guests / program[0], *program[1:])
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_a_hang_says_in_which_capsules_cores_are_and_for_which_locks_they_wait(guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", "--cores", "4", "--max-cycles", "100000", guests / "bad_capsules", "lock")
    assert done.returncode == 4
    assert ", in capsule wait_for_itself since cycle " in done.stderr, done.stderr
    # The core holds the lock itself, as the task that the report says it runs.
    (task,) = re.findall(r", task (\d+), in capsule wait_for_itself since cycle ", done.stderr)
    held = r", waits for the lock \(anonymous namespace\)::lock_twice, held by core (\d+) \(task (\d+), in (\S+) since "
    ((core, holder, function),) = re.findall(held, done.stderr)
    assert f"core {core}: thread " in done.stderr and holder == task and "wait_for_itself" in function, done.stderr


LOCKS = {"take_upwards": "lock_second", "take_downwards": "lock_first"}


def test_a_hang_says_who_holds_the_locks_that_cores_wait_for(guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--quiet", "--cores", "4", "--max-cycles", "100000", guests / "bad_capsules", "order")
    assert done.returncode == 4
    line = (
        r"core (\d+): thread \d+ at \S+, task (\d+), in capsule (\w+) since cycle \d+, waits for the lock "
        r"\(anonymous namespace\)::(\w+), held by core (\d+) \(task (\d+), in (\S+) since cycle \d+\)\n"
    )
    one, other = re.findall(line, done.stderr)
    for waiting, holding in ((one, other), (other, one)):
        core, task, capsule, lock, holder, its_task, function = waiting
        assert (holder, its_task) == holding[:2] and (core, task) != (holder, its_task), done.stderr
        assert LOCKS[capsule] == lock and holding[2] in function, done.stderr


@pytest.mark.parametrize(("what", "waits"), [("lock", 1), ("order", 2)])
def test_a_wait_that_cannot_end_is_found_as_it_begins(what: str, waits: int, guests: Path, rubato_chip: Path) -> None:
    checked = [rubato_chip, "--quiet", "--cores", "4", "--set", "run.check_capsules=true", "--max-cycles", "100000"]
    done = run(*checked, guests / "bad_capsules", what)
    assert done.returncode == 1 and ": for ever" in done.stderr, done.stderr
    chain = re.findall(r"waits for the lock \S+ \S+, held by core (\d+) \(task (\d+), in \S+ since cycle", done.stderr)
    assert len(chain) == len(set(chain)) == waits, done.stderr


def test_the_trace_shows_a_doomed_run_behind_its_attempt(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(rubato_chip, "--quiet", "--cores", "4", "--trace", "--out", out, guests / "doomed_run")
    assert done.returncode == 0, done.stderr[-2000:]
    with gzip.open(out / "trace.json.gz", "rt") as text:
        events = json.load(text)["traceEvents"]
    (doomed,) = [e for e in events if e.get("cat") == "doomed"]
    assert "doomed: " in doomed["name"]
    (attempt,) = [e for e in events if e.get("cat") == "task" and "aborted" in e["args"] and e["tid"] == doomed["tid"]]
    assert attempt["args"]["id"] == doomed["args"]["id"]
    assert attempt["args"]["end_cycle"] == doomed["args"]["begin_cycle"] < doomed["args"]["end_cycle"]
    calls = [e for e in events if e.get("cat") == "capsule"]
    before, after = (next(e for e in calls if e["args"]["doomed"] is is_doomed) for is_doomed in (False, True))
    assert before["name"] == after["name"] and before["tid"] == after["tid"] == doomed["tid"]
    assert before["args"]["end_cycle"] == after["args"]["begin_cycle"] == doomed["args"]["begin_cycle"]
    assert after["args"]["end_cycle"] <= doomed["args"]["end_cycle"]
    # The handler's is the only task that another made.
    ((begin,), (end,)) = ([e for e in events if e.get("ph") == ph and e["cat"] == "create"] for ph in "sf")
    assert begin["id"] == end["id"] and begin["tid"] == doomed["tid"] and begin["ts"] <= end["ts"]


def test_calls_are_counted_by_capsule(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(rubato_chip, "--quiet", "--cores", "4", "--out", out, guests / "doomed_run")
    assert done.returncode == 0, done.stderr[-2000:]
    stats = json.loads((out / "stats.json").read_text())
    keys = ("calls", "cycles", "doomed_calls", "doomed_cycles")
    for key in keys:
        assert sum(row[key] for row in stats["capsules"]) == stats["run"][f"chip.capsules.{key}"] > 0, key
    doomed_runs = sum(n for name, n in stats["run"].items() if name.endswith(".task_unit.doomed_runs"))
    assert stats["run"]["chip.capsules.doomed_calls"] == doomed_runs
    assert "rubato_capsule_stub_" not in str(stats["capsules"])
