"""`rubato apps`, `config`, `compare`, `doctor`: commands that look and start nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from rubato import toml
from rubato.cli import completion, terminal
from rubato.cli.app import app
from rubato.errors import UsageError
from rubato.home import apps, doctor, locate, schema
from rubato.process.child import ask
from rubato.report.comparison import said
from rubato.results import compare as comparing
from rubato.results import metrics
from rubato.results.intervals import Interval
from rubato.results.run import load, load_run
from rubato.running.options import settings_of
from rubato.sweeping import compare as compare_sweeps
from rubato.sweeping.sweep import Sweep
from rubato.tm import library as tm_library

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table


@app.command("apps", epilog="[bold]Example[/]\n\n  rubato apps sssp")
def apps_command(
    name: Annotated[str | None, typer.Argument(
        help="Show one application's inputs and options.", autocompletion=completion.applications,
    )] = None,  # fmt: skip
    json_: Json = False,
) -> int:
    """List the applications, or show one's inputs, options and source."""
    known = apps.all_apps() if name is None else {name: apps.app(name)}
    if not known:
        raise UsageError(locate.nothing_here())
    if json_:
        told = {n: {"file": str(a.file), "built": not a.missing} for n, a in known.items()}
        print(json.dumps({n: dataclasses.asdict(a) | told[n] for n, a in known.items()}))
        return 0
    if name is None:
        table = _table("application", "what it does", "built")
        for app_ in known.values():
            table.add_row(app_.name, escape(app_.summary), _built(app_))
        terminal.print_table(table)
        terminal.out.print("`rubato apps NAME` shows inputs and options.")
        return 0
    _show_app(known[name])
    return 0


def _built(app_: apps.App) -> str:
    built = ", ".join(e for e in app_.engines if e not in app_.missing)
    if not app_.missing:
        return built
    return f"{built}; not {', '.join(app_.missing)}: make build" if built else "no: make build"


def _show_app(app_: apps.App) -> None:
    terminal.out.print(f"[bold]{app_.name}[/]  {escape(app_.summary)}")
    if app_.source:
        terminal.out.print(f"source: {escape(app_.source)}")
    if app_.inputs:
        inputs = app_.inputs if isinstance(app_.inputs, list) else [app_.inputs]
        for line in inputs:
            text = ", ".join(f"{k}: {v}" for k, v in line.items()) if isinstance(line, dict) else str(line)
            terminal.out.print(f"inputs: {escape(text)}")
    table = _table("option", "meaning")
    for option in app_.options:
        table.add_row(escape(option.flag), escape(option.help))
    terminal.print_table(table)
    arguments = " ".join(app_.demo_arguments)
    where = "--cores 16" if "chip" in app_.engines else f"--engine {app_.engines[0]}"
    terminal.out.print(f"try: rubato run {app_.name} {where}{' -- ' + escape(arguments) if arguments else ''}")


config_app = typer.Typer(no_args_is_help=True, help="Show, check and explain chip configurations.")
app.add_typer(config_app, name="config")


@config_app.command("show", epilog="[bold]Example[/]\n\n  rubato config show --config espresso-256 --set chip.cores=64")
def config_show(
    config: Annotated[str | None, typer.Option(
        help="Chip description.", autocompletion=completion.configurations,
    )] = None,
    set: Annotated[list[str] | None, typer.Option(
        metavar="KEY=VALUE", help="Override a key.", autocompletion=completion.settings,
    )] = None,
) -> int:
    """Print the resolved configuration as TOML: every key, also those that were not given."""
    settings = settings_of(set or [])
    schema.check_settings([f"{k}={v}" for k, v in settings.items()])
    command = [str(locate.chip()), "--show-config"]
    command += ["--config", str(locate.config_file(config))] if config else []
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    print(_ask(command), end="")
    return 0


@config_app.command("check", epilog="[bold]Example[/]\n\n  rubato config check my-chip.toml")
def config_check(
    file: Annotated[str | None, typer.Argument(
        help="A chip description.", autocompletion=completion.configurations,
    )] = None,
    config: Annotated[str | None, typer.Option(
        help="The same, as other commands name it.", autocompletion=completion.configurations,
    )] = None,
) -> int:
    """Check a chip description; problems come with file, line and key."""
    chosen = file or config
    if chosen is None:
        raise UsageError("which file? `rubato config check FILE.toml`.")
    _ask([str(locate.chip()), "--check-config", str(locate.config_file(chosen))])
    terminal.out.print(f"[green]{escape(chosen)} is a valid chip description.[/]")
    return 0


def _ask(command: list[str]) -> str:
    result = ask(command)
    if result.returncode != 0:
        raise UsageError(schema.last_line(result.stderr or result.stdout))
    return result.stdout


@config_app.command("explain", epilog="[bold]Example[/]\n\n  rubato config explain l2.size")
def config_explain(
    key: Annotated[str, typer.Argument(
        help="A key such as l2.size, or a section such as l2.", autocompletion=completion.keys,
    )],
    json_: Json = False,
) -> int:
    """Say what a key means, with its unit, range and default."""
    known = schema.keys()
    section = [k for k in known.values() if k.key.startswith(key.rstrip(".") + ".")]
    chosen = [known[key]] if key in known else section or [schema.key(key)]
    if json_:
        print(json.dumps([{f: v for f, v in dataclasses.asdict(k).items() if v is not None} for k in chosen]))
        return 0
    for k in chosen:
        terminal.out.print(f"[bold]{k.key}[/]  {escape(k.description)}")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim")
        grid.add_column()
        grid.add_row("  type", k.type + (f", in {k.unit}" if k.unit else ""))
        if k.choices:
            grid.add_row("  choices", ", ".join(map(str, k.choices)))
        elif k.range is not None:
            grid.add_row("  range", _range(k.range))
        grid.add_row("  default", escape(toml.text(k.default)))
        if k.source:
            grid.add_row("  source", escape(k.source))
        grid.add_row("  set it", f"--set {k.key}={escape(toml.text(k.default))}")
        terminal.out.print(grid)
    return 0


def _range(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2:
        return f"{value[0]:,} to {value[1]:,}"
    return str(value)


@app.command("compare", epilog="[bold]Example[/]\n\n  rubato compare runs/sssp-64-nonspec runs/sssp-64-mayspec")
def compare_command(
    before: Annotated[str, typer.Argument(metavar="DIR", autocompletion=completion.results)],
    after: Annotated[str, typer.Argument(metavar="DIR", autocompletion=completion.results)],
    each: Annotated[bool, typer.Option("--each", help="Every tile, core and link by itself.")] = False,
    limit: Annotated[int, typer.Option(help="Statistics to show; 0: all.")] = 30,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME=EXPRESSION", help="A number of your own; repeatable.")
    ] = None,
    regions: Annotated[bool, typer.Option("--regions", help="By region that the programs mark.")] = False,
    json_: Json = False,
) -> int:
    """Show what differs between two runs: configuration, metrics, then statistics by size of change.

    Of two sweeps: how many times faster each point of the second is, and the geometric mean.
    """
    loaded = [load(before), load(after)]
    own = metrics.own(metrics.pairs(metric or []))
    if all(isinstance(results, Sweep) for results in loaded):
        return _compare_sweeps(compare_sweeps.compare(*loaded, own, by_region=regions), before, after, json_)
    runs = [load_run(before), load_run(after)]
    by_region = comparing.by_region(*runs) if regions else []
    found = comparing.compare(*runs, each=each, own=own)
    for run in runs:
        if not run.complete:
            terminal.err.print(
                f"note: {run.directory} is incomplete: its numbers are those of the part that ran.",
                markup=False, soft_wrap=True,
            )  # fmt: skip
    if json_:
        document = {
            "configuration": [dataclasses.asdict(c) for c in found.configuration],
            "summary": [_change(c) for c in found.summary],
            "metrics": [{"name": c.metric.name, "before": c.before, "after": c.after} for c in found.metrics],
            "statistics": [_change(c) for c in found.statistics],
        }
        if regions:
            document["regions"] = [_region(r) for r in by_region]
        print(json.dumps(document))
        return 0
    if by_region:
        _show_regions(by_region, own)
        return 0
    if found.is_identical and not own:
        terminal.out.print("the runs are identical: same configuration, same statistics.")
        return 0
    if found.configuration:
        table = _table("configuration", "before", "after")
        for c in found.configuration:
            table.add_row(c.key, escape(toml.text(c.before)), escape(toml.text(c.after)))
        terminal.print_table(table)
    else:
        terminal.out.print("the configurations are the same.\n")
    if found.metrics:
        table = _table("metric", ">before", ">after", "unit")
        for c in found.metrics:
            unit = "" if c.metric.unit == "share" else c.metric.unit
            table.add_row(escape(c.metric.heading), c.metric.said(c.before), c.metric.said(c.after), unit)
        terminal.print_table(table)
    for heading, changes in (("summary", found.summary), ("statistic", found.statistics)):
        shown = changes[:limit] if limit else changes
        if not shown:
            terminal.out.print(f"every {heading} is the same.\n")
            continue
        table = _table(heading, ">before", ">after", ">change", "unit")
        for c in shown:
            style = "red" if c.change > 0 else "cyan"
            percent = "new" if math.isinf(c.change) else f"{c.change:+.1%}"
            table.add_row(c.path, _value(c.before), _value(c.after), f"[{style}]{percent}[/]", c.unit)
        terminal.print_table(table)
        if len(shown) < len(changes):
            terminal.out.print(f"and {len(changes) - len(shown):,} smaller changes (--limit 0 shows them).\n")
    return 0


def _compare_sweeps(found: compare_sweeps.Comparison, before: str, after: str, json_: bool) -> int:
    if json_:
        document = dataclasses.asdict(found)
        document["metrics"] = [{"name": m.metric.name, "points": m.points} for m in found.metrics]
        print(json.dumps(document))
        return 0
    if found.configuration:
        table = _table("configuration", "before", "after")
        for c in found.configuration:
            table.add_row(c.key, escape(toml.text(c.before)), escape(toml.text(c.after)))
        terminal.print_table(table)
    table = _table("program", ">cores", "mode", "settings", ">seeds", ">before", ">after", ">times faster")
    for p in found.points:
        seeds = ", ".join(map(str, dict.fromkeys((p.before.samples, p.after.samples))))
        table.add_row(*_point(p), seeds, _time(found, p.before), _time(found, p.after), said(p.faster))
    for name, mean in found.means.items():
        table.add_row(f"[bold]{escape(name)}[/]", "", "", "", "", "", "", f"[bold]{said(mean)}[/]")
    terminal.print_table(table)
    for m in found.metrics:
        table = _table("program", ">cores", "mode", "settings", f">{escape(m.metric.name)} before", ">after")
        for p, ends in zip(found.points, m.points, strict=True):
            table.add_row(*_point(p), *(m.metric.said(end and end.mean) for end in ends))
        terminal.print_table(table)
    for directory, count in ((before, found.only_before), (after, found.only_after)):
        if count:
            terminal.out.print(f"{escape(directory)} has {terminal.plural(count, 'point')} that the other has not.")
    return 0


def _point(p: compare_sweeps.Point) -> tuple[str, str, str, str]:
    return escape(p.program), str(p.cores), p.mode or "", escape(" ".join(filter(None, (p.settings, p.region))))


def _region(r: comparing.RegionChange) -> dict[str, Any]:
    return {"name": r.name, "cycles": r.cycles(), "instructions": r.instructions(), "times_faster": r.faster}


def _show_regions(changes: list[comparing.RegionChange], own: list[metrics.Metric]) -> None:
    table = _table("region", ">cycles before", ">after", ">times faster", ">instructions before", ">after",
                   *(f">{escape(m.heading)} {word}" for m in own for word in ("before", "after")))  # fmt: skip
    for r in changes:
        numbers = [["–" if n is None else f"{n:,}" for n in of] for of in (r.cycles(), r.instructions())]
        mine = [m.said(None if end is None else metrics.value(m, end)) for m in own for end in (r.before, r.after)]
        table.add_row(escape(r.name), *numbers[0], "–" if r.faster is None else f"{r.faster:.3g}×", *numbers[1], *mine)
    terminal.print_table(table)


def _time(found: compare_sweeps.Comparison, i: Interval) -> str:
    return f"{i.mean:,.0f}" if found.unit == "cycles" else terminal.seconds(i.mean)


def _change(c: comparing.StatChange) -> dict[str, Any]:
    change = None if math.isinf(c.change) else c.change
    return {"path": c.path, "unit": c.unit, "before": c.before, "after": c.after, "change": change}


def _value(value: float) -> str:
    return terminal.number(value) if float(value).is_integer() else f"{value:.4g}"


def _count(things: int) -> str:
    return "one thing that is needed is" if things == 1 else f"{things} things that are needed are"


@app.command("doctor")
def doctor_command(
    program: Annotated[Path | None, typer.Option("--program", help="Say which library runs its transactions.")] = None,
    json_: Json = False,
) -> int:
    """Check what is installed, what is missing, and how to get it. Exit 2 if something needed is missing."""
    if program is not None:
        library = tm_library.of_program(program)
        if json_:
            print(json.dumps(dataclasses.asdict(library) | {"path": library.path and str(library.path)}))
        else:
            print(f"{program}: {library}")
        return 0
    found = doctor.findings()
    missing = [f for f in found if f.needed and not f.ok]
    if json_:
        print(json.dumps([dataclasses.asdict(f) for f in found]))
        return 2 if missing else 0
    table = _table("", "what", "found", "for")
    for f in found:
        mark = "[green]ok[/]" if f.ok else "[red]missing[/]" if f.needed else "[yellow]missing[/]"
        table.add_row(mark, f.name, escape(f.found) if f.ok else f"[bold]{f.remedy}[/]", escape(f.purpose))
    terminal.print_table(table)
    for f in found:
        if f.details:
            terminal.out.print(escape(f"{f.name}: " + "; ".join(f.details)))
    if missing:
        remedies = list(dict.fromkeys(f.remedy for f in missing))
        raise UsageError(f"{_count(len(missing))} missing; run: {' && '.join(remedies)}.")
    terminal.out.print("everything needed is here.")
    return 0
