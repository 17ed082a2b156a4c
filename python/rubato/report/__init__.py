"""The report: `write(directories, file)` makes one HTML file of any number of runs and sweeps."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rubato.errors import UsageError
from rubato.files import write_whole
from rubato.report.page import page, places
from rubato.report.study import Failure, Study, study
from rubato.results import measurements, metrics, publication
from rubato.results.run import find_runs
from rubato.sweeping.sweep import metrics_of, sweeps_in
from rubato.tm import profile as tm_profile


def gather(directories: Iterable[str | Path]) -> Study:
    """All runs below `directories`, and the failed points that their sweep.json name. A file has the records of a
    publication, or a profile of transactions."""
    runs, failures, seen, measured, profiles, publications = [], [], set(), [], [], []
    swept: dict[str, list[str]] = {}
    for directory in map(Path, directories):
        if directory.is_file() and publication.is_publication(directory):
            publications.append(publication.load(directory))
            continue
        if directory.is_file():
            profiles.append((str(directory), tm_profile.read(directory)))
            continue
        if (directory / measurements.FILE).is_file():
            measured.append(measurements.load(directory))
            continue
        for run in find_runs(directory):
            key = run.directory.resolve()
            if key not in seen:
                seen.add(key)
                runs.append(run)
        for sweep in sweeps_in([directory]):
            failures += [Failure(r["name"], r.get("reason") or "not run.", r.get("exit_code")) for r in sweep.failures]
            for key, values in sweep.swept.items():
                swept[key] = list(dict.fromkeys([*swept.get(key, []), *values]))
    found = study(runs, failures, swept)
    found.measured = measured
    found.transactions = profiles
    found.publications = publications
    return found


def write(
    directories: Iterable[str | Path],
    file: Path,
    title: str | None = None,
    energy_keys: Mapping[str, float] | None = None,
    own_metrics: Mapping[str, str] | None = None,
) -> Study:
    """Writes the report to `file`, whole or not at all; energy with `energy_keys` in place of those of the runs, and
    `own_metrics` beside those of plans. @raises UsageError if there is nothing to report."""
    directories = list(directories)
    found = gather(directories)
    defined = metrics.own(metrics_of(directories, dict(own_metrics or {})))
    for metric in defined if found.runs else []:
        metrics.values(metric, found.runs)  # refuses what no run has
    for w in found.workloads:
        w.energy_keys = dict(energy_keys or {})
        w.metrics = defined
    has_others = bool(found.measured or found.transactions or found.publications)
    if not (found.runs or found.failures or has_others):
        raise UsageError(f"there is no run in {', '.join(map(str, directories))}.")
    if not (found.runs or has_others) and all(f.is_damaged for f in found.failures):
        raise UsageError(found.failures[0].reason)
    programs = list(dict.fromkeys(w.program for w in found.workloads))
    if not found.runs and found.measured:
        title = title or found.measured[0].title
    elif not found.runs and found.publications:
        title = title or found.publications[0].title
    elif not found.runs and found.transactions:
        title = title or f"Transactions of {found.transactions[0][0]}"
    text = page(found, title or f"{', '.join(programs) or 'Runs'} on {places(found)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text)
    return found
