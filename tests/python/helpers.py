"""Helpers of several tests: the command as a process and as a call, and run directories made by the stand-in."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rubato.interrupts import INTERRUPTS

COMMAND = [sys.executable, "-c", "from rubato.cli import main; main()"]


def rubato(*arguments: str, **more) -> subprocess.CompletedProcess:
    """The command as a user's process: nothing shared with the test."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, **more)


def heed_interrupts() -> None:
    """Tests that run in the background may have been started with interrupts ignored (SIGINT by a shell, SIGHUP by
    nohup); a terminal's command is not."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_DFL)


def start(*arguments: str, **more) -> subprocess.Popen:
    return subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy(),
        preexec_fn=heed_interrupts, **more,
    )  # fmt: skip


def call(*arguments: str) -> int:
    """The command in this process: quick, output left to capsys."""
    from rubato.cli import call as rubato_call

    return rubato_call(list(arguments))


def wait_for(condition) -> None:
    """However long it takes: how busy the machine is judges nothing. In vain, the test ends by its last resort."""
    while not condition():
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """A zombie is not: who has to take notice of its end may take its time."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def files(directory: Path) -> set[str]:
    return {f.name for f in directory.iterdir()}
