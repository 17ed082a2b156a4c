"""`rubato tm`: what helps with transactional programs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from rubato.cli import completion, terminal
from rubato.cli.app import app
from rubato.errors import ExitCode, UsageError
from rubato.home import locate
from rubato.process.preload import preloadable
from rubato.tm import check as tm_check
from rubato.tm import managers
from rubato.tm import profile as tm_profile
from rubato.tm import report as tm_report
from rubato.tm import settings as tm_settings
from rubato.tm.methods import METHODS

tm_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(tm_app, name="tm", help="Check and profile transactional programs.")

FLAGS = "-fno-tree-loop-distribute-patterns -fno-tree-vectorize -fno-tree-pre -fno-thread-jumps"


@tm_app.callback()
def _group() -> None:
    """Check and profile transactional programs."""


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
    for advice in _advice(finding.what for result in results.values() for finding in result.findings):
        terminal.err.print(f"[bold red]rubato:[/] {escape(advice)}", soft_wrap=True)
    return ExitCode.CHECK_FAILED if is_wrong else 0


def _advice(whats: Iterable[str]) -> Iterator[str]:
    found = list(whats)
    if any("without a barrier" in what for what in found):
        yield f"compile transactional code with {FLAGS}."
    if any(re.match("plain load|plain store|structure", what) for what in found):
        yield "copy structures that are passed or returned by value into local variables (docs/transactions.md)."


DEFAULT_PROFILE = Path("tm.profile")


@tm_app.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="[bold]Example[/]\n\n  rubato tm run --method lazy ./server -p 80",
)
def run_command(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM ARGS...", help="The program and its arguments.")],
    method: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(METHODS)}. Default: that of RUBATO_ITM_METHOD; if it is not set, eager.",
                     autocompletion=completion.one_of(METHODS)),  # fmt: skip
    ] = None,
    manager: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(managers.SPELLINGS)}. Default: RUBATO_ITM_MANAGER.",
                     autocompletion=completion.one_of(managers.MANAGERS)),  # fmt: skip
    ] = None,
    profile: Annotated[Path, typer.Option(metavar="FILE", help="Where the profile is kept.")] = DEFAULT_PROFILE,
) -> int:
    """Run a program on librubato_itm, and say why its transactions ran alone or were undone."""
    if method is not None and method not in METHODS:
        raise UsageError(f"--method is {method!r}, expected {', '.join(METHODS)}.")
    if manager is not None and not managers.is_manager(manager):
        raise UsageError(f"--manager is {manager!r}, expected {managers.EXPECTED}.")
    library = locate.find_itm()
    if library is None:
        raise UsageError("librubato_itm has not been built; build it with `make build`.")
    program = shutil.which(command[0])
    if program is None:
        raise UsageError(f"{command[0]} is not a program that can be run.")
    if not profile.absolute().parent.is_dir():
        raise UsageError(f"the profile {profile} cannot be written: there is no such folder.")
    tm_settings.refuse_wrong(os.environ)
    environment = dict(os.environ)
    environment["RUBATO_ITM_PROFILE"] = str(profile.absolute())
    if method is not None:
        environment["RUBATO_ITM_METHOD"] = method
    elif not environment.get("RUBATO_ITM_METHOD"):
        environment["RUBATO_ITM_METHOD"] = "eager"  # with serial there would be nothing to explain
    if manager is not None:
        environment["RUBATO_ITM_MANAGER"] = manager
    profile.unlink(missing_ok=True)
    with preloadable(library) as path:
        environment["LD_PRELOAD"] = ":".join([str(path), *environment.get("LD_PRELOAD", "").split()])
        try:
            code = subprocess.run([program, *command[1:]], env=environment, check=False).returncode
        except OSError as e:
            raise UsageError(f"{program} cannot be run: {e.strerror}.") from None
    if not profile.exists():
        sentence = f"{program} ran no transaction on librubato_itm."
        terminal.err.print(f"[bold red]rubato:[/] {escape(sentence)}", soft_wrap=True)
        return code if code > 0 else 128 - code if code < 0 else ExitCode.CHECK_FAILED
    print(tm_report.table(tm_profile.read(profile)))
    if code < 0:
        terminal.err.print(f"[bold red]rubato:[/] {escape(program)} was ended by signal {-code}.", soft_wrap=True)
        return 128 - code
    return code


@tm_app.command("report", epilog="[bold]Example[/]\n\n  rubato tm report --flame flame.html tm.profile")
def report_command(
    file: Annotated[Path, typer.Argument(metavar="PROFILE", help="What `rubato tm run` wrote.")] = DEFAULT_PROFILE,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    folded: Annotated[bool, typer.Option("--folded", help="Print a line a stack, for other tools.")] = False,
    flame: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page: tables, histograms, flame graphs.")
    ] = None,
) -> int:
    """Say why transactions ran alone or were undone, with call stacks."""
    if json_ + folded + (flame is not None) > 1:
        raise UsageError("--json, --folded and --flame exclude each other.")
    profile = tm_profile.read(file)
    if json_:
        print(json.dumps(profile.as_dict(), indent=1))
    elif folded:
        print(tm_report.folded(profile), end="")
    elif flame is not None:
        from rubato import report  # here, since the page's modules take longer to load than a profile to read

        try:
            report.write([file], flame)
        except OSError as e:
            raise UsageError(f"{flame} cannot be written: {e.strerror}.") from None
        print(f"{flame}: {terminal.byte_count(flame.stat().st_size)}")
    else:
        print(tm_report.table(profile))
    return 0
