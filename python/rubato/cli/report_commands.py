"""`rubato report`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from rubato import report
from rubato.cli import completion, terminal
from rubato.cli.app import app
from rubato.errors import UsageError
from rubato.report import energy
from rubato.results import metrics


@app.command(
    "report",
    epilog="[bold]Examples[/]\n\n  rubato report study\n\n  rubato report runs/a runs/b --out ab.html",
)
def report_command(
    directories: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...", help="Run or sweep directories, profiles of transactions, or publications.",
            autocompletion=completion.results,
        ),  # fmt: skip
    ],
    out: Annotated[str | None, typer.Option(metavar="FILE.html", help="Default: report.html in the first DIR.")] = None,
    title: Annotated[str | None, typer.Option(help="The heading.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=EXPRESSION", help="A number of your own, in tables and charts; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Compute energy with this energy.KEY; repeatable."),
    ] = None,
) -> int:
    """Write one self-contained HTML file: speed-up, cycles, traffic, queues, timeline. Works offline."""
    first = Path(directories[0])
    file = Path(out) if out else (first.parent if first.is_file() else first) / "report.html"
    if file.is_dir():
        raise UsageError(f"{file} is a directory; --out is an HTML file.")
    is_new = not file.parent.exists()
    settings = dict(pair.partition("=")[::2] for pair in set_ or [])
    found = report.write(directories, file, title, energy.keys_of(settings), metrics.pairs(metric or []))
    if is_new:
        terminal.err.print(f"note: there was no folder {file.parent}; it was made.", markup=False, soft_wrap=True)
    for failure in found.failures:
        if failure.is_damaged:
            terminal.err.print(f"note: {failure.name} is left out: {failure.reason}", markup=False, soft_wrap=True)
    for run, earlier in found.repeated:
        terminal.err.print(
            f"note: {run.directory} is left out: it repeats {earlier.directory}, with the same seed.",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    terminal.out.print(
        f"{escape(str(file))}: "
        + (terminal.plural(sum(len(p.figures) for p in found.publications), "figure")
           if found.publications and not found.runs else terminal.plural(len(found.runs), "run"))
        + (f", [red]{len(found.failures)} failed[/]" if found.failures else "")
        + f", {terminal.byte_count(file.stat().st_size)}"
    )
    return 0
