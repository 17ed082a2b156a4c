"""`rubato run`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import json
import sys
from typing import Annotated

import typer
from rich.markup import escape

from rubato import apps, engines
from rubato.child import Outcome
from rubato.cli import app as command_line
from rubato.cli import terminal
from rubato.errors import ExitCode, RubatoError, UsageError
from rubato.results import Run
from rubato.running import prepare
from rubato.spec import RunSpec, duration, settings_of
from rubato.suggest import did_you_mean, near_misses

EPILOG = """[bold]Examples[/]

  rubato run sssp --cores 64 --generate road:300x300
  rubato run sssp --cores 64 --mode nonspec --set l2.size=512KiB -- --graph map.gr --source 1
  rubato run ./a.out --cores 4 --out runs/mine -- first second
  rubato run sssp --cores 16 --trace --trace-cycles 100000     (open trace.json.gz in ui.perfetto.dev)
  rubato run sssp --json | jq .cycles
  rubato run sssp --engine native --cores 2 --generate road:300x300
"""

Opt = typer.Option


@command_line.app.command(
    "run",
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def run_command(
    context: typer.Context,
    program: Annotated[str | None, typer.Argument(help="An application (`rubato apps`), or an executable.")] = None,
    cores: Annotated[int | None, Opt(help="Cores: simulated, 1 to 1024, or workers of this machine.")] = None,
    mode: Annotated[str | None, Opt(help="What MAYSPEC tasks run as: spec, nonspec or mayspec.")] = None,
    alloc: Annotated[
        str | None, Opt(help="The program's allocator on the chip: ideal, capsules, plain or libc (docs/capsules.md).")
    ] = None,
    config: Annotated[str | None, Opt(help="Chip description: a TOML file, or a shipped name.")] = None,
    set: Annotated[list[str] | None, Opt(metavar="KEY=VALUE", help="Override a configuration key.")] = None,
    seed: Annotated[
        int | None,
        Opt(help="The chip's: perturbs placement and tie-breaking. One of the input is the program's, behind `--`."),
    ] = None,
    out: Annotated[str | None, Opt(metavar="DIR", help="Run directory; default: a new one under runs/.")] = None,
    force: Annotated[bool, Opt("--force", help="Replace a run that is in DIR already.")] = False,
    json_: Annotated[bool, Opt("--json", help="Print one JSON object and nothing else.")] = False,
    timeout: Annotated[str | None, Opt(help="Wall-clock limit, such as 90s or 10m (exit 4).")] = None,
    max_cycles: Annotated[int | None, Opt(help="Simulated cycles after which the run ends (exit 4).")] = None,
    trace: Annotated[bool, Opt("--trace", help="Write trace.json.gz or trace.json for ui.perfetto.dev.")] = False,
    trace_from: Annotated[int | None, Opt(help="First cycle of the trace.")] = None,
    trace_cycles: Annotated[int | None, Opt(help="Cycles of the trace.")] = None,
    commit_order: Annotated[bool, Opt("--commit-order", help="Write commits.tsv.gz: tasks as they committed.")] = False,
    interval: Annotated[int | None, Opt(metavar="CYCLES", help="Sample statistics as time series.")] = None,
    series: Annotated[list[str] | None, Opt(metavar="GLOB", help="Statistics to sample; default: a few.")] = None,
    roi: Annotated[str | None, Opt(metavar="SYMBOL", help="Region of interest: this function.")] = None,
    no_ff: Annotated[bool, Opt("--no-ff", help="Simulate everything in detail, no fast-forward.")] = False,
    warm: Annotated[bool, Opt("--warm", help="Warm L2, LLC and directories while fast-forwarding.")] = False,
    sandbox: Annotated[str | None, Opt(metavar="DIR", help="Confine the program's files to DIR.")] = None,
    env: Annotated[
        list[str] | None, Opt(metavar="NAME=VALUE", help="Set a variable of the program's environment.")
    ] = None,
    no_verify: Annotated[bool, Opt("--no-verify", help="Do not ask the application to check its result.")] = False,
    engine: Annotated[str, Opt(help="chip (simulated), or native: this machine's cores.")] = "chip",
    oversubscribe: Annotated[bool, Opt("--oversubscribe", help="Native: allow more workers than cores.")] = False,
) -> int:
    """Run one program on a simulated chip, or on this machine, and summarize what happened.

    Options that Rubato does not have go to the program, and so does everything behind `--`.
    """
    program, arguments = _split(program, context)
    spec = RunSpec(
        program=program, arguments=arguments, engine=engine, cores=cores, mode=mode, alloc=alloc, config=config,
        set=settings_of(set or []), seed=seed, verify=not no_verify, trace=trace, trace_from=trace_from,
        trace_cycles=trace_cycles, commit_order=commit_order,
        interval=interval, series=series or [], max_cycles=max_cycles, roi=roi,
        fast_forward=not no_ff, warm=warm, sandbox=sandbox, env=env or [], oversubscribe=oversubscribe,
        timeout=duration(timeout) if timeout is not None else None,
    )  # fmt: skip
    spec.check()
    outcome = execute_shown(spec, prepare(out, spec, force=force), quiet=json_)
    return _json(spec, outcome) if json_ else report_outcome(outcome)


def _split(program: str | None, context: typer.Context) -> tuple[str, list[str]]:
    """Program and its arguments, from what stood before and behind `--`."""
    behind = list(command_line.after_dashes)
    if program is None:
        if not behind:
            raise UsageError("which program? `rubato apps` lists the applications; see `rubato run --help`.")
        return behind[0], behind[1:]
    if program.startswith("-"):
        raise no_such_option(context, program, "PROGRAM")
    return program, foreign_words(context, context.args, [program]) + behind


def no_such_option(context: typer.Context, word: str, program: str) -> UsageError:
    """For an option that stands before `program`, which might have it."""
    options = [o for p in context.command.params for o in p.opts]
    hint = did_you_mean(word, options) or f" Options of the program follow {program}, or `--` at the end."
    return UsageError(f"{context.command_path} has no option {word}.{hint}")


def foreign_words(context: typer.Context, words: list[str], programs: list[str]) -> list[str]:
    """What the parser did not know and stood before `--`: the program's, unless it looks like a slip of ours."""
    command = context.command_path
    ours = [o for p in context.command.params for o in p.opts if o.startswith("--")]
    known = apps.all_apps()
    theirs = [name for program in programs if program in known for name in known[program].option_names()]
    for word in words:
        flag = word.partition("=")[0]
        if not flag.startswith("--") or flag in theirs:
            continue
        if near := near_misses(flag, [*ours, *theirs]):
            raise UsageError(
                f"neither {command} nor {' nor '.join(programs) or 'the program'} has an option {flag}. "
                f"Did you mean {' or '.join(near)}? (Options of the program can always follow `--`.)"
            )
    return list(words)


def execute_shown(spec: RunSpec, directory, *, quiet: bool) -> Outcome:
    with contextlib.ExitStack() as stack:
        progress = terminal.run_progress()
        stack.enter_context(terminal.shown(progress))
        task = progress.add_task(spec.name, total=None, state="starting")
        whose = ["rubato-chip"] if spec.engine == "chip" else [spec.name]
        whose += [spec.name] if spec.app() is not None else []

        def show(line: str) -> None:
            if progress.disable or not sys.stdout.isatty():
                print(line, flush=True)
            else:
                progress.console.print(escape(line), soft_wrap=True)

        return engines.execute(
            spec,
            directory,
            on_output=None if quiet else show,
            on_error=lambda line: _pass_on_error(line, whose),
            on_progress=lambda p, _: progress.update(task, state=terminal.progress_state(p)),
            stdin=None,
        )


def _pass_on_error(line: str, whose: list[str]) -> None:
    """The program's stderr, and notes; the closing sentence of those in `whose`, simulator or application, becomes
    ours."""
    who, _, sentence = line.partition(": ")
    if who not in whose or sentence.startswith("note: "):
        print(line, file=sys.stderr, flush=True)


def _json(spec: RunSpec, outcome: Outcome) -> int:
    """What summary.json holds as one object, with the directory, and with the reason if it failed."""
    _refuse_nothing_ran(outcome)
    document: dict = {"program": spec.name}
    with contextlib.suppress(RubatoError):
        document = Run(outcome.directory).summary.model_dump()
    if outcome.exit_code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    document |= {"directory": str(outcome.directory), "exit_code": outcome.exit_code}
    if outcome.reason:
        document["error"] = outcome.reason
        terminal.err.print(f"rubato: {outcome.reason}", markup=False, soft_wrap=True)
    print(json.dumps(document))
    return outcome.exit_code


def _refuse_nothing_ran(outcome: Outcome) -> None:
    """After wrong usage the directory holds an earlier run, if anything."""
    if outcome.exit_code == ExitCode.USAGE:
        raise UsageError(outcome.reason)


def report_outcome(outcome: Outcome) -> int:
    run = Run(outcome.directory)
    with contextlib.suppress(RubatoError):
        _refuse_nothing_ran(outcome)
        summary = run.summary
        terminal.out.print()
        terminal.out.print(terminal.summary(summary, str(outcome.directory)))
    if outcome.exit_code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if outcome.reason:
        raise _Failure(outcome)
    return outcome.exit_code


class _Failure(RubatoError):
    def __init__(self, outcome: Outcome):
        super().__init__(outcome.reason)
        self.exit_code = outcome.exit_code
