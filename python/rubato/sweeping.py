"""`rubato.sweep`: every combination of a plan as a run directory, with a table of how each ended in sweep.json.

Invariants: sweep.json is always whole and names every point; a finished run is never touched again; an
interrupted or failed one is repeated by `resume`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rubato
from rubato import memory
from rubato.chip import Outcome
from rubato.errors import ExitCode, RubatoError, UsageError
from rubato.plan import Plan, Point, make_plan
from rubato.pool import ClusterPool, LocalPool
from rubato.results import Run
from rubato.spec import RunSpec

if TYPE_CHECKING:
    import polars as pl

FILE = "sweep.json"

#: Called whenever something ended: finished points, all points, names of the running.
Progress = Callable[[int, int, list[str]], None]


class Sweep:
    """A sweep's directory: `runs` that succeeded, `failures` as rows, `frame()` of all summaries."""

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)
        self.points: list[dict[str, Any]] = _read(self.directory)["points"]

    @property
    def runs(self) -> list[Run]:
        return [Run(self.directory / p["name"]) for p in self.points if p["state"] == "finished"]

    @property
    def failures(self) -> list[dict[str, Any]]:
        return [p for p in self.points if p["state"] == "failed"]

    def frame(self) -> pl.DataFrame:
        """One row a finished run: parameters, then the summary's numbers with dotted names."""
        import polars as pl

        from rubato.toml import flatten

        rows = []
        for run in self.runs:
            summary = flatten(run.summary.model_dump(exclude={"output"}))
            point = next(p for p in self.points if p["name"] == run.directory.name)
            rows.append(
                {
                    "name": run.directory.name,
                    **{k: str(v) for k, v in point["spec"]["set"].items()},
                    **summary,
                }
            )
        return pl.DataFrame(rows, infer_schema_length=None)


def sweep(
    plan: Plan | dict[str, Any] | str | Path,
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> Sweep:
    """Runs every point of `plan` (a Plan, a mapping, or a TOML file) below directory `out`.

    Points that fail are rows of the result, not exceptions. @raises UsageError for a wrong plan, before any run.
    """
    plan = make_plan(plan)
    plan.check()
    directory, done = prepare(plan, out, resume=resume)
    points = plan.points()
    rows = {p.name: {"name": p.name, "state": "waiting", "spec": p.spec.model_dump()} for p in points}
    rows |= done
    waiting = [p for p in points if p.name not in done]
    _write(directory, plan, rows)
    if not waiting:
        return Sweep(directory)
    estimator = memory.Estimator()
    _learn(estimator, done, directory)
    pool: ClusterPool | LocalPool
    if cluster is not None:
        pool = ClusterPool(cluster, jobs)
    else:
        pool = LocalPool(min(jobs or memory.processors(), len(waiting)), estimator)
    finished = len(done)
    if on_progress:
        on_progress(finished, len(points), [])
    outcomes = pool.run(waiting, directory)
    try:
        for point, outcome in outcomes:
            rows[point.name] |= _row(outcome)
            finished += 1
            _write(directory, plan, rows)
            if on_progress:
                on_progress(finished, len(points), pool.running)
    finally:
        outcomes.close()  # stops what still runs
        if isinstance(pool, ClusterPool):
            pool.close()
        _write(directory, plan, rows)
    return Sweep(directory)


def prepare(plan: Plan, out: str | Path | None, *, resume: bool) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The sweep's directory and the rows of points that need no run, with the rest cleared away."""
    directory = Path(out) if out is not None else _default_directory(plan, resume)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; --out is a directory.")
    if not (directory / FILE).exists():
        if directory.is_dir() and any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty and not a sweep; choose another --out.")
        directory.mkdir(parents=True, exist_ok=True)
        return directory, {}
    if not resume:
        raise UsageError(f"{directory} already holds a sweep; --resume continues it, or choose another --out.")
    before = {p["name"]: p for p in _read(directory)["points"]}
    done = {}
    for point in plan.points():
        run = Run(directory / point.name)
        if (row := _finished(point, run, before.get(point.name))) is not None:
            done[point.name] = row
        elif run.directory.exists():
            shutil.rmtree(run.directory)
    return directory, done


def _finished(point: Point, run: Run, before: dict[str, Any] | None) -> dict[str, Any] | None:
    """The row of a run that succeeded with the same parameters, or nothing."""
    if before is None or not run.complete or RunSpec(**before["spec"]) != point.spec:
        return None
    try:
        if run.summary.exit_code != 0 or run.summary.check == "failed":
            return None
        recorded = run.manifest.get("program_sha256")
    except RubatoError:
        return None
    if recorded is not None and recorded != _sha256(point.spec.executable()):
        raise UsageError(
            f"{point.spec.executable()} has changed since {run.directory.name} ran: results would not be "
            "comparable; choose another --out."
        )
    return before | _row(Outcome(run.directory, 0))


_hashes: dict[tuple[Path, float], str] = {}


def _sha256(file: Path) -> str:
    key = (file, file.stat().st_mtime)
    if key not in _hashes:
        _hashes[key] = hashlib.sha256(file.read_bytes()).hexdigest()
    return _hashes[key]


def _row(outcome: Outcome) -> dict[str, Any]:
    """How a run ended, for its row. An interrupted one is waiting again."""
    if outcome.exit_code == ExitCode.INTERRUPTED:
        return {"state": "waiting"}
    row: dict[str, Any] = {"exit_code": outcome.exit_code}
    if not outcome.ok:
        return row | {"state": "failed", "reason": outcome.reason}
    try:
        summary = Run(outcome.directory).summary
    except RubatoError as e:
        return row | {"state": "failed", "reason": str(e)}
    keys = {"cycles": summary.cycles, "check": summary.check, "host_seconds": summary.host.seconds}
    return row | {"state": "finished"} | keys


def _learn(estimator: memory.Estimator, done: dict[str, dict[str, Any]], directory: Path) -> None:
    for name, row in done.items():
        with contextlib.suppress(RubatoError):
            estimator.measured(RunSpec(**row["spec"]), Run(directory / name).summary.host.peak_mb)


def _default_directory(plan: Plan, resume: bool) -> Path:
    stem = f"runs/sweep-{'-'.join(Path(p).name for p in plan.program)}"
    if resume:
        return Path(stem)
    directory, count = Path(stem), 1
    while directory.exists():
        count += 1
        directory = Path(f"{stem}.{count}")
    return directory


def plan_of(directory: str | Path) -> Plan:
    """The plan that a sweep's directory was made with."""
    return Plan(**_read(Path(directory))["plan"])


def _read(directory: Path) -> dict[str, Any]:
    file = directory / FILE
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        raise UsageError(f"{directory} is not a sweep: it has no {FILE}.") from None
    except (OSError, json.JSONDecodeError) as e:
        raise UsageError(f"{file} cannot be read: {e}.") from None


def _write(directory: Path, plan: Plan, rows: dict[str, dict[str, Any]]) -> None:
    document = {
        "format": 1,
        "version": rubato.__version__,
        "plan": plan.model_dump(),
        "points": list(rows.values()),
    }
    part = directory / (FILE + ".part")
    part.write_text(json.dumps(document, indent=1))
    part.replace(directory / FILE)
