"""`rubato run`, for the parser. Its usual command lines are read by quick.py."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Annotated, Any

import typer

from rubato.cli import app as command_line
from rubato.cli import completion
from rubato.cli.options import OF_RUN, with_options
from rubato.cli.shown import start

EPILOG = """[bold]Examples[/]

  rubato run sssp --cores 64 --generate road:300x300
  rubato run sssp --cores 64 --mode nonspec --set l2.size=512KiB -- --graph map.gr --source 1
  rubato run ./a.out --cores 4 --out runs/mine -- first second
  rubato run sssp --cores 16 --trace --trace-cycles 100000     (open trace.json.gz in ui.perfetto.dev)
  rubato run sssp --json | jq .cycles
  rubato run sssp --engine native --cores 2 --generate road:300x300
  rubato run sssp --engine serial --seed 2 --generate road:40x40     (one thread, another order of ties)
"""

@command_line.app.command(
    "run",
    cls=command_line.CommandOfPrograms,
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@with_options(OF_RUN)
def run_command(
    context: typer.Context,
    program: Annotated[str | None, typer.Argument(
        help="An application (`rubato apps`), or an executable.", autocompletion=completion.applications,
    )] = None,  # fmt: skip
    **options: Any,
) -> int:
    """Run one program on a simulated chip, or on this machine, and summarize what happened.

    Options that Rubato does not have go to the program, and so does everything behind `--`.
    """
    ours = [o for p in context.command.params for o in p.opts]
    return start(program, list(context.args), list(command_line.after_dashes), options, ours)
