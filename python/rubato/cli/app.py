"""The command `rubato`: its parser, and what holds for every subcommand (errors, exit codes, near misses)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import typer

from rubato.cli import completion, first_page
from rubato.cli.ending import ended
from rubato.errors import ExitCode, UsageError
from rubato.suggest import did_you_mean

HELP = f"{first_page.PURPOSE}\n\n[bold]Start here[/]\n\n{first_page.EXAMPLES}\n{first_page.EXIT_CODES}"

app = typer.Typer(
    help=HELP,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        first_page.show_version()
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    pass


class CommandOfPrograms(typer.core.TyperCommand):
    """A command that starts programs: completes their options, too."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        ours = super().shell_complete(ctx, incomplete)
        kind = completion_item()
        programs = (ctx.params.get("program") or "").split(",")
        theirs = [kind(name, help=help) for name, help in completion.program_options(programs, incomplete)]
        if completion.is_behind_dashes():
            return theirs
        known = {item.value for item in ours}
        return ours + [item for item in theirs if item.value not in known]


def completion_item() -> Any:
    """The parser's class of a word that completes. Some versions of typer use click's, others carry a copy."""
    from importlib import import_module

    try:
        return import_module("typer._click.shell_completion").CompletionItem
    except ImportError:
        return import_module("click.shell_completion").CompletionItem


#: What stood behind `--` on the command line: the simulated program's, never ours.
after_dashes: list[str] = []


def call(argv: list[str]) -> int:
    """The command in this process: its exit code."""
    after_dashes.clear()
    if "--" in argv:
        dashes = argv.index("--")
        after_dashes.extend(argv[dashes + 1 :])
        argv = argv[:dashes]
    return ended(lambda: _parsed(argv), wants_json="--json" in argv)


def _parsed(argv: list[str]) -> object:
    """@raises RubatoError also for what the parser refuses."""
    try:
        command = typer.main.get_command(app)
        result = command.main(args=argv, prog_name="rubato", standalone_mode=False)
    except typer.Exit as e:
        return e.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as e:
        if hasattr(e, "format_message"):
            return _refused(e, argv)
        raise
    if result == ExitCode.INTERRUPTED:  # typer turns an interrupt into this result, without a word
        raise KeyboardInterrupt
    return result


def _refused(e: Any, argv: list[str]) -> int:
    """What the parser refuses. By name: some versions of typer use click, others carry a copy with its own classes.

    @raises UsageError unless the parser has told all.
    """
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
        raise UsageError(f"{path} has no option {e.option_name}.{did_you_mean(e.option_name, known)}") from None
    message = e.format_message().rstrip(".")
    from pydantic import ValidationError

    if isinstance(e.__cause__, ValidationError):  # of an option's value; numbers are all that options check
        message = f"{e.param.opts[0]} is a whole number, not {e.__cause__.errors()[0]['input']}"
    if message.startswith("No such command"):
        word = message.split("'")[1]
        hint = did_you_mean(word, context.command.commands) or f" See `{path} --help`."
        raise UsageError(f"{path} has no command {word}.{hint}") from None
    raise UsageError(f"{message[:1].lower()}{message[1:]}; see `{path} --help`.") from None
