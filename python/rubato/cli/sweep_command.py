"""`rubato sweep`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
import warnings
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from rubato.cli import app as command_line
from rubato.cli import completion, terminal
from rubato.cli.options import SHARED_BY_SWEEPS, plan_fields, with_options
from rubato.cli.words import foreign_words, no_such_option
from rubato.errors import ExitCode, UsageError
from rubato.process import machine
from rubato.results import metrics
from rubato.results.intervals import interval, relative_spread
from rubato.running import memory
from rubato.running.spec import ALLOCATORS, MODES
from rubato.sweeping import sweep as sweeping
from rubato.sweeping.plan import PERTURB, Plan, make_plan
from rubato.sweeping.sweep import Sweep

EPILOG = """[bold]Examples[/]

  rubato sweep --program sssp --cores 1,4,16,64 --mode nonspec,mayspec --seeds 3 --out study -- --generate road:300x300

  rubato sweep --program sssp --cores 64 --set l2.size=64KiB,256KiB,1MiB --set net.contention=true,false

  rubato sweep --program des --cores 64 --alloc ideal,capalloc,tcmalloc,libc -- --generate csa:12 --events heap

  rubato sweep plan.toml --jobs 4 --out study        (and again with --resume after an interrupt)

  rubato sweep plan.toml --cluster tcp://head:8786   (Dask: Slurm, Kubernetes, ssh hosts)

  rubato report study
"""

Opt = typer.Option


@command_line.app.command(
    "sweep",
    cls=command_line.CommandOfPrograms,
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@with_options(SHARED_BY_SWEEPS, before="baseline")
def sweep_command(
    context: typer.Context,
    plan: Annotated[str | None, typer.Argument(metavar="PLAN.toml", help="The same fields as the options.")] = None,
    program: Annotated[str | None, Opt(metavar="P,P,...", help="Applications or executables.",
                                              autocompletion=completion.several(completion.applications))] = None,
    cores: Annotated[str | None, Opt(metavar="N,N,...", help="Numbers of cores.")] = None,
    mode: Annotated[str | None, Opt(metavar="MODE,...", help="spec, nonspec, mayspec.",
                                           autocompletion=completion.several(completion.one_of(MODES)))] = None,
    alloc: Annotated[str | None, Opt(metavar="NAME,...", help=f"Allocators on the chip: {', '.join(ALLOCATORS)}.",
                                            autocompletion=completion.several(completion.one_of(ALLOCATORS)))] = None,
    seeds: Annotated[
        int | None,
        Opt(metavar="N", help="Repeat each point with the chip's seeds 1 to N. One of the input: `-- --seed N`."),
    ] = None,
    set: Annotated[list[str] | None, Opt(metavar="KEY=V,V,...", help="Values of a configuration key.",
                                                autocompletion=completion.swept_settings)] = None,
    config: Annotated[str | None, Opt(metavar="FILE,...", help="Chip descriptions.",
                                             autocompletion=completion.several(completion.configurations))] = None,
    metric: Annotated[
        list[str] | None, Opt(metavar="NAME=EXPRESSION", help="A number of your own in its tables; repeatable.")
    ] = None,
    out: Annotated[str | None, Opt(metavar="DIR", help="Where the runs go; default: runs/sweep-PROGRAM.")] = None,
    jobs: Annotated[int | None, Opt(help="Runs at a time; default: one a processor; native: one.")] = None,
    cluster: Annotated[str | None, Opt(metavar="ADDRESS", help="Run on this Dask scheduler.")] = None,
    resume: Annotated[bool, Opt("--resume", help="Continue: keep finished runs, repeat the others.")] = False,
    dry_run: Annotated[bool, Opt("--dry-run", help="Show what would run.")] = False,
    baseline: Annotated[
        bool | None,
        Opt("--baseline/--no-baseline", help="Also run the serial code; default: if cores vary and there is one."),
    ] = None,
    json_: Annotated[bool, Opt("--json", help="Print one JSON object and nothing else.")] = False,
    **options: Any,
) -> int:
    """Run every combination of cores, modes, seeds and settings; finished runs are never lost or repeated.

    Options that Rubato does not have go to the program, and so does everything behind `--`.
    """
    programs, words = _words(program), list(context.args)
    ours = [o for p in context.command.params for o in p.opts]
    if plan is not None and plan.startswith("-"):  # the parser takes the first word that it does not know for PLAN
        if programs is None:
            raise no_such_option(context.command_path, ours, plan, "PLAN.toml or --program")
        plan, words = None, [plan, *words]
    if any(word.partition("=")[0] == "--seed" for word in words):  # to `rubato run` it would be the chip's
        raise UsageError("--seeds N repeats each point with the chip's seeds 1 to N; the program's own follows `--`.")
    foreign = foreign_words(context.command_path, ours, words, programs or [])
    given = plan_fields(options) | {
        "program": programs, "cores": _numbers(cores), "mode": _words(mode), "alloc": _words(alloc), "seeds": seeds,
        "config": _words(config), "set": _settings(set or []) or None, "baseline": baseline,
        "metrics": metrics.pairs(metric or []) or None,
        "arguments": [*foreign, *command_line.after_dashes] or None,
    }  # fmt: skip
    chosen = _plan(plan, {k: v for k, v in given.items() if v is not None}, out, resume)
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs is at least 1, not {jobs}.")
    if dry_run:
        return _dry_run(chosen, jobs, json_)
    where = sweeping.directory_of(chosen, out, resume=resume)
    progress = terminal.sweep_progress()
    with terminal.shown(progress):
        task = progress.add_task(", ".join(chosen.program), total=len(chosen.points()), state="")

        def show(done: int, total: int, running: list[str]) -> None:
            progress.update(task, completed=done, total=total, state=", ".join(running[:3]))

        def note(message: Warning | str, *_: Any, **__: Any) -> None:
            terminal.err.print(f"note: {message}", markup=False, soft_wrap=True)

        warnings.showwarning = note
        try:
            result = sweeping.sweep(
                chosen,
                out=where,
                jobs=jobs,
                cluster=cluster,
                resume=resume,
                on_progress=None if json_ else show,
            )
        except KeyboardInterrupt:
            terminal.err.print(
                f"finished runs are kept; the same command with --resume --out {where} continues.",
                markup=False, soft_wrap=True,
            )  # fmt: skip
            raise
    if json_:
        print(json.dumps({"directory": str(result.directory), "points": result.points}))
    else:
        _show(result)
    return ExitCode.CHECK_FAILED if result.failures else ExitCode.SUCCESS


def _plan(file: str | None, given: dict[str, Any], out: str | None, resume: bool) -> Plan:
    """The plan of the file, or that of the sweep to resume; options override its fields."""
    if file is not None:
        from pathlib import Path

        from rubato import toml

        return make_plan(toml.load(Path(file)) | given) if given else make_plan(file)
    if "program" in given:
        return make_plan(given)
    if resume and out is not None:
        return make_plan(sweeping.plan_of(out).model_dump() | given)
    raise UsageError("a sweep needs PLAN.toml or --program; see `rubato sweep --help`.")


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [w.strip() for w in text.split(",") if w.strip()]


def _numbers(text: str | None) -> list[int] | None:
    try:
        return None if text is None else [int(w) for w in text.split(",")]
    except ValueError:
        raise UsageError(f"--cores takes numbers such as 1,4,16, not {text}.") from None


def _settings(pairs: list[str]) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, values = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set takes KEY=VALUE,VALUE, such as l2.size=64KiB,1MiB, not {pair}.")
        known = settings.setdefault(key.strip(), [])  # a key that is repeated has the values of all
        known += [v for v in map(str.strip, values.split(",")) if v not in known]
    return settings


def _dry_run(plan: Plan, jobs: int | None, json_: bool) -> int:
    plan.check()
    points, estimator = plan.points(), memory.Estimator()
    largest = max(estimator.mb(p.spec) for p in points)
    free = machine.available_mb()
    usual = sweeping.usual_jobs(plan)
    at_once = max(1, min(jobs or usual, len(points), int(free * 0.9 // largest)))
    if json_:
        told = [(p.name, estimator.mb(p.spec), dataclasses.asdict(p.spec)) for p in points]
        rows = [{"name": name, "estimate_mb": mb, "spec": spec} for name, mb, spec in told]
        print(json.dumps({"points": rows, "jobs": at_once, "available_mb": free}))
        return 0
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("run")
    table.add_column("memory, about", justify="right")
    for p in points:
        table.add_row(escape(p.name), f"{estimator.mb(p.spec):,.0f} MB")
    terminal.print_table(table)
    terminal.out.print(
        f"{terminal.plural(len(points), 'run')}, {at_once} at a time; the largest may take {largest:,.0f} MB of "
        f"{free:,.0f} MB free."
    )
    return 0


def _mode(spec: dict[str, Any]) -> str:
    return "serial" if spec.get("serial") else spec["mode"] or "default"


def _show(result: Sweep) -> None:
    grouped: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    configs = {p["spec"]["config"] for p in result.points}
    is_perturbed_alike = len({str(p["spec"]["set"].get(PERTURB)) for p in result.points}) == 1
    for p in result.points:
        if p["state"] == "finished":
            spec = p["spec"]
            told = {k: v for k, v in spec["set"].items() if k != PERTURB or not is_perturbed_alike}
            settings = " ".join(f"{k}={v}" for k, v in told.items())
            if spec.get("alloc") is not None:
                settings = f"alloc={spec['alloc']} {settings}".strip()
            if len(configs) > 1:
                settings = f"{spec['config'] or 'default chip'} {settings}".strip()
            key = (spec["program"], str(spec["cores"] or "default"), _mode(spec), settings)
            grouped.setdefault(key, []).append(p)
    if grouped:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        is_native = all(p.get("cycles") is None for points in grouped.values() for p in points)
        time = "time" if is_native else "cycles"
        for name in ("program", "cores", "mode", "settings", "seeds", time, "± 95 %", "check"):
            table.add_column(name, justify="right" if name in ("cores", "seeds", time, "± 95 %") else "left")
        for key, points in grouped.items():
            i = interval([p["seconds"] if is_native else p["cycles"] for p in points])
            spread = relative_spread(i)
            check = ", ".join(sorted({p["check"] for p in points}))
            mean = terminal.seconds(i.mean) if is_native else f"{i.mean:,.0f}"
            table.add_row(*map(escape, key), str(i.samples), mean, spread, terminal.check_text(check))
        terminal.print_table(table)
    if result.failures:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="failed", title_style="bold red", title_justify="left")
        table.add_column("point")
        table.add_column("exit", justify="right")
        table.add_column("reason", overflow="fold")
        for p in result.failures:
            table.add_row(escape(p["name"]), str(p["exit_code"]), escape(p["reason"]))
        terminal.print_table(table)
    empty = [p["name"] for p in result.points if p["state"] == "finished" and p["cycles"] == 0 and p["spec"]["roi"]]
    if empty:
        text = f"note: {terminal.plural(len(empty), 'run')} measured nothing, since no region of --roi began: "
        text += f"{', '.join(empty[:3])}{', ...' if len(empty) > 3 else ''}."
        terminal.err.print(text, markup=False, soft_wrap=True)
    terminal.out.print(f"{escape(str(result.directory))}: {terminal.plural(len(result.runs), 'run')}"
                       + (f", [red]{len(result.failures)} failed[/]" if result.failures else "")
                       + f". `rubato report {escape(str(result.directory))}` draws them.", soft_wrap=True)  # fmt: skip
