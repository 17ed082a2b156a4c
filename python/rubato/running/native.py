"""Runs a program of a host engine (native: this machine's cores; serial), and makes a run directory of what it leaves.

The engine writes its counters and times itself, into the file that RUBATO_COUNTERS names (docs/native.md); all else
about the run is known here. Invariant, as on the chip: the directory is either complete or holds a file `incomplete`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import rubato
from rubato.errors import ExitCode, UsageError
from rubato.files import write_whole
from rubato.home.schema import last_line
from rubato.interrupts import INTERRUPTS
from rubato.process.child import Ended, Line, NotStarted, Outcome, mark_incomplete, supervise
from rubato.running import chip
from rubato.running.spec import RunSpec

#: Files of the run directory that only this module writes.
_COUNTERS, _OUTPUT, _LOG = "counters.json", "output.txt", "log.txt"
_NOT_OPTIONS = ("RUBATO_HOME", "RUBATO_DATA", "RUBATO_TRACEBACK")
#: What the engine throws when it starts with a choice that it cannot have (docs/native.md); few programs catch it.
_WRONG_CHOICE = re.compile(r"RUBATO_[A-Z_]+ is '|\d+ workers were asked for|the (trace|counters) .* cannot be written")
#: How the C++ library begins to tell of an exception that the program did not catch; the next line has its sentence.
_TERMINATED = "terminate called after throwing"
_CHECK = re.compile(r"^check: (passed|failed)$", re.MULTILINE)


def execute(
    spec: RunSpec,
    directory: Path,
    *,
    on_output: Line | None = None,
    on_error: Line | None = None,
    on_progress: Callable[[dict[str, Any], float], None] | None = None,
    stdin: int | None = subprocess.DEVNULL,
    cancelled: threading.Event | None = None,
) -> Outcome:
    """Runs `spec` into `directory`. An interrupt stops the program, marks the directory and is raised again."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in (*chip.FILES, "incomplete"):  # of a run that is replaced
        (directory / name).unlink(missing_ok=True)
    try:
        return _execute(spec, directory, on_output, on_error, on_progress, stdin, cancelled)
    except NotStarted as e:
        _clear(directory)
        raise UsageError(f"{spec.executable()} cannot be run on this machine: {e.strerror or e}.") from None
    except OSError as e:
        _clear(directory)
        raise UsageError(f"{directory}: the results cannot be written: {e.strerror or e}.") from None
    except BaseException as e:
        mark_incomplete(directory, "interrupted" if isinstance(e, KeyboardInterrupt) else str(e))
        raise


def _execute(
    spec: RunSpec,
    directory: Path,
    on_output: Line | None,
    on_error: Line | None,
    on_progress: Callable[[dict[str, Any], float], None] | None,
    stdin: int | None,
    cancelled: threading.Event | None,
) -> Outcome:
    command = [str(spec.executable()), *spec.program_arguments()]
    settings = environment(spec, directory)
    shown = _Shown(on_error) if on_error else None
    with (directory / "run.toml").open("w", encoding="utf-8", errors="replace") as file:
        file.write(_manifest(spec, command, settings))
    with _lines(directory / _OUTPUT) as output, _lines(directory / _LOG) as log:
        ended = supervise(
            command,
            environment=os.environ | settings,
            timeout=spec.timeout,
            on_output=[lambda line: output.write(line + "\n"), *([on_output] if on_output else [])],
            on_error=[lambda line: log.write(line + "\n"), *([shown.line] if shown else [])],
            on_poll=(lambda seconds: on_progress({"native": True}, seconds)) if on_progress else None,
            stdin=stdin,
            cancelled=cancelled,
        )
    if shown:
        shown.end()
    code, reason = _verdict(spec, ended)
    counters = _counters(directory)
    if code == ExitCode.SUCCESS and counters is None:
        if any("the counters could not be written" in line for line in ended.last_errors):  # it says so itself
            raise UsageError(f"{directory / _COUNTERS} cannot be written.")
        code = ExitCode.USAGE
        reason = f"{spec.name} is not a program of the {spec.engine} engine: it wrote no counters."
    if code == ExitCode.USAGE:
        _clear(directory)  # nothing ran: there is nothing to keep
    elif counters is None or ended.timed_out or code == ExitCode.INTERRUPTED:
        mark_incomplete(directory, reason)
    else:
        _write_results(spec, directory, counters, ended, int(code), reason)
    return Outcome(directory, int(code), reason, ended.seconds)


class _Shown:
    """Passes lines of standard error on, but for those by which the C++ library tells of a wrong choice: the sentence
    that ends the command says it."""

    def __init__(self, pass_on: Line):
        self._pass_on = pass_on
        self._held: list[str] = []

    def line(self, text: str) -> None:
        if self._held and _WRONG_CHOICE.match(_exception(text)):
            self._held.clear()
            return
        self.end()
        if text.startswith(_TERMINATED):
            self._held.append(text)
        else:
            self._pass_on(text)

    def end(self) -> None:
        """After the last line."""
        for text in self._held:
            self._pass_on(text)
        self._held.clear()


def _exception(line: str) -> str:
    """The sentence of an exception that the program did not catch."""
    return line.strip().removeprefix("what():").strip()


def _lines(file: Path) -> IO[str]:
    return file.open("w", encoding="utf-8", errors="replace")


def environment(spec: RunSpec, directory: Path) -> dict[str, str]:
    """What the engine reads when it starts, beside what the user's own environment says."""
    settings = dict(variable.split("=", 1) for variable in spec.env)
    settings["RUBATO_COUNTERS"] = str((directory / _COUNTERS).resolve())
    if spec.engine == "serial" and spec.seed is not None:
        settings["RUBATO_SEED"] = str(spec.seed)
    elif spec.engine == "native" and spec.cores is not None:
        settings["RUBATO_WORKERS"] = str(spec.cores)
    if spec.oversubscribe:
        settings["RUBATO_OVERSUBSCRIBE"] = "1"
    if spec.trace:
        settings["RUBATO_TRACE"] = str((directory / "trace.json").resolve())
    return settings


def _verdict(spec: RunSpec, ended: Ended) -> tuple[ExitCode, str]:
    said = last_line("\n".join(ended.last_errors)).removeprefix(f"{spec.name}: ")
    if ended.timed_out:
        return ExitCode.NO_PROGRESS, f"stopped after {spec.timeout:g} s of wall clock (--timeout)."
    if ended.code == 0:
        return ExitCode.SUCCESS, ""
    if -ended.code in INTERRUPTS:
        return ExitCode.INTERRUPTED, "interrupted."
    if ended.code < 0:
        said = _exception(said)
        if ended.code == -signal.SIGABRT and _WRONG_CHOICE.match(said):
            return ExitCode.USAGE, _by_options(said)
        return ExitCode.GUEST_FAULT, f"{spec.name} was ended by {signal.Signals(-ended.code).name}. {said}".strip()
    # Only applications are known to mean by these what the commands mean.
    if spec.app() is not None and ended.code in (ExitCode.USAGE, ExitCode.GUEST_FAULT):
        return ExitCode(ended.code), said or f"{spec.name} exited with {ended.code}."
    if ended.code == 1:
        return ExitCode.CHECK_FAILED, said or "the program's check failed or it exited non-zero."
    return ExitCode.CHECK_FAILED, f"the program exited with status {ended.code}." + (f" {said}" if said else "")


def _by_options(said: str) -> str:
    """The engine's sentence for users of the command, who choose by options."""
    return said.replace("set oversubscribe (RUBATO_OVERSUBSCRIBE=1)", "give --oversubscribe.")


def _write_results(
    spec: RunSpec, directory: Path, counters: dict[str, Any], ended: Ended, code: int, reason: str
) -> None:
    output = (directory / _OUTPUT).read_text(encoding="utf-8", errors="replace")
    values = {c["name"]: c["value"] for c in counters["counters"]}
    # A team of threads measures its work as serial code is measured.
    untasked = "threads" if spec.has_threads else "serial" if counters.get("serial") else None
    summary = {
        "program": spec.name,
        "engine": spec.engine,
        "cores": counters["workers"],
        "mode": spec.native_mode() if values["tasks_created"] else untasked,
        "seed": counters.get("seed", spec.seed if spec.seed is not None else 1),
        "cycles": None,
        "seconds": counters["seconds"],
        "instructions": None,
        "tasks": {
            "created": values["tasks_created"],
            "committed": values["tasks_run"],
            "aborted": values.get("reads_repeated", 0),
            "nonspeculative": values["tasks_run"],
            "spilled": 0,
            "promoted": values.get("tasks_run_alone", 0),
            "held_back": 0,
        },
        "cycle_breakdown": None,
        "network_bytes": None,
        "check": _check(output),
        "long_tasks": {"count": values.get("tasks_run_long", 0), "functions": counters.get("long_tasks", [])},
        "actors": _actors(values),
        "lagging": _lagging(values, counters),
        "host": {"seconds": ended.seconds, "mips": None, "peak_mb": counters["peak_mb"]},
        "output": output,
        "exit_code": code,
        "complete": True,
        "message": reason,
    }
    described = {c["name"]: {"unit": c["unit"], "description": c["description"]} for c in counters["counters"]}
    stats = {
        "format": 1,
        "stats": {f"{spec.engine}.{name}": text for name, text in described.items()},
        "run": {f"{spec.engine}.{name}": value for name, value in values.items()},
        "roi": {f"{spec.engine}.{name}": value for name, value in values.items()},
    }
    write_whole(directory / "stats.json", json.dumps(stats, indent=1))
    write_whole(directory / "summary.json", json.dumps(summary, indent=1))


def _actors(values: dict[str, int]) -> dict[str, int] | None:
    if "actors_spawned" not in values:
        return None
    return {
        "spawned": values["actors_spawned"],
        "messages": values["messages_handled"],
        "dead_letters": values["dead_letters"],
    }


def _lagging(values: dict[str, int], counters: dict[str, Any]) -> dict[str, float] | None:
    """Of workers before they sleep, and of actors before they give up a turn; nothing where neither waited."""
    waits = values.get("lag_samples", 0) + values.get("lags", 0)
    turn_waits = values.get("turn_lag_samples", 0) + values.get("turn_lags", 0)
    if not waits and not turn_waits:
        return None
    hits = values["lag_sample_hits"] + values["lag_hits"] + values["turn_lag_sample_hits"] + values["turn_lag_hits"]
    available = 1e9 * counters["seconds"] * counters["workers"]
    return {
        "waits": waits,
        "turn_waits": turn_waits,
        "hit_share": hits / (waits + turn_waits),
        "time_share": (values["lag_ns"] + values["turn_lag_ns"]) / available if available else 0,
        "switch_ns": values["lag_switch_ns"],
        "turn_switch_ns": values["turn_switch_ns"],
    }


def _check(output: str) -> str:
    """What the program printed about its check: a line, or the key of the JSON object that is all of its output."""
    checks = _CHECK.findall(output)
    if output.startswith("{"):
        with contextlib.suppress(json.JSONDecodeError):
            checks.append(json.loads(output).get("check"))
    return next((result for result in ("failed", "passed") if result in checks), "none")


def _counters(directory: Path) -> dict[str, Any] | None:
    """What the engine wrote when the program ended, or nothing if it did not come to that."""
    try:
        return json.loads((directory / _COUNTERS).read_text(encoding="utf-8", errors="replace"))
    except (OSError, json.JSONDecodeError):
        return None


def _manifest(spec: RunSpec, command: list[str], settings: dict[str, str]) -> str:
    """run.toml: what repeats the run."""
    options = {k: v for k, v in os.environ.items() if k.startswith("RUBATO_") and k not in _NOT_OPTIONS}
    fields = {
        "format": 1,
        "version": rubato.__version__,
        "engine": spec.engine,
        "program": command[0],
        "program_sha256": hashlib.sha256(Path(command[0]).read_bytes()).hexdigest(),
        "arguments": command[1:],
        "environment": [f"{k}={v}" for k, v in sorted((options | settings).items())],
        "directory": str(Path.cwd()),
        "seed": spec.seed if spec.seed is not None else 1,
        "command_line": command,
    }
    lines = [f"{key} = {_toml(value)}" for key, value in fields.items()]
    config = {k.removeprefix("RUBATO_").lower(): v for k, v in options.items() if k != "RUBATO_WORKERS"}
    lines += ["", f"[config.{spec.engine}]", *(f"{k} = {_toml(v)}" for k, v in sorted(config.items()))]
    return f"# A run of rubato's {spec.engine} engine: everything needed to repeat it.\n" + "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A JSON string, number or list of strings is one of TOML too, once bytes that are no text are question marks."""
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _clear(directory: Path) -> None:
    for name in (*chip.FILES, "incomplete"):
        (directory / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()
