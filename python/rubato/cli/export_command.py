"""`rubato export`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from rubato.cli import completion, terminal
from rubato.cli.app import app
from rubato.errors import UsageError
from rubato.results import export, metrics
from rubato.results.run import find_runs
from rubato.sweeping import sweep as sweeping


@app.command(
    "export",
    epilog="[bold]Examples[/]\n\n  rubato export study > study.csv\n\n  rubato export study --out study.parquet\n\n"
    "  rubato export runs/a runs/b --statistics --out statistics.parquet",
)
def export_command(
    directories: Annotated[list[str], typer.Argument(
        metavar="DIR...", help="Run or sweep directories.", autocompletion=completion.results,
    )],  # fmt: skip
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="A .csv or .parquet file; default: CSV on standard output.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME=EXPRESSION", help="A column of your own; repeatable.")
    ] = None,
    regions: Annotated[bool, typer.Option("--regions", help="A row a region that the program marks.")] = False,
    statistics: Annotated[bool, typer.Option("--statistics", help="A row a statistic of each run.")] = False,
) -> int:
    """Write results as a table, CSV or Parquet: a row a run with what differs between runs and its numbers."""
    definitions = sweeping.metrics_of(directories, metrics.pairs(metric or []))
    if metric and statistics:
        raise UsageError("--metric is a column of the tables of runs and regions; leave out --statistics.")
    if regions and statistics:
        raise UsageError("a row is a region or a statistic: leave out --regions or --statistics.")
    found = {run.directory.resolve(): run for directory in directories for run in find_runs(directory)}
    complete = [run for run in found.values() if run.complete]
    if left_out := len(found) - len(complete):
        terminal.err.print(f"note: {terminal.plural(left_out, 'incomplete run')} left out.", markup=False)
    if not complete:
        raise UsageError(f"there is no complete run in {', '.join(directories)}.")
    table = export.regions if regions else export.runs
    frame = export.statistics(complete) if statistics else table(complete, definitions)
    if out is None:
        print(export.csv(frame), end="")
        return 0
    export.write(frame, out)
    columns = f"{frame.height:,} rows of {frame.width} columns"
    terminal.out.print(f"{escape(out)}: {terminal.plural(len(complete), 'run')}, {columns}")
    return 0
