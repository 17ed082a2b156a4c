"""`rubato tm`: what helps with transactional programs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from rubato import tm_check
from rubato.cli import terminal
from rubato.cli.app import app
from rubato.errors import ExitCode

tm_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(tm_app, name="tm", help="Check transactional programs.")

FLAGS = "-fno-tree-loop-distribute-patterns -fno-tree-vectorize"


@tm_app.callback()
def _group() -> None:
    """Check transactional programs."""


@tm_app.command("check", epilog="[bold]Example[/]\n\n  rubato tm check --relaxed server.o")
def check_command(
    files: Annotated[list[Path], typer.Argument(help="Objects, archives, libraries or programs.")],
    relaxed: Annotated[bool, typer.Option("--relaxed", help="Name relaxed transactions, too.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Name every access that GCC put into a transaction without a barrier; exit 1 if there is one."""
    results = {str(file): tm_check.check(file, relaxed) for file in files}
    is_wrong = any(result.findings for result in results.values())
    if json_:
        print(json.dumps({name: dataclasses.asdict(result) for name, result in results.items()}))
        return ExitCode.CHECK_FAILED if is_wrong else 0
    for name, result in results.items():
        for finding in result.findings:
            print(f"{finding.place}: {finding.what}, in {finding.function}")
        if result.transactions == 0:
            print(f"{name}: no transactional code")
        elif result.indirect_jumps:
            print(
                f"{name}: {result.indirect_jumps} jumps through a table are not followed;"
                " compile with -fno-jump-tables to have everything checked"
            )
    if any("barrier" in finding.what for result in results.values() for finding in result.findings):
        advice = f"compile transactional code with {FLAGS}."
        terminal.err.print(f"[bold red]rubato:[/] {escape(advice)}", soft_wrap=True)
    return ExitCode.CHECK_FAILED if is_wrong else 0
