"""The command `rubato`: its parser, and what holds for every subcommand (errors, exit codes, near misses)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

import typer
from pydantic import ValidationError
from rich.markup import escape

import rubato
from rubato.child import interrupts
from rubato.cli import terminal
from rubato.errors import ExitCode, RubatoError
from rubato.suggest import did_you_mean

HELP = """Run task-parallel programs on simulated many-core chips, and see what the chips did.

[bold]Start here[/]

  rubato apps                                 the applications
  rubato run sssp --cores 64                  shortest paths on a 64-core chip
  rubato sweep --program sssp --cores 1,4,16,64 --mode nonspec,mayspec --out study
  rubato report study                         one HTML file with speed-up curves and breakdowns

Exit codes: 0 success, 1 the program's check failed, 2 wrong usage or configuration, 3 the simulated program
faulted, 4 no progress or out of time, 130 interrupted.
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rubato {rubato.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    pass


#: What stood behind `--` on the command line: the simulated program's, never ours.
after_dashes: list[str] = []


#: Not empty if `--json` asked for one object on standard output: what fails is told there, too.
_wants_json: list[str] = []


def interrupt(number: int, _: Any) -> None:
    """The handler while a command runs: what was started is stopped, what is half written is marked."""
    interrupts.append(number)
    raise KeyboardInterrupt


def call(argv: list[str]) -> int:
    after_dashes.clear()
    if "--" in argv:
        dashes = argv.index("--")
        after_dashes.extend(argv[dashes + 1 :])
        argv = argv[:dashes]
    _wants_json.clear()
    _wants_json.extend(word for word in argv if word == "--json")
    try:
        command = typer.main.get_command(app)
        result = command.main(args=argv, prog_name="rubato", standalone_mode=False)
    except typer.Exit as e:
        result = e.exit_code
    except RubatoError as e:
        return _fail(str(e), e.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted.", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        return _end_quietly()
    except SystemExit as e:  # typer and rich make this of a closed pipe
        if isinstance(e.__context__, BrokenPipeError):
            return _end_quietly()
        raise
    except Exception as e:
        if hasattr(e, "format_message"):
            return _parse_error(e, argv)
        if os.environ.get("RUBATO_TRACEBACK"):
            raise
        if isinstance(e, OSError):
            what = e.filename if e.filename is not None else "the output cannot be written"
            return _fail(f"{what}: {e.strerror or e}.", ExitCode.USAGE)
        return _fail(
            f"a fault of Rubato itself: {type(e).__name__}: {e} (RUBATO_TRACEBACK=1 shows where).",
            ExitCode.INTERNAL,
        )
    code = int(result) if isinstance(result, int) else 0
    if code == ExitCode.INTERRUPTED:  # typer turns an interrupt into this result, without a word
        return _fail("interrupted.", code)
    return code


def _end_quietly() -> int:
    """Whoever read our output has enough: ends as other tools do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _fail(sentence: str, code: int) -> int:
    """Says why. Where nobody can be told, the exit code remains."""
    if _wants_json:
        with contextlib.suppress(OSError):
            print(json.dumps({"error": sentence, "exit_code": int(code)}), flush=True)
    with contextlib.suppress(OSError):
        terminal.err.print(f"[bold red]rubato:[/] {escape(sentence)}", soft_wrap=True)
    return int(code)


def _parse_error(e: Any, argv: list[str]) -> int:
    """What the parser refuses. By name: some versions of typer use click, others carry a copy with its own classes."""
    context = getattr(e, "ctx", None)
    commands = typer.main.get_command(app).commands
    path = context.command_path if context else " ".join(["rubato", *(w for w in argv[:1] if w in commands)])
    kind = type(e).__name__
    if kind == "NoArgsIsHelpError":
        if message := e.format_message():  # typer with rich has printed the help already
            print(message)
        return ExitCode.USAGE
    if kind == "NoSuchOption":
        known = [o for p in context.command.params for o in p.opts] if context else []
        return _fail(f"{path} has no option {e.option_name}.{did_you_mean(e.option_name, known)}", ExitCode.USAGE)
    message = e.format_message().rstrip(".")
    if isinstance(e.__cause__, ValidationError):  # of an option's value; numbers are all that options check
        message = f"{e.param.opts[0]} is a whole number, not {e.__cause__.errors()[0]['input']}"
    if message.startswith("No such command"):
        word = message.split("'")[1]
        hint = did_you_mean(word, context.command.commands) or f" See `{path} --help`."
        return _fail(f"{path} has no command {word}.{hint}", ExitCode.USAGE)
    return _fail(f"{message[:1].lower()}{message[1:]}; see `{path} --help`.", ExitCode.USAGE)
