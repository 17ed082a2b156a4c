"""`rubato repeat`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rubato.cli import app as command_line
from rubato.cli import completion, terminal
from rubato.cli.shown import execute_shown, report_outcome
from rubato.errors import ExitCode, UsageError
from rubato.names import plural
from rubato.running import repeat
from rubato.running.run import prepare


@command_line.app.command("repeat", epilog="[bold]Example[/]\n\n  rubato repeat runs/sssp-16")
def repeat_command(
    run: Annotated[Path, typer.Argument(
        metavar="RUN", help="A run's directory.", autocompletion=completion.results,
    )],
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Its directory; default: a new one.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run that is in DIR already.")] = False,
    changed: Annotated[bool, typer.Option("--changed", help="Repeat though the program's file has changed.")] = False,
) -> int:
    """Run again what a run directory says, where it ran, and say whether the results are the same.

    On the chip they are, to the bit; exit 1 if not.
    """
    spec = repeat.spec_of(run, changed=changed)
    spec.check()
    folder = Path(repeat.recorded(run)["directory"])
    if not folder.is_dir():
        raise UsageError(f"{folder}, where {run} ran, is no longer there.")
    directory = prepare(out, spec, force=force)
    if directory.resolve() == run.resolve():
        raise UsageError(f"{run} cannot be repeated into itself; choose another --out.")
    first, second = run.resolve(), directory.resolve()
    os.chdir(folder)
    outcome = execute_shown(spec, second, quiet=False)
    code = report_outcome(outcome)
    if spec.engine != "chip":
        return code
    count = repeat.differences(first, second)
    if count:
        verb = "differs" if count == 1 else "differ"
        sentence = f"{plural(count, 'statistic')} {verb} from what {run} has; `rubato compare` shows which."
        terminal.err.print(f"rubato: {sentence}", markup=False, soft_wrap=True)
        return ExitCode.CHECK_FAILED
    terminal.out.print(f"All statistics are those of {run}.", markup=False, soft_wrap=True)
    return code
