"""A run as a person sees it: its output and a line of progress, then what it came to, as table or as JSON.

What only the end needs, such as tables, is loaded when the program runs: it starts the sooner.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubato.cli.options import run_fields
from rubato.cli.words import foreign_words, no_such_option
from rubato.errors import ExitCode, RubatoError, UsageError
from rubato.process.child import Outcome
from rubato.running import engines
from rubato.running.run import prepare
from rubato.running.spec import RunSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.progress import Progress, TaskID

COMMAND = "rubato run"


def start(
    program: str | None, words: list[str], behind: list[str], options: dict[str, Any], ours: Iterable[str]
) -> int:
    """Runs what the command line says: `words` stood before `--` and are no option of ours, `behind` stood behind it;
    `options` are the values of ours by their names in OF_RUN."""
    if program is None:
        if not behind:
            raise UsageError("which program? `rubato apps` lists the applications; see `rubato run --help`.")
        program, arguments = behind[0], behind[1:]
    elif program.startswith("-"):
        raise no_such_option(COMMAND, ours, program, "PROGRAM")
    else:
        arguments = foreign_words(COMMAND, ours, words, [program]) + behind
    spec = RunSpec(program=program, arguments=arguments, **run_fields(options))
    spec.check()
    if options["checkpoint"] is not None:
        return _write_checkpoint(spec, Path(options["checkpoint"]))
    outcome = execute_shown(spec, prepare(options["out"], spec, force=options["force"]), quiet=options["json"])
    return _json(spec, outcome) if options["json"] else report_outcome(outcome)


def _write_checkpoint(spec: RunSpec, file: Path) -> int:
    """Has the simulator write a checkpoint instead of running `spec`, and says what the simulator says."""
    if spec.engine != "chip":
        raise UsageError(f"--checkpoint is for the simulated chip; leave out --engine {spec.engine}.")
    return subprocess.run(spec.checkpoint_command(file), check=False).returncode


def execute_shown(spec: RunSpec, directory, *, quiet: bool) -> Outcome:
    whose = ["rubato-chip"] if spec.engine == "chip" else [spec.name]
    whose += [spec.name] if spec.app() is not None else []
    with _Progress(spec.name) as progress:
        return engines.execute(
            spec,
            directory,
            on_output=None if quiet else progress.print,
            on_error=lambda line: _pass_on_error(line, whose),
            on_progress=progress.update,
            stdin=None,
        )


class _Progress:
    """The line that lives while a program runs, where somebody can see it."""

    def __init__(self, name: str):
        self._name = name
        self._ends = contextlib.ExitStack()
        self._line: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def update(self, progress: dict[str, Any], _: float) -> None:
        """Called from when the program runs."""
        if not sys.stderr.isatty():
            return
        from rubato.cli import terminal

        if self._line is None:
            display = terminal.run_progress()
            self._ends.enter_context(terminal.shown(display))
            self._line = display, display.add_task(self._name, total=None, state="starting")
        display, task = self._line
        display.update(task, state=terminal.progress_state(progress))

    def print(self, line: str) -> None:
        """A line of the program's output."""
        if self._line is None or self._line[0].disable or not sys.stdout.isatty():
            print(line, flush=True)
        else:
            from rich.markup import escape

            self._line[0].console.print(escape(line), soft_wrap=True)


def _pass_on_error(line: str, whose: list[str]) -> None:
    """The program's stderr, and notes; the closing sentence of those in `whose`, simulator or application, becomes
    ours."""
    who, _, sentence = line.partition(": ")
    if who not in whose or sentence.startswith("note: "):
        print(line, file=sys.stderr, flush=True)


def _json(spec: RunSpec, outcome: Outcome) -> int:
    """What summary.json holds as one object, with the directory, and with the reason if it failed."""
    _refuse_nothing_ran(outcome)
    from rubato.results.run import Run

    document: dict = {"program": spec.name}
    with contextlib.suppress(RubatoError):
        document = Run(outcome.directory).summary.model_dump()
    if outcome.exit_code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    document |= {"directory": str(outcome.directory), "exit_code": outcome.exit_code}
    if outcome.reason:
        document["error"] = outcome.reason
        print(f"rubato: {outcome.reason}", file=sys.stderr, flush=True)
    print(json.dumps(document))
    return outcome.exit_code


def _refuse_nothing_ran(outcome: Outcome) -> None:
    """After wrong usage the directory holds an earlier run, if anything."""
    if outcome.exit_code == ExitCode.USAGE:
        raise UsageError(outcome.reason)


def report_outcome(outcome: Outcome) -> int:
    from rubato.cli import terminal
    from rubato.results.run import Run

    run = Run(outcome.directory)
    with contextlib.suppress(RubatoError):
        _refuse_nothing_ran(outcome)
        summary = run.summary
        terminal.out.print()
        rates = terminal.rates(run) if summary.engine == "chip" else []
        terminal.out.print(terminal.summary(summary, str(outcome.directory), rates))
        if summary.engine == "chip" and run.regions:
            terminal.print_table(terminal.regions(run.regions))
    if outcome.exit_code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if outcome.reason:
        raise _Failure(outcome)
    return outcome.exit_code


class _Failure(RubatoError):
    def __init__(self, outcome: Outcome):
        super().__init__(outcome.reason)
        self.exit_code = outcome.exit_code
