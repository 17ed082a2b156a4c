"""Repeats a run from its run.toml: the same program, arguments, environment, configuration and seed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rubato import toml
from rubato.errors import UsageError
from rubato.running.spec import RunSpec

#: What host engines are told by `rubato run` itself.
_OURS = ("RUBATO_COUNTERS", "RUBATO_TRACE")


def recorded(run: Path) -> dict[str, Any]:
    """run.toml of the run in this directory. @raises UsageError if it has none, or one of another format."""
    file = run / "run.toml"
    if not file.is_file():
        raise UsageError(f"{run} holds no run: there is no {file}.")
    fields = toml.load(file)
    if fields.get("format") != 1:
        raise UsageError(f"{file} is of format {fields.get('format')}, and this Rubato reads format 1.")
    if isinstance(fields.get("program"), list):
        raise UsageError(
            f"{run} ran several programs: repeat it with `rubato-chip --config {file} --programs {file} --out DIR`."
        )
    missing = [key for key in ("program", "arguments", "directory") if key not in fields]
    if missing:
        raise UsageError(f"{file} has no {missing[0]}.")
    return fields


def spec_of(run: Path, *, changed: bool = False) -> RunSpec:
    """The run again. `changed`: also if the program's file is another one now.

    @raises UsageError if it cannot be repeated as it was.
    """
    fields = recorded(run)
    program = Path(fields["program"])
    if not program.is_file():
        raise UsageError(f"{program}, the program that ran, is no longer there.")
    if not changed and hashlib.sha256(program.read_bytes()).hexdigest() != fields.get("program_sha256"):
        raise UsageError(f"{program} is not the program that ran, but has changed since; --changed repeats with it.")
    environment = [v for v in fields.get("environment", []) if v.partition("=")[0] not in _OURS]
    common = {"program": str(program), "arguments": fields["arguments"], "env": environment, "verify": False}
    if fields.get("engine") in ("native", "serial"):
        return RunSpec(engine=fields["engine"], seed=fields.get("seed"), **common)
    if fields.get("argv0", program.name) != program.name:
        raise UsageError(f"{run} ran with --argv0 {fields['argv0']}, which `rubato repeat` cannot give.")
    return RunSpec(config=str((run / "run.toml").resolve()), sandbox=fields.get("sandbox") or None, **common)


def differences(first: Path, second: Path) -> int:
    """How many statistics of two runs differ, all of both counted."""
    values = [json.loads((run / "stats.json").read_text(encoding="utf-8"))["run"] for run in (first, second)]
    return sum(values[0].get(name) != values[1].get(name) for name in values[0].keys() | values[1].keys())
