"""Runs rubato-chip as a child process, and says how it ended.

Invariant: whatever happens to the child, its run directory is either complete or holds a file `incomplete`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rubato.errors import ExitCode
from rubato.home import locate
from rubato.home.schema import last_line
from rubato.interrupts import INTERRUPTS
from rubato.process.child import Line, Outcome, mark_incomplete, supervise
from rubato.running.spec import RunSpec

#: Files of the run directory that either engine writes.
FILES = ("run.toml", "summary.json", "stats.json", "series.json", "trace.json.gz", "commits.tsv.gz", "output.txt",
         "log.txt", "progress.json", "counters.json", "trace.json", "instructions.tsv.gz", "watch.tsv.gz")  # fmt: skip
#: How a shell or the dynamic linker ends in a program's place.
_NOT_STARTED = (126, 127)
#: What the simulator says last of an application that refuses its usage or input.
_REFUSED = f"the program exited with status {ExitCode.USAGE:d}"

#: Called with the contents of progress.json and the wall-clock seconds so far.
Progress = Callable[[dict[str, Any], float], None]


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
    try:
        ended = supervise(
            spec.command(directory),
            timeout=spec.timeout,
            on_output=[on_output] if on_output else [],
            on_error=[on_error] if on_error else [],
            on_poll=(lambda seconds: on_progress(read_progress(directory), seconds)) if on_progress else None,
            stdin=stdin,
            cancelled=cancelled,
        )
    except BaseException as e:
        mark_incomplete(directory, "interrupted" if isinstance(e, KeyboardInterrupt) else str(e))
        raise
    if ended.timed_out:
        cycles = read_progress(directory).get("cycles")
        at = f" at cycle {cycles:,}" if cycles else ""
        code, reason = (
            ExitCode.NO_PROGRESS,
            f"stopped{at} after {spec.timeout:g} s of wall clock (--timeout).",
        )
    else:
        code, reason = _verdict(ended.code, _last_words(ended.last_errors, is_read=on_error is not None))
        if spec.app() is not None and last_line("\n".join(ended.last_errors)) == _REFUSED:
            # Only of applications it is known that they mean wrong usage or input by this.
            code, reason = ExitCode.USAGE, _own_words(ended.last_errors).removeprefix(f"{spec.name}: ") or _REFUSED
            for name in FILES:
                (directory / name).unlink(missing_ok=True)
    if code == ExitCode.USAGE and {f.name for f in directory.iterdir()} <= {"incomplete"}:
        (directory / "incomplete").unlink(missing_ok=True)
        directory.rmdir()  # nothing ran: there is nothing to keep
    elif not (directory / "summary.json").exists() or ended.timed_out:
        mark_incomplete(directory, reason)
    return Outcome(directory, int(code), reason, ended.seconds)


def read_progress(directory: Path) -> dict[str, Any]:
    """The last progress.json; empty before the first."""
    try:
        return json.loads((directory / "progress.json").read_text(encoding="utf-8", errors="replace"))
    except (OSError, json.JSONDecodeError):
        return {}


def _own_words(errors: list[str]) -> str:
    """The last line that the program said."""
    return last_line("\n".join(line for line in errors if not line.startswith("rubato-chip: ")))


def _last_words(errors: list[str], *, is_read: bool) -> str:
    """The simulator's last line; if that only names an exit status, and nobody reads them, the program's own too."""
    said = last_line("\n".join(errors))
    own = _own_words(errors)
    return f"{said}: {own}" if said.startswith("the program exited with status") and own and not is_read else said


def _verdict(code: int, said: str) -> tuple[int, str]:
    if code < 0:
        name = signal.Signals(-code).name
        if -code in INTERRUPTS:
            return ExitCode.INTERRUPTED, "interrupted."
        cause = "probably for want of memory" if -code == signal.SIGKILL else "this is a fault of Rubato"
        return (
            ExitCode.INTERNAL,
            f"rubato-chip was ended by {name}, {cause}. {said}".strip(),
        )
    if code == 0:
        return ExitCode.SUCCESS, ""
    if said:
        return code, said
    if code in _NOT_STARTED:
        sentence = f"{locate.chip()} exited with {code}: it cannot run here, or a library that it needs is missing."
        return code, f"{sentence} `ldd` lists its libraries."
    meaning = {
        ExitCode.CHECK_FAILED: "the program's check failed or it exited non-zero.",
        ExitCode.USAGE: "wrong usage, input or configuration.",
        ExitCode.GUEST_FAULT: "the simulated program faulted.",
        ExitCode.NO_PROGRESS: "no progress, or out of simulated time.",
        ExitCode.INTERRUPTED: "interrupted.",
    }
    return code, meaning.get(ExitCode(code) if code in list(ExitCode) else None, f"rubato-chip exited with {code}.")
