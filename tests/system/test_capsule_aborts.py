"""Aborts at every instruction of a capsule (P103): `faulty-chip doom_at=N` aborts the first attempt of each task N
cycles after its first capsule call. Without look-ahead a core issues an instruction a cycle, so with all N, until none
is in a capsule any longer, each instruction of each capsule is the last before an abort, and so is each cycle of a wait
for a lock or a line. Whatever is aborted, programs print what they print without, and find what they count themselves
right: a ledger in tracked and in untracked memory, and capalloc's heap, where each block must be in one place."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

# Programs, each with the longest of its capsule calls in cycles, about: sampled tests look no further.
PROGRAMS = {
    "a capsule of one's own": ("capsule_counter", [], 150),
    "malloc and free": ("capalloc_lists", ["60"], 400),
    "the ledger, nested": ("random_tasks", ["5", "60", "unique", "6", "3", "c"], 900),
    "the ledger, waiting": ("random_tasks", ["5", "60", "unique", "6", "3", "cp"], 9000),
    "malloc, free, and the ledger": ("random_tasks_capalloc", ["5", "60", "unique", "6", "3", "hc"], 900),
}
CHIPS = {
    "2 cores": ["--cores", "2"],
    "4 cores": ["--cores", "4"],
    "4 cores ahead": ["--cores", "4", "--set", "run.lookahead_cycles=32"],
    "16 cores stalling": ["--cores", "16", "--set", "conflict.forwarding=stall"],
}


class Aborts:
    def __init__(self, build: Path, program: str, chip: list[str]) -> None:
        name, arguments, self.longest = PROGRAMS[program]
        self.faulty = build / "bin" / "faulty-chip"
        self.options = ["--quiet", "--set", "run.lookahead_cycles=0", "--set", "task.mayspec=spec", *chip,
                        build / "guest" / name, *arguments]  # fmt: skip
        self.expected = self.run("none").stdout

    def run(self, plan: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([self.faulty, plan, *self.options], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)  # fmt: skip
        assert done.returncode == 0, f"{plan}: {done.stdout[-500:]}{done.stderr[-1500:]}"
        return done

    def count(self, plan: str) -> int:
        """Runs it; how many attempts were aborted in a capsule."""
        done = self.run(plan)
        assert done.stdout == self.expected, plan
        aborted = re.search(r"faulty-chip: (\d+) attempts were aborted in a capsule", done.stderr)
        assert aborted is not None, done.stderr
        return int(aborted[1])


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_abort_at_any_instruction_of_a_capsule_changes_nothing(program: str, attempts: int, build: Path) -> None:
    aborts = Aborts(build, program, CHIPS["4 cores"])
    step = aborts.longest // 12 + attempts
    with ThreadPoolExecutor(max_workers=2) as pool:
        counts = list(pool.map(lambda n: aborts.count(f"doom_at={n},{attempts}"), range(0, aborts.longest, step)))
    assert counts[0] > 0


def test_one_core_does_not_speculate_so_nothing_is_aborted_there(build: Path) -> None:
    aborts = Aborts(build, "the ledger, nested", ["--cores", "1"])
    assert aborts.count("doom_at=0") == 0


@pytest.mark.long
@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_aborts_at_all_instructions_of_capsules_change_nothing(
    program: str, chip: str, attempts: int, build: Path
) -> None:
    aborts = Aborts(build, program, CHIPS[chip])
    first, width = 0, 50
    with ThreadPoolExecutor(max_workers=2) as pool:
        while any(pool.map(lambda n: aborts.count(f"doom_at={n},{attempts}"), range(first, first + width))):
            first += width
    assert first > 0


@pytest.mark.parametrize("cores", [4, 16, 64])
@pytest.mark.parametrize("kind", ["spec", "mayspec"])
def test_handlers_give_back_what_aborted_attempts_took_before_others_take_more(
    kind: str, cores: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """With handlers run last, 787 of 1000 tasks found none of 256 blocks on 4 cores, and 2649 would have been out."""
    command = [rubato_chip, "--quiet", "--cores", str(cores), "--out", tmp_path, guests / "pool_of_blocks", kind]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    found = re.fullmatch(r"ended 1000, in vain 0, out 0\nmost (\d+)\n", done.stdout)
    assert found is not None, done.stdout
    attempts = 17  # a core: one that runs, 16 in the commit queue
    assert int(found[1]) <= min(256, attempts * cores)
    stats = json.loads((tmp_path / "stats.json").read_text())["run"]
    for tile in range(cores // 4):
        prefix = f"tile.{tile}.task_unit.handlers."
        handlers = {name: stats[prefix + name] for name in ("queued", "most_waiting", "waited")}
        assert 0 < handlers["most_waiting"] <= attempts * 4, handlers
        assert 0 < handlers["waited"] < 4000 * handlers["queued"], handlers


@pytest.mark.parametrize("size", [4000, 100_000])
def test_the_heap_of_capalloc_grows_no_further_than_attempts_need(size: int, guests: Path, rubato_chip: Path) -> None:
    """The heap grew to 53 and 1245 MB."""
    command = [rubato_chip, "--quiet", "--cores", "16", guests / "heap_span", str(size)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    found = re.fullmatch(r"ended 600\nspan (\d+)\n", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) < 16 * 1024
