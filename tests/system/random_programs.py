"""Random task programs on random chips (C19): what each seed means, and what must hold of every run.

    python tests/system/random_programs.py FIRST LAST [KIND]   soak: run these seeds, print what fails
    python tests/system/random_programs.py SEED SEED [KIND]    one seed, with the command that repeats it

KIND is `any`; `messages`, all of whose chips have a coherence protocol by messages; `window`, all of whose chips have
window cores; or one of those that all call
capsules: `capsules`, half of which allocate in tasks, by capalloc; `pauses`, whose capsules wait in system calls; or
`wild`, whose speculative tasks go wrong, and call them with anything.

A seed draws a program (tests/random_programs) and a chip. The run must end by itself, the replay checker must find
nothing, and with unique timestamps the program must print the digest that the serial engine's build prints.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

MAX_CYCLES = 40_000_000
MAX_CYCLES_WITH_CAPSULES = 100_000_000  # an abort leaves handlers to be run: seed 1012453 takes 49 million
MANY_TASKS = 3000  # a few programs are this long; on the smallest caches they take up to ten times as many cycles


@dataclass(frozen=True)
class Programs:
    """Places of the built programs."""

    simulator: Path
    guest: Path
    serial: Path
    kind: str = "any"

    @classmethod
    def of(cls, build: Path, kind: str = "any") -> Programs:
        return cls(build / "bin/rubato-chip", build / "guest/random_tasks", build / "bin/random_tasks-serial", kind)

    def guest_of(self, letters: str, alloc: object) -> Path:
        return self.guest.with_name("random_tasks_capalloc") if alloc == "guest" and "h" in letters else self.guest


def draw_chip(rng: random.Random) -> dict[str, object]:
    """A chip: every key that speculation looks at, often at the edge of its range."""
    per_tile = rng.choice([1, 1, 2, 4, 4])
    tiles = rng.choice([1, 2, 3, 4, 4, 6, 9, 16])
    chip: dict[str, object] = {
        "chip.cores": per_tile * tiles,
        "chip.cores_per_tile": per_tile,
        "chip.seed": rng.randrange(1, 1000),
        "task.task_queue": rng.choice([4, 5, 8, 16, 64]),
        "task.commit_queue": rng.choice([1, 2, 4, 16]),
        "task.send_buffer": rng.choice([2, 3, 8, 32]),
        "task.spill_batch": rng.choice([1, 2, 5, 15]),
        "task.tracked_children": rng.choice([1, 3, 8, 8, 8]),
        "task.yield_aborts": rng.choice([0, 1, 3, 16]),
        "task.mayspec": rng.choice(["mayspec", "mayspec", "mayspec", "spec", "nonspec"]),
        "conflict.sets": rng.choice(["bloom", "exact"]),
        "conflict.bloom_bits": rng.choice([64, 256, 2048]),
        "conflict.bloom_ways": rng.choice([1, 4, 8]),
        "conflict.forwarding": rng.choice(["on", "on", "on", "stall", "abort"]),
        "conflict.selective_aborts": rng.choice(["true", "true", "false"]),
        "conflict.free_checks": rng.choice(["false", "false", "true"]),
        "arbiter.period": rng.choice([20, 200, 200, 1000]),
        "arbiter.delay": rng.choice(["true", "true", "false"]),
        "net.contention": rng.choice(["true", "false"]),
        "run.lookahead_cycles": rng.choice([0, 8, 32, 32]),
        "coherence.check": rng.choice(["true", "false"]),
        "task.unlimited_queues": rng.choice(["false"] * 9 + ["true"]),
        "task.mapper": rng.choice(["hash"] * 5 + ["random"]),
    }
    if rng.random() < 0.5:  # caches so small that lines leave every level while tasks that used them run
        chip |= {"l1d.size": rng.choice([64, 256, 1024]), "l1d.ways": 1, "l1i.size": 1024, "l1i.ways": 2}
        chip |= {"l2.size": rng.choice([2048, 4096]), "l2.ways": 2, "llc.size": rng.choice([4096, 8192]), "llc.ways": 2}
    return chip


def draw_edges(rng: random.Random) -> dict[str, object]:
    """For half of the chips: what else can be scarce or quick."""
    if rng.random() < 0.5:
        return {}
    return {
        "arbiter.period": rng.choice([1, 3, 10, 20, 200]),
        "task.uncommitted_share": rng.choice([0.1, 0.5, 1]),
        "task.spill_threshold": rng.choice([0.1, 0.5, 0.85, 1]),
        "task.spare_workers": rng.choice([0, 1, 16]),
        "core.load_buffer": rng.choice([1, 2, 16]),
        "core.store_buffer": rng.choice([1, 2, 16]),
        "core.syscall": rng.choice([1, 200, 5000]),
        "run.quantum": rng.choice([1, 10000]),
        "run.fast_forward": rng.choice(["true", "true", "false"]),
    }


def draw_throttle(rng: random.Random) -> dict[str, object]:
    """How far ahead MAYSPEC tasks may speculate: tables of one entry, in which all evict each other, too."""
    return {
        "task.throttle": rng.choice(["reach", "reach", "none"]),
        "task.throttle_entries": rng.choice([1, 2, 3, 64, 1024]),
    }


def draw_protocol(rng: random.Random, chip: dict[str, object], kind: str) -> dict[str, object]:
    """MESI for half of the chips, if any will do; else directories and filters that are soon full."""
    others = 0 if kind == "messages" else 4
    protocol = rng.choice(["mesi"] * others + ["sparse", "tokenb", "mosaic", "flask"])
    if protocol == "mesi":
        return {}
    ways = rng.choice([2, 4, 8])
    drawn: dict[str, object] = {
        "coherence.protocol": protocol,
        "coherence.capacity": 2 if "l2.size" in chip else rng.choice([0.05, 1]),
        "coherence.ways": ways,
        "coherence.directory_ways": rng.randrange(1, ways),
        "coherence.filter": rng.choice(["dlcbf", "dlcbf", "cbf", "exact", "none"]),
        "coherence.retries": rng.choice([0, 1, 4]),
        "coherence.hold": rng.choice([0, 64, 64, 500]),
        "coherence.filter_counts": rng.choice(["private", "private", "chip"]),
        "coherence.mosaic_probe": rng.choice(["always", "needed"]),
        "l2.mshrs": rng.choice([0, 0, 1, 2, 5]),
        "coherence.deliver_all": rng.choice(["false", "false", "true"]),
    }
    if drawn["coherence.filter"] == "dlcbf":  # the others do not move
        drawn["coherence.partition"] = rng.choice(["fixed", "adaptive"])
    return drawn


def draw_model(rng: random.Random, kind: str) -> dict[str, object]:
    """For the kind `window`: window cores, some of them as narrow as can be."""
    if kind != "window":
        return {}
    return {
        "core.model": "window",
        "core.width": rng.choice([1, 2, 4, 6]),
        "core.rob": rng.choice([1, 2, 7, 32, 196]),
        "core.int_ports": rng.choice([1, 4]),
        "core.mem_ports": rng.choice([1, 2, 4]),
        "core.load_buffer": rng.choice([1, 2, 16, 72]),
        "core.store_buffer": rng.choice([1, 2, 16, 42]),
    }


def draw_capsules(rng: random.Random, kind: str) -> tuple[str, dict[str, object]]:
    """Whether tasks call capsules, and what those find on the chip. With task.capsules=false the ledger would be
    tracked memory that non-speculative tasks share, which has no serial order."""
    if rng.random() < 0.5 and kind in ("any", "messages", "window"):
        return "", {}
    with_heap = rng.choice(["c", "ch"])
    letters = {"any": "c", "messages": "c", "capsules": with_heap, "wild": "cd"}.get(kind, with_heap + "p")
    return letters, {
        "task.capsule_handlers": rng.choice([8, 64]),
        "task.handler_records": rng.choice([64, 4096]),
        "task.capsule_call_cycles": rng.choice([1, 1, 40]),
        "task.abort_handler_cycles": rng.choice([1, 5, 100]),
    }


def draw_program(rng: random.Random, seed: int, chip: dict[str, object]) -> list[str]:
    """The arguments of random_tasks."""
    tasks = rng.choice([20, 100, 300, 300, 600])
    mode = rng.choice(["unique", "dense"])
    lines = rng.choice([1, 2, 6, 20, 64])
    locales = rng.choice([1, 3, 8, 16])
    features = rng.choice(["-", "s", "d", "sd", "sd"])
    if chip["task.mapper"] == "hash":  # else the locales of SPEC tasks keep only their tile's away
        features += rng.choice(["", "l"])
    features += rng.choice(["", "", "w"])
    # Only the ideal allocator's own data are nothing that non-speculative tasks share.
    chip["run.alloc"] = rng.choice(["guest", "guest", "ideal"])
    if chip["run.alloc"] == "ideal":
        features += "h"
    return [str(seed), str(tasks), mode, str(lines), str(locales), features]


def command_with(settings: list[str], arguments: list[str], programs: Programs, *more: str) -> list[str]:
    """`settings`: KEY=VALUE each. The program's name is given, for where the stack begins depends on its length."""
    options = ["--quiet", "--check-replay", "--argv0", "random_tasks"]
    options += [word for setting in settings for word in ("--set", setting)]
    guest = programs.guest_of(arguments[-1], dict(s.split("=", 1) for s in settings).get("run.alloc"))
    return [str(programs.simulator), *options, *more, str(guest), *arguments]


def command_of(seed: int, programs: Programs, more: tuple[str, ...] = ()) -> list[str]:
    rng = random.Random(seed)
    chip = draw_chip(rng)
    arguments = draw_program(rng, seed, chip)
    max_cycles = MAX_CYCLES
    if rng.random() < 0.05:
        arguments[1] = str(MANY_TASKS)
        max_cycles *= 10
    chip |= draw_edges(rng)
    if programs.kind == "messages" and seed % 10 != 0:  # a message takes long to simulate: more programs, shorter ones
        arguments[1] = str(min(int(arguments[1]), 100))
        max_cycles = MAX_CYCLES
    letters, keys = draw_capsules(random.Random(f"capsules of {seed}"), programs.kind)
    if letters:  # one lock and one counter for all: many tasks take long
        arguments[1] = str(min(int(arguments[1]), 300))
        max_cycles = MAX_CYCLES_WITH_CAPSULES
    arguments[-1] += "".join(letter for letter in letters if letter not in arguments[-1])
    if letters and "p" not in letters and random.Random(f"pauses of {seed}").random() < 0.3:
        arguments[-1] += "p"
    chip |= keys
    chip |= draw_throttle(random.Random(f"throttle of {seed}"))  # apart: seeds keep the programs and chips they had
    chip |= draw_protocol(random.Random(f"protocol of {seed}"), chip, programs.kind)
    chip |= draw_model(random.Random(f"model of {seed}"), programs.kind)
    settings = [f"{key}={value}" for key, value in chip.items()]
    return command_with(settings, arguments, programs, "--max-cycles", str(max_cycles), *more)


def failure_of(seed: int, programs: Programs, more: tuple[str, ...] = ()) -> str:
    """Runs one seed; what is wrong, and how to repeat it. Empty: nothing."""
    command = command_of(seed, programs, more)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"seed {seed} took more than 300 s\nrepeat: {shlex.join(command)}"
    wrong = ""
    if done.returncode != 0:
        wrong = f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}"
    elif "unique" in command:
        reference = [str(programs.serial), *command[-6:]]
        serial = subprocess.run(reference, capture_output=True, text=True, check=True)
        if done.stdout != serial.stdout:
            wrong = f"printed {done.stdout.strip()!r}, the serial engine {serial.stdout.strip()!r}"
    elif done.stdout != "":
        wrong = f"printed {done.stdout.strip()!r}, but nothing was to be printed"
    return f"seed {seed}: {wrong}\nrepeat: {shlex.join(command)}" if wrong else ""


def failures(seeds: Iterable[int], programs: Programs, more: tuple[str, ...] = ()) -> list[str]:
    """Seeds that fail among these, run two at a time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return [wrong for wrong in pool.map(lambda seed: failure_of(seed, programs, more), seeds) if wrong]


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    build = Path(os.environ.get("RUBATO_BUILD", root / "build" / "release"))
    programs = Programs.of(build, sys.argv[3] if len(sys.argv) > 3 else "any")
    first = int(sys.argv[1])
    last = int(sys.argv[2]) if len(sys.argv) > 2 else first
    found = failures(range(first, last + 1), programs)
    if first == last:
        print(shlex.join(command_of(first, programs)))
    print("\n\n".join([*found, f"{len(found)} of {last - first + 1} seeds fail"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
