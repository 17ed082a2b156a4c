"""Runs a program that prints a line a step, and tells a hang from a busy machine.

A hang is a lack of progress. No line has come for a while, and since the last one the process either has slept (a
starved thread is runnable, not asleep) or has had more CPU time than any step needs. How long a step takes by the clock
judges nothing: beside other work it may take any time.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_SECONDS = 0.05
AWAKE_SHARE = 0.1  # of the samples; a sleeper with a timer is awake now and then
LAST_RESORT_SECONDS = 1800  # without a line, whatever the process does
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Limits:
    """Limits of a hang, without a line of output: seconds in which all threads sleep, or seconds of CPU time."""

    asleep: float
    busy: float


@dataclass
class Watched:
    lines: list[str]
    errors: str
    code: int | None  # none: it hung
    hang: str = ""


@dataclass
class Progress:
    """Since the last line."""

    began: float = field(default_factory=time.monotonic)
    processor: float = 0
    samples: int = 0
    awake: int = 0


def activity(pid: int) -> tuple[bool, float]:
    """Whether any thread of a process is runnable or waits for a device, and the CPU seconds of them all."""
    is_awake = False
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
            is_awake = is_awake or state in "RD"
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return is_awake, (int(times[11]) + int(times[12])) / TICKS
    except OSError:  # a thread, or the process, has just ended: that is progress
        return True, 0


def hang_of(progress: Progress, is_awake: bool, processor: float, limits: Limits) -> str:
    """Adds a sample; the sentence about a hang, or nothing."""
    progress.samples += 1
    progress.awake += is_awake
    seconds = time.monotonic() - progress.began
    # Few samples of a monitor that was starved itself say nothing.
    is_sampled = progress.samples * SAMPLE_SECONDS >= limits.asleep / 2
    if seconds >= limits.asleep and is_sampled and progress.awake <= AWAKE_SHARE * progress.samples:
        return f"asleep for {seconds:.1f} s"
    if processor - progress.processor >= limits.busy:
        return f"{processor - progress.processor:.1f} s of CPU time in one step"
    return f"{seconds:.0f} s in one step" if seconds >= LAST_RESORT_SECONDS else ""


def watch(command: Sequence[str | Path], environment: Mapping[str, str], limits: Limits) -> Watched:
    """Runs it until its end, or until a hang."""
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    errors: list[str] = []
    readers = [threading.Thread(target=_collect, args=(child.stdout, lines)),
               threading.Thread(target=_collect, args=(child.stderr, errors))]
    for reader in readers:
        reader.start()
    hang, seen, progress = "", 0, Progress()
    while not hang:
        try:
            child.wait(SAMPLE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            is_awake, processor = activity(child.pid)
            if len(lines) != seen:
                seen, progress = len(lines), Progress(processor=processor)
            else:
                hang = hang_of(progress, is_awake, processor, limits)
    if hang:
        child.kill()
        child.wait()
    for reader in readers:
        reader.join()
    return Watched(lines, "\n".join(errors), None if hang else child.returncode, hang)


def _collect(stream, lines: list[str]) -> None:
    for line in stream:
        lines.append(line.rstrip("\n"))
