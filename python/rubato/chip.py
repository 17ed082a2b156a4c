"""Runs rubato-chip as a child process: output passed on, progress reported, interrupts and time limits obeyed.

Invariant: whatever happens to the child, its run directory is either complete or holds a file `incomplete`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import collections
import contextlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rubato.errors import ExitCode
from rubato.schema import last_line
from rubato.spec import RunSpec

#: Called with the contents of progress.json and the wall-clock seconds so far.
Progress = Callable[[dict[str, Any], float], None]
Line = Callable[[str], None]

_POLL_SECONDS = 0.05
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended: exit code as in docs/cli.md, and why, if it did not succeed."""

    directory: Path
    exit_code: int
    reason: str = ""
    wall_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


def execute(
    spec: RunSpec,
    directory: Path,
    *,
    on_output: Line | None = None,
    on_error: Line | None = None,
    on_progress: Progress | None = None,
    stdin: int | None = subprocess.DEVNULL,
    cancelled: threading.Event | None = None,
) -> Outcome:
    """Runs `spec` into `directory`. An interrupt stops the child, marks the directory and is raised again."""
    directory.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    child = subprocess.Popen(
        spec.command(directory),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    errors: collections.deque[str] = collections.deque(maxlen=50)
    readers = [
        _reader(child.stdout, [on_output] if on_output else []),
        _reader(child.stderr, [errors.append, *([on_error] if on_error else [])]),
    ]
    timed_out = False
    try:
        while child.poll() is None:
            seconds = time.monotonic() - started
            if on_progress:
                on_progress(read_progress(directory), seconds)
            if cancelled is not None and cancelled.is_set():
                raise KeyboardInterrupt
            if spec.timeout is not None and seconds > spec.timeout:
                timed_out = True
                stop(child)
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_POLL_SECONDS)
    except BaseException as e:
        stop(child)
        _mark_incomplete(directory, "interrupted" if isinstance(e, KeyboardInterrupt) else str(e))
        raise
    finally:
        for reader in readers:
            reader.join(timeout=_GRACE_SECONDS)
    seconds = time.monotonic() - started
    if timed_out:
        cycles = read_progress(directory).get("cycles")
        at = f" at cycle {cycles:,}" if cycles else ""
        code, reason = (
            ExitCode.NO_PROGRESS,
            f"stopped{at} after {spec.timeout:g} s of wall clock (--timeout).",
        )
    else:
        code, reason = _verdict(child.returncode, last_line("\n".join(errors)), directory)
    if code == ExitCode.USAGE and not any(directory.iterdir()):
        directory.rmdir()  # nothing ran: there is nothing to keep
    elif not (directory / "summary.json").exists() or timed_out:
        _mark_incomplete(directory, reason)
    return Outcome(directory, int(code), reason, seconds)


def read_progress(directory: Path) -> dict[str, Any]:
    """The last progress.json; empty before the first."""
    try:
        return json.loads((directory / "progress.json").read_text())
    except (OSError, json.JSONDecodeError):
        return {}


def stop(child: subprocess.Popen[str]) -> None:
    """Ends the child: asks first, so that it can close its files, insists after a while."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _reader(stream: IO[str] | None, sinks: list[Callable[[str], Any]]) -> threading.Thread:
    """Passes on a stream line by line; it must be drained in any case or the child would stall."""

    def read() -> None:
        assert stream is not None
        with stream:
            for line in stream:
                for sink in sinks:
                    sink(line.rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _verdict(code: int, said: str, directory: Path) -> tuple[int, str]:
    if code < 0:
        name = signal.Signals(-code).name
        if -code in (signal.SIGTERM, signal.SIGINT):
            return ExitCode.INTERRUPTED, "interrupted."
        cause = "probably for want of memory" if -code == signal.SIGKILL else "this is a fault of Rubato"
        return (
            ExitCode.INTERNAL,
            f"rubato-chip was ended by {name}, {cause}; see {directory / 'log.txt'}. {said}".strip(),
        )
    if code == 0:
        return ExitCode.SUCCESS, ""
    if said:
        return code, said
    meaning = {
        ExitCode.CHECK_FAILED: "the program's check failed or it exited non-zero.",
        ExitCode.USAGE: "wrong usage, input or configuration.",
        ExitCode.GUEST_FAULT: "the simulated program faulted.",
        ExitCode.NO_PROGRESS: "no progress, or out of simulated time.",
        ExitCode.INTERRUPTED: "interrupted.",
    }
    return code, meaning.get(ExitCode(code) if code in list(ExitCode) else None, f"rubato-chip exited with {code}.")


def _mark_incomplete(directory: Path, reason: str) -> None:
    with contextlib.suppress(OSError):
        (directory / "incomplete").write_text(reason + "\n")
