"""The command line. Commands are thin over the Python API: they parse, call, and print.

This module imports nothing that takes time, so that an interrupt is heeded before anything else is read.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal
import sys

from rubato.interrupts import INTERRUPTS

TYPE_CHECKING = False  # as typing's, whose import takes time
if TYPE_CHECKING:
    from collections.abc import Callable

#: Which module has a command. Only the one that is called is loaded; for --help, and for a wrong name, all.
MODULES = {
    "run": "run_command",
    "repeat": "repeat_command",
    "sweep": "sweep_command",
    "report": "report_commands",
    "export": "export_command",
    "apps": "inspect_commands",
    "config": "inspect_commands",
    "compare": "inspect_commands",
    "doctor": "inspect_commands",
    "tm": "tm",
}


def main(argv: list[str] | None = None) -> None:
    """The console script. Every error becomes one sentence on stderr and the right exit code."""
    arguments = sys.argv[1:] if argv is None else argv

    def end(*_: object) -> None:
        _end(arguments)

    # While modules are loaded, and when the command has ended, there is nothing to put in order, and an exception
    # could come out anywhere in them.
    _at_interrupts(end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)  # the script holds them back until here
    if arguments in (["--help"], ["-h"], ["--version"]) and "_RUBATO_COMPLETE" not in os.environ:
        _show_first_page(arguments[0])
    command = _command(arguments)
    from rubato.cli.ending import interrupt

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # what its encoding does not have becomes a question mark
            stream.reconfigure(errors="replace")
    try:
        try:
            _at_interrupts(interrupt)
            code = command()
        finally:
            _at_interrupts(end)
    except KeyboardInterrupt:  # between two statements of ours
        end()
    sys.exit(code)


def _show_first_page(option: str) -> None:
    """What needs no parser: the help, or the version."""
    from rubato.cli import first_page

    try:
        first_page.show_version() if option == "--version" else first_page.show()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(141)
    except OSError as error:
        os.write(2, f"rubato: the output cannot be written: {error.strerror}.\n".encode())
        os._exit(2)
    os._exit(0)  # nothing is to be put in order


def call(argv: list[str]) -> int:
    """The command in this process: its exit code."""
    return _command(argv)()


def _command(argv: list[str]) -> Callable[[], int]:
    """What runs the command line, with the modules that it needs loaded."""
    if "_RUBATO_COMPLETE" in os.environ:
        from rubato.cli import completion

        return lambda: completion.answer(argv)
    from rubato.cli import quick

    if (quickly := quick.command(argv)) is not None:
        from rubato.cli.ending import ended

        wants_json = "--json" in (argv[: argv.index("--")] if "--" in argv else argv)
        return lambda: ended(quickly, wants_json=wants_json)
    load(argv)
    from rubato.cli import app

    return lambda: app.call(argv)


def load(argv: list[str]) -> None:
    """Loads the modules that the command line needs."""
    from importlib import import_module

    chosen = MODULES.get(argv[0]) if argv else None
    for name in [chosen] if chosen else dict.fromkeys(MODULES.values()):
        import_module(f"rubato.cli.{name}")


def _at_interrupts(handler: Callable[..., None]) -> None:
    for number in INTERRUPTS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it
            signal.signal(number, handler)


def _end(argv: list[str]) -> None:
    """Says so, as app.py does, and ends without another line of Python being run."""
    ours = argv[: argv.index("--")] if "--" in argv else argv
    for descriptor, text in (
        (1, b'{"error": "interrupted.", "exit_code": 130}\n' if "--json" in ours else b""),
        (2, b"rubato: interrupted.\n"),
    ):
        try:  # noqa: SIM105 (contextlib may be half loaded)
            os.write(descriptor, text)
        except OSError:  # a closed descriptor: the exit code remains
            pass
    os._exit(130)


__all__ = ["call", "main"]
