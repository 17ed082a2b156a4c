"""The report: `write(directories, file)` makes one HTML file of any number of runs and sweeps."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rubato import measurements
from rubato.errors import UsageError
from rubato.files import write_whole
from rubato.report.page import page, places
from rubato.report.study import Failure, Study, study
from rubato.results import find_runs, is_set_aside
from rubato.sweeping import Sweep


def gather(directories: Iterable[str | Path]) -> Study:
    """All runs below `directories`, and the failed points that their sweep.json name."""
    runs, failures, seen, measured = [], [], set(), []
    for directory in map(Path, directories):
        if (directory / measurements.FILE).is_file():
            measured.append(measurements.load(directory))
            continue
        for run in find_runs(directory):
            key = run.directory.resolve()
            if key not in seen:
                seen.add(key)
                runs.append(run)
        for file in [directory / "sweep.json", *directory.glob("*/sweep.json")]:
            if file.is_file() and not is_set_aside(file.parent, directory):
                failures += [
                    Failure(r["name"], r.get("reason") or "not run.", r.get("exit_code"))
                    for r in Sweep(file.parent).points
                    if r["state"] == "failed"
                ]
    found = study(runs, failures)
    found.measured = measured
    return found


def write(directories: Iterable[str | Path], file: Path, title: str | None = None) -> Study:
    """Writes the report to `file`, whole or not at all. @raises UsageError if there is nothing to report."""
    directories = list(directories)
    found = gather(directories)
    if not (found.runs or found.failures or found.measured):
        raise UsageError(f"there is no run in {', '.join(map(str, directories))}.")
    if not (found.runs or found.measured) and all(f.is_damaged for f in found.failures):
        raise UsageError(found.failures[0].reason)
    programs = list(dict.fromkeys(w.program for w in found.workloads))
    if not found.runs and found.measured:
        title = title or found.measured[0].title
    text = page(found, title or f"{', '.join(programs) or 'Runs'} on {places(found)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text)
    return found
