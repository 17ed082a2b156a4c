"""`rubato.run`: one program on one simulated chip or on this machine, from Python."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rubato.errors import ExitCode, RunFailed, UsageError
from rubato.process.child import Outcome
from rubato.results.run import Run, is_run
from rubato.running import engines
from rubato.running.options import duration
from rubato.running.spec import RunSpec


def run(
    program: str,
    *,
    arguments: str | Sequence[str] = (),
    cores: int | None = None,
    mode: str | None = None,
    set: dict[str, Any] | None = None,
    config: str | Path | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    timeout: float | str | None = None,
    check: bool = True,
    force: bool = False,
    **more: Any,
) -> Run:
    """Runs `program` (an application's name, or a path to a RISC-V executable) and returns its `Run`.

    `arguments` are the program's, as a list or as one string that is split as a shell splits it (so in plans, too).
    `more` are the other fields of `RunSpec`: trace, interval, series, max_cycles, roi, verify, ...
    @raises UsageError for wrong usage or configuration; RunFailed (with the run inside) if the program's check
    failed, it faulted or made no progress, unless `check=False`.

    >>> rubato.run("sssp", cores=64, mode="mayspec", set={"l2.size": "512KiB"}).summary.cycles
    """
    known = [f.name for f in dataclasses.fields(RunSpec)]
    unknown = [k for k in more if k not in known]
    if unknown:
        from rubato.suggest import did_you_mean

        raise UsageError(f"run() has no argument {unknown[0]}.{did_you_mean(unknown[0], known)}")
    from pydantic import ValidationError

    values = {
        "program": str(program), "arguments": split(arguments), "cores": cores, "mode": mode, "set": set or {},
        "config": str(config) if config is not None else None, "seed": seed,
        "timeout": duration(timeout) if isinstance(timeout, str) else timeout,
    }  # fmt: skip
    try:
        spec = RunSpec.checked(values | more)
    except ValidationError as e:
        first = e.errors()[0]
        message = f"{first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}"
        raise UsageError(f"run(): {first['loc'][0]}: {message}.") from None
    spec.check()
    directory = prepare(out, spec, force=force)
    outcome = engines.execute(spec, directory)
    raise_for(outcome, check=check)
    return Run(directory)


def split(arguments: str | Sequence[str]) -> list[str]:
    """@raises UsageError for a string with an open quotation mark."""
    if not isinstance(arguments, str):
        return [str(a) for a in arguments]
    try:
        return shlex.split(arguments)
    except ValueError as e:
        raise UsageError(f"run(): arguments: {str(e).lower()}: {arguments!r}.") from None


def raise_for(outcome: Outcome, *, check: bool = True) -> None:
    """Turns an unsuccessful outcome into the exception it deserves."""
    if outcome.exit_code == ExitCode.USAGE:
        raise UsageError(outcome.reason)
    if outcome.exit_code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if check and not outcome.ok:
        raise RunFailed(outcome.reason, outcome.exit_code, Run(outcome.directory))


def prepare(out: str | Path | None, spec: RunSpec, *, force: bool = False) -> Path:
    """The directory a run goes to: `out`, or a new one under runs/. A run that is there is kept unless `force`."""
    if out is None:
        return _new_directory(Path("runs"), "-".join(str(p) for p in (spec.name, spec.cores, spec.mode) if p))
    directory = Path(out)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; --out is a directory.")
    if directory.is_dir() and any(directory.iterdir()):
        if not is_run(directory):
            raise UsageError(f"{directory} is not empty and not a run; choose another --out.")
        if not force and Run(directory).complete:
            raise UsageError(f"{directory} already holds a run; choose another --out, or --force to replace it.")
    return directory


def _new_directory(parent: Path, stem: str) -> Path:
    count = 1
    while True:
        directory = parent / (stem if count == 1 else f"{stem}.{count}")
        try:
            directory.mkdir(parents=True)  # by this call alone: two runs started at once get two directories
            return directory
        except FileExistsError:
            count += 1


__all__ = ["prepare", "raise_for", "run"]
