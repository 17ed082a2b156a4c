"""Tasks that wait in system calls leave their cores to others (C18), and a wait without end is found (C3)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest

CHIPS = [("1", "chip.seed=1"), ("2", "chip.cores_per_tile=1"), ("4", "chip.seed=1"), ("16", "chip.seed=3")]


def run(
    simulator: Path, guests: Path, what: str, cores: str, *settings: str, program: str = "task_waits"
) -> subprocess.CompletedProcess[str]:
    words = [word for setting in settings for word in ("--set", setting)]
    options = ["--quiet", "--argv0", program, "--max-cycles", "30000000", "--cores", cores]
    command = [simulator, *options, *words, guests / program]
    return subprocess.run(
        [*command, *what.split()], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "what",
    ["own", "condition", "mutex", "naps", "hidden", "count 300", "order", "preempt", "atomic", "ring 4", "may 4"],
)
@pytest.mark.parametrize(("cores", "setting"), CHIPS)
def test_others_run_meanwhile(what: str, cores: str, setting: str, guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, guests, what, cores, setting)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "check: passed"), done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("what", ["hidden_child", "hidden_grandchild"])
@pytest.mark.parametrize(("cores", "cores_a_tile"), [("2", 1), ("2", 2), ("4", 4), ("16", 4)])
def test_a_spec_child_of_a_task_that_waits_hides_nobody(
    what: str, cores: str, cores_a_tile: int, guests: Path, rubato_chip: Path
) -> None:
    """The SPEC child starts when its parent ends, and the parent may wait for a task that comes after the child."""
    for seed in range(1, 6):
        done = run(rubato_chip, guests, what, cores, f"chip.cores_per_tile={cores_a_tile}", f"chip.seed={seed}",
                   "run.check_replay=true")  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize("what", ["order", "preempt", "atomic", "ring 12", "may 12", "sleep"])
def test_runs_with_waits_have_a_serial_order(what: str, guests: Path, rubato_chip: Path) -> None:
    for cores, setting in CHIPS:
        done = run(rubato_chip, guests, what, cores, setting, "run.check_replay=true", "task.spare_workers=16")
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("spare", [0, 1, 4])
@pytest.mark.parametrize("cores", ["2", "4"])
def test_a_core_without_a_worker_is_no_core_for_who_needs_one(
    cores: str, spare: int, guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, guests, "endless", cores, "chip.cores_per_tile=2", f"task.spare_workers={spare}")
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize(("spare", "turns"), [(0, 8), (1, 4), (4, 2), (16, 1)])
def test_so_many_tasks_wait_as_there_are_workers(spare: int, turns: int, guests: Path, rubato_chip: Path) -> None:
    """Eight tasks sleep for a millisecond each on one core."""
    done = run(rubato_chip, guests, "sleep", "1", f"task.spare_workers={spare}")
    assert done.returncode == 0, done.stderr
    assert turns * 1000 <= int(done.stdout.split()[0]) <= turns * 1000 + 100


def test_a_ring_longer_than_there_are_workers_ends(guests: Path, rubato_chip: Path) -> None:
    assert run(rubato_chip, guests, "ring 16", "1", "task.spare_workers=16").returncode == 0
    short = run(rubato_chip, guests, "ring 16", "1", "task.spare_workers=4")
    assert short.returncode == 4
    assert "no worker to spare for idle tasks (task.spare_workers)" in short.stderr


@pytest.mark.parametrize(("cores", "setting"), CHIPS)
def test_a_wait_without_end_or_timestamp_is_found(
    cores: str, setting: str, guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, guests, "unordered", cores, setting)
    assert done.returncode == 4
    assert "nothing can proceed: every thread and task waits for another" in done.stderr


@pytest.mark.parametrize(("cores", "settings"), [("2", ()), ("4", ()), ("16", ("chip.cores_per_tile=1",))])
def test_who_waits_for_a_discarded_task_hears_of_its_end(
    cores: str, settings: tuple[str, ...], guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, guests, "", cores, *settings, program="task_discard")
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize(("cores", "setting"), CHIPS)
def test_a_wait_without_end_is_found(cores: str, setting: str, guests: Path, rubato_chip: Path) -> None:
    for tasks in (2, 1000):  # few, and more than task queues hold
        done = run(rubato_chip, guests, f"forever {tasks}", cores, setting)
        assert done.returncode == 4
        assert "nothing can proceed: every thread and task waits for another" in done.stderr
        waiting = done.stderr.count("waits for a pipe, socket or other file to become ready")
        assert waiting == done.stderr.count(", timestamp 1, waits in a system call") >= 2
        assert (tasks == 2) == (waiting == 2)


@pytest.mark.parametrize("members", ["spec", "nonspec"])
@pytest.mark.parametrize("cores_a_tile", [1, 2])
@pytest.mark.parametrize("locale", [1, 2, 3])
@pytest.mark.parametrize("in_common", ["common", "none"])
def test_who_a_timestamped_task_waits_for_gets_a_core_and_ends(
    members: str, cores_a_tile: int, locale: int, in_common: str, guests: Path, rubato_chip: Path
) -> None:
    """Though attempts of later tasks fill all, and the waiting task looks again and again at what members write."""
    command = [rubato_chip, "--quiet", "--cores", "4", "--max-cycles", "2000000"]
    command += ["--set", f"chip.cores_per_tile={cores_a_tile}", "--set", "task.commit_queue=1"]
    command += [guests / "task_groups", members, str(locale), in_common]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


QUEUES = [(), ("task.task_queue=8", "task.send_buffer=2"), ("task.task_queue=4", "task.commit_queue=4")]
TYPES = ["spec", "nonspec", "mayspec"]


@pytest.mark.parametrize("queues", QUEUES)
@pytest.mark.parametrize("created", ["before", "by a task"])
@pytest.mark.parametrize("later", TYPES)
@pytest.mark.parametrize("members", TYPES)
@pytest.mark.parametrize("have", ["timestamp", "none"])
def test_who_a_timestamped_task_waits_for_is_read_back(
    have: str, members: str, later: str, created: str, queues: tuple[str, ...], guests: Path, rubato_chip: Path
) -> None:
    """Though later tasks fill the task queues up to where they are spilled, and the waiting task never stops to ask."""
    for cores, cores_a_tile, children in ((2, 1, "none"), (2, 1, "spec"), (4, 2, "mayspec"), (4, 1, "spec")):
        what = f"{members} {later} {cores % 3} {created.split()[0]} {have} {children}"
        done = run(rubato_chip, guests, what, str(cores), f"chip.cores_per_tile={cores_a_tile}", *queues,
                   program="task_spilled_group")  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize("queues", QUEUES)
@pytest.mark.parametrize("others", TYPES)
@pytest.mark.parametrize("endless", ["spec", "mayspec"])
@pytest.mark.parametrize("what", ["0 timestamps", "2 timestamps", "0 group", "999 group", "1 children"])
def test_attempts_that_never_end_give_way_to_what_they_wait_for(
    what: str, endless: str, others: str, queues: tuple[str, ...], guests: Path, rubato_chip: Path
) -> None:
    for cores, cores_a_tile in ((2, 1), (4, 2), (16, 4)):
        done = run(rubato_chip, guests, f"{endless} {others} 30 {what}", str(cores),
                   f"chip.cores_per_tile={cores_a_tile}", *queues, program="task_endless")  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize("waiting", ["nonspec", "mayspec"])
@pytest.mark.parametrize("members", TYPES)
@pytest.mark.parametrize("children", ["spec", "mayspec"])
def test_children_of_later_tasks_do_not_stand_for_those_it_waits_for(
    children: str, members: str, waiting: str, guests: Path, rubato_chip: Path
) -> None:
    for place, elsewhere in ((0, 3), (1, 4), (2, 5)):
        done = run(rubato_chip, guests, f"{children} {members} {waiting} {place} {elsewhere}", "4",
                   "chip.cores_per_tile=1", "task.task_queue=16", program="task_later_child")  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize("members", ["nonspec", "mayspec"])
@pytest.mark.parametrize("entries", [4, 5, 6, 8])
def test_what_is_read_back_beside_promoted_tasks_has_its_turn(
    entries: int, members: str, guests: Path, rubato_chip: Path
) -> None:
    """The children take up all the room for such tasks: a task that asks whether the group is complete is promoted."""
    for children in (1, 2, 5):
        for cores, elsewhere in (("2", 3), ("4", 3), ("4", 4)):
            done = run(rubato_chip, guests, f"mayspec {members} spec 1 {elsewhere} {children}", cores,
                       "chip.cores_per_tile=1", f"task.task_queue={entries}", "task.commit_queue=4",
                       program="task_later_child")  # fmt: skip
            assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize("members", TYPES)
@pytest.mark.parametrize("cores", ["2", "4"])
def test_what_is_read_back_beside_pollers_on_other_cores_has_its_turn(
    cores: str, members: str, guests: Path, rubato_chip: Path
) -> None:
    for many, waiting in product(("5 2", "10 3", "20 5", "60 5", "5 60", "20 60"), TYPES):
        done = run(rubato_chip, guests, f"{members} {many} {waiting}", cores, f"chip.cores_per_tile={cores}",
                   "task.task_queue=4", program="task_pollers")  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize(("cores", "cores_a_tile", "settings", "what"), [
    ("2", 2, "task_queue=4 commit_queue=2", "nonspec spec nonspec 0 3 3"),
    ("4", 1, "task_queue=4", "mayspec nonspec spec 2 1 1"),
    ("4", 1, "task_queue=4", "mayspec spec spec 0 5 5"),
    ("4", 1, "task_queue=6 spill_batch=1", "mayspec spec spec 0 3 3"),
    ("4", 2, "task_queue=6 commit_queue=2 spill_batch=5", "spec nonspec nonspec 0 2 8"),
    ("8", 2, "task_queue=4 commit_queue=2", "spec nonspec spec 1 4 8"),
    ("8", 2, "task_queue=6 commit_queue=2", "spec spec spec 2 4 8"),
    ("8", 2, "task_queue=4 commit_queue=1", "spec spec nonspec 2 4 5"),
])  # fmt: skip
def test_what_is_read_back_is_not_spilled_again_and_again_before_it_has_run(
    cores: str, cores_a_tile: int, settings: str, what: str, guests: Path, rubato_chip: Path
) -> None:
    """Though those that look whether a group is complete fill the queue again and again, with its locale."""
    keys = [f"task.{setting}" for setting in settings.split()]
    for seed in range(1, 7):
        done = run(rubato_chip, guests, what, cores, f"chip.cores_per_tile={cores_a_tile}", f"chip.seed={seed}",
                   *keys, program="task_later_child")  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]


@pytest.mark.parametrize(("cores", "setting"), CHIPS)
def test_a_wait_for_a_group_ends_with_its_members_wait_and_is_found_if_that_has_no_end(
    cores: str, setting: str, guests: Path, rubato_chip: Path
) -> None:
    """Though tasks look again and again meanwhile: for as long as the member sleeps, nothing is lost."""
    program = "task_group_of_sleepers"
    done = run(rubato_chip, guests, "while", cores, setting, program=program)
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]
    done = run(rubato_chip, guests, "ever", cores, setting, program=program)
    assert (done.returncode, done.stdout) == (4, "")
    assert "nothing can proceed: every thread and task waits for another" in done.stderr
    assert "waits for a pipe, socket or other file to become ready" in done.stderr
