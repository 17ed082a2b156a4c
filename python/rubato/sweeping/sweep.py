"""`rubato.sweep`: every combination of a plan as a run directory, with a table of how each ended in sweep.json.

Invariants: sweep.json is always whole and names every point; a finished run is never touched again; an
interrupted or failed one is repeated by `resume`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

import rubato
from rubato.errors import ExitCode, RubatoError, UsageError
from rubato.files import write_whole
from rubato.home import apps, locate
from rubato.process import machine
from rubato.process.child import Outcome
from rubato.process.claim import claimed
from rubato.results.allocator import ALLOC
from rubato.results.run import Run, is_set_aside, json_object
from rubato.results.summary import Summary
from rubato.running import memory
from rubato.running.spec import RunSpec
from rubato.sweeping.plan import Plan, make_plan
from rubato.sweeping.pool import ClusterPool, LocalPool

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rubato.results.metrics import Definitions

FILE = "sweep.json"

#: A row of FILE by the name of its run.
Rows = dict[str, dict[str, Any]]

#: Called whenever something ended: finished points, all points, names of the running.
Progress = Callable[[int, int, list[str]], None]


class Sweep:
    """A sweep's directory: `runs` that succeeded, `failures` as rows, `frame()` of all summaries."""

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)
        self.points: list[dict[str, Any]] = _read(self.directory)["points"]

    def __repr__(self) -> str:
        counts = Counter(p["state"] for p in self.points)
        states = ", ".join(f"{n} {state}" for state, n in counts.items())
        return f"<Sweep {str(self.directory)!r}: {states or 'no runs'}>"

    @property
    def runs(self) -> list[Run]:
        return [Run(self.directory / p["name"]) for p in self.points if p["state"] == "finished"]

    @property
    def failures(self) -> list[dict[str, Any]]:
        return [p for p in self.points if p["state"] == "failed"]

    @property
    def swept(self) -> dict[str, list[str]]:
        """The configuration keys that the points differ in, and `alloc` if they do, with their values as the plan has
        them, in its order."""
        values: dict[str, dict[str, None]] = {}
        for p in self.points:
            spec = p["spec"]
            alloc = {} if spec.get(ALLOC) is None else {ALLOC: spec[ALLOC]}
            for key, value in (spec.get("set", {}) | alloc).items():
                values.setdefault(key, {})[str(value)] = None
        return {key: list(seen) for key, seen in values.items() if len(seen) > 1}

    @property
    def metrics(self) -> dict[str, str]:
        """The metrics that its plan defines: expressions by name."""
        return dict(_read(self.directory)["plan"].get("metrics") or {})

    def to_pandas(self, metrics: Definitions | None = None) -> pd.DataFrame:
        """frame() for pandas. @raises UsageError if pandas or pyarrow is not installed."""
        from rubato.results import export

        return export.to_pandas(self.frame(metrics))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from rubato.report import notebook

        return notebook.of_sweep(self)

    def frame(self, metrics: Definitions | None = None) -> pl.DataFrame:
        """One row a finished run: parameters with the values that the simulator read, then the summary's numbers with
        dotted names, then metrics: the built-in ones, those of the plan, and `metrics`. `program` is the name that
        `--json` gives, without the name of an allocator that it was built with. Without finished runs it has the
        columns every row has, and no row.

        @raises UsageError for a metric that names what no run has."""
        import polars as pl

        from rubato.results import allocator, columns
        from rubato.toml import flatten

        rows = []
        runs = self.runs
        specs = {p["name"]: p["spec"] for p in self.points}
        keys = list(dict.fromkeys(key for spec in specs.values() for key in spec["set"]))
        settings = columns.settings(runs, keys)
        measured = columns.measured(runs, {**self.metrics, **(metrics or {})})
        for run, values, numbers in zip(runs, settings, measured, strict=True):
            summary = flatten(run.summary.model_dump(exclude={"output"}) | {"program": allocator.program(run)})
            name = run.directory.name
            spec = specs[name]
            told = {k: str(spec["set"][k]) if v is None and k in spec["set"] else v for k, v in values.items()}
            named = {"name": name} | {k: spec[k] for k in ("config", ALLOC) if spec.get(k) is not None}
            rows.append(columns.joined(named, told, summary, numbers))
        if not rows:
            row = {"name": "", **flatten(Summary(program="", cores=0).model_dump(exclude={"output"}))}
            return pl.DataFrame([row]).clear()
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
    directory = directory_of(plan, out, resume=resume)
    with claimed(directory):
        return _sweep(plan, directory, jobs, cluster, resume, on_progress)


def _sweep(
    plan: Plan, directory: Path, jobs: int | None, cluster: str | None, resume: bool, on_progress: Progress | None
) -> Sweep:
    hashes = made_with(plan)
    done, others = prepare(plan, directory, hashes, resume=resume)
    points = plan.points()
    rows = {p.name: {"name": p.name, "state": "waiting", "spec": dataclasses.asdict(p.spec)} for p in points}
    rows |= done
    waiting = [p for p in points if p.name not in done]
    _write(directory, plan, hashes, rows, others)
    if not waiting:
        return Sweep(directory)
    estimator = memory.Estimator()
    _learn(estimator, done, directory)
    pool: ClusterPool | LocalPool
    if cluster is not None:
        pool = ClusterPool(cluster, jobs)
    else:
        pool = LocalPool(min(jobs or usual_jobs(plan), len(waiting)), estimator)
    finished = len(done)
    if on_progress:
        on_progress(finished, len(points), [])
    outcomes = pool.run(waiting, directory)
    try:
        for point, outcome in outcomes:
            rows[point.name] |= _row(outcome)
            finished += 1
            _write(directory, plan, hashes, rows, others)
            if on_progress:
                on_progress(finished, len(points), pool.running)
    finally:
        outcomes.close()  # stops what still runs
        if isinstance(pool, ClusterPool):
            pool.close()
        hashes = _without_results(plan, hashes)
        _write(directory, plan, hashes, rows, others)
    return Sweep(directory)


def usual_jobs(plan: Plan) -> int:
    """Runs at a time. Beside others, times that are measured on this machine would mean nothing."""
    return 1 if plan.engine != "chip" else machine.processors()


def prepare(plan: Plan, directory: Path, hashes: dict[str, str], *, resume: bool) -> tuple[Rows, Rows]:
    """The rows of points that need no run, with the rest cleared away, and those of finished runs of earlier plans
    that this one leaves out: a later plan may ask for them again."""
    if not (directory / FILE).exists():
        if directory.is_dir() and any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty and not a sweep; choose another --out.")
        return {}, {}
    if not resume:
        raise UsageError(f"{directory} already holds a sweep; --resume continues it, or choose another --out.")
    sweep = _read(directory)
    before = {p["name"]: p for p in [*sweep["points"], *sweep.get("others", [])]}
    points = plan.points()
    done = {p.name: row for p in points if (row := _finished(directory / p.name, before.get(p.name))) is not None}
    changed = ""
    if _changed(sweep.get("made_with", {}), hashes):
        changed = "the simulator, the program, a chip description or an input file has"
    elif any(not _is_same(_spec(done[p.name], directory), p.spec) for p in points if p.name in done):
        changed = "parameters of finished runs have"
    if changed:
        aside = _set_aside(directory)
        warnings.warn(
            f"{changed} changed since {directory} was made; it is now {aside}, and the sweep starts anew.",
            stacklevel=2,
        )
        return {}, {}
    for point in points:
        if point.name not in done and (directory / point.name).exists():
            shutil.rmtree(directory / point.name)
    asked = {p.name for p in points}
    others = {n: row for n, p in before.items() if n not in asked and (row := _finished(directory / n, p)) is not None}
    return done, others


def _finished(directory: Path, before: dict[str, Any] | None) -> dict[str, Any] | None:
    """The row of a run that succeeded, whatever its parameters were, or nothing."""
    run = Run(directory)
    if before is None or not run.complete:
        return None
    try:
        if run.summary.exit_code != 0 or run.summary.check == "failed":
            return None
    except RubatoError:
        return None
    return before | _row(Outcome(directory, 0))


def _spec(row: dict[str, Any], directory: Path) -> RunSpec:
    return _understood(RunSpec.checked, row.get("spec"), directory)


_Model = TypeVar("_Model", Plan, RunSpec)


def _is_same(before: _Model, now: _Model) -> bool:
    """Whether the results are. A time limit changes none of a run that finished, and metrics are computed later."""
    if isinstance(before, Plan):
        neither = {"timeout": None, "metrics": {}}
        return before.model_copy(update=neither) == now.model_copy(update=neither)
    return dataclasses.replace(before, timeout=None) == dataclasses.replace(now, timeout=None)


#: What `made_with` says of a file that an argument names.
_INPUT = "input "


def made_with(plan: Plan) -> dict[str, str]:
    """Hashes of what results depend on beside the plan, by what it is for: results with another simulator, program,
    chip description or input file are not comparable."""
    files = {"simulator": locate.chip()} if plan.engine == "chip" else {}
    for spec in (p.spec for p in plan.points()):
        file = spec.executable()
        files[f"program {spec.program}" + (f" with {spec.alloc}" if spec.alloc in apps.LINKED else "")] = file
        if spec.config is not None:
            files[f"config {spec.config}"] = locate.config_file(spec.config)
        files |= {f"{_INPUT}{file}": file for file in spec.input_files()}
    return {what: _hash(file) for what, file in files.items()}


def _without_results(plan: Plan, hashes: dict[str, str]) -> dict[str, str]:
    """What the runs write themselves is no input."""
    kept = dict(hashes)
    for file in {file for p in plan.points() for file in p.spec.input_files()}:
        with contextlib.suppress(OSError):
            if _hash(file) != hashes.get(f"{_INPUT}{file}"):
                kept.pop(f"{_INPUT}{file}", None)
    return kept


def _hash(file: Path) -> str:
    sha = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


def _changed(before: dict[str, str], now: dict[str, str]) -> bool:
    if before and not any(what.startswith("program ") for what in before):
        return True  # made by a version that kept less
    return any(before[what] != now[what] for what in before.keys() & now.keys())


def _set_aside(directory: Path) -> Path:
    """Results are never deleted: the old sweep moves to a name beside its own."""
    count = 1
    while (aside := directory.with_name(f"{directory.name}.before-{count}")).exists():
        count += 1
    directory.rename(aside)
    directory.mkdir()
    return aside


def _row(outcome: Outcome) -> dict[str, Any]:
    """How a run ended, for its row."""
    row: dict[str, Any] = {"exit_code": outcome.exit_code}
    if outcome.exit_code == ExitCode.INTERRUPTED:  # not by us: then nobody asks how it ended
        return row | {"state": "failed", "reason": "somebody stopped its process."}
    if not outcome.ok:
        return row | {"state": "failed", "reason": outcome.reason}
    try:
        summary = Run(outcome.directory).summary
    except RubatoError as e:
        return row | {"state": "failed", "reason": str(e)}
    keys = {
        "cycles": summary.cycles,
        "seconds": summary.seconds,
        "check": summary.check,
        "host_seconds": summary.host.seconds,
    }
    return row | {"state": "finished"} | keys


def _learn(estimator: memory.Estimator, done: dict[str, dict[str, Any]], directory: Path) -> None:
    for name, row in done.items():
        with contextlib.suppress(RubatoError):
            estimator.measured(_spec(row, directory), Run(directory / name).summary.host.peak_mb)


def directory_of(plan: Plan, out: str | Path | None, *, resume: bool) -> Path:
    """Where the runs go: `out`, else a new directory; to resume, the last one of this plan, or the only one.

    @raises UsageError if there are several, all of other plans.
    """
    if out is not None:
        return Path(out)
    stem = f"runs/sweep-{'-'.join(Path(p).name for p in plan.program)}"
    numbered = [Path(stem), *(Path(f"{stem}.{i}") for i in range(2, 10_000))]
    if not resume:
        return next(d for d in numbered if not d.exists())
    sweeps = [d for d in numbered if (d / FILE).exists()]
    if same := [d for d in sweeps if _is_of(d, plan)]:
        return same[-1]
    if len(sweeps) > 1:
        raise UsageError(
            f"none of {', '.join(map(str, sweeps))} is of this plan; say with --out which one is to be resumed."
        )
    return sweeps[0] if sweeps else Path(stem)


def _is_of(directory: Path, plan: Plan) -> bool:
    with contextlib.suppress(RubatoError):
        return _is_same(plan_of(directory), plan)
    return False


def plan_of(directory: str | Path) -> Plan:
    """The plan that a sweep's directory was made with."""
    directory = Path(directory)
    return _understood(lambda fields: Plan(**fields), _read(directory)["plan"], directory)


def sweeps_in(directories: Iterable[str | Path]) -> list[Sweep]:
    """The sweeps that are `directories`, or lie in them, but those set aside."""
    files = {f: d for d in map(Path, directories) for f in [d / FILE, *sorted(d.glob(f"*/{FILE}"))]}
    return [Sweep(f.parent) for f, d in files.items() if f.is_file() and not is_set_aside(f.parent, d)]


def metrics_of(directories: Iterable[str | Path], chosen: dict[str, str]) -> dict[str, str]:
    """The metrics that the plans of all sweeps there define, and `chosen`, which come before a plan's of that name.
    @raises UsageError if two plans mean different things."""
    found: dict[str, str] = {}
    for sweep in sweeps_in(directories):
        for name, expression in sweep.metrics.items():
            if name not in chosen and found.setdefault(name, expression) != expression:
                raise UsageError(f"metric {name} is {found[name]} in one plan and {expression} in another; "
                                 f"give --metric {name}=EXPRESSION.")  # fmt: skip
    return found | chosen


def _understood(made_of: Callable[[Any], _Model], fields: Any, directory: Path) -> _Model:
    """@raises UsageError if another version of Rubato has written them, or nobody."""
    try:
        return made_of(fields)
    except (ValidationError, TypeError):
        raise UsageError(f"{directory / FILE} cannot be read: this version of Rubato did not write it.") from None


def _read(directory: Path) -> dict[str, Any]:
    file = directory / FILE
    if not file.exists():
        raise UsageError(f"{directory} is not a sweep: it has no {FILE}.")
    document = json_object(file)
    if not (isinstance(document.get("plan"), dict) and isinstance(document.get("points"), list)):
        raise UsageError(f"{file} cannot be read: it has no plan or no points.")
    for row in [*document["points"], *document.get("others", [])]:
        if not (isinstance(row, dict) and {"name", "state", "spec"} <= row.keys()):
            raise UsageError(f"{file} cannot be read: a point has no name, state or spec.")
    return document


def _write(directory: Path, plan: Plan, hashes: dict[str, str], rows: Rows, others: Rows) -> None:
    document = {
        "format": 1,
        "version": rubato.__version__,
        "made_with": hashes,
        "plan": plan.model_dump(),
        "points": list(rows.values()),
        "others": list(others.values()),
    }
    write_whole(directory / FILE, json.dumps(document, indent=1))
