"""The options of `rubato run` and `rubato sweep`, made of those that RunSpec declares.

This imports nothing that takes time: quick.py reads command lines by it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

from rubato.running.options import FLAG, LIST, NUMBER, WORD, Field, options_of
from rubato.running.spec import RunSpec


class Given(NamedTuple):
    """An option as a command line has it; the command gets its value by `name`."""

    name: str
    kind: str
    help: str
    metavar: str | None = None
    default: str | None = None
    after: str = ""  # where it stands in the help, if it is no field of RunSpec

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


#: What `rubato run` has beside the options of a run.
ABOUT_THE_COMMAND = (
    Given("out", WORD, "Run directory; default: a new one under runs/.", "DIR", after="seed"),
    Given("force", FLAG, "Replace a run that is in DIR already.", after="out"),
    Given("json", FLAG, "Print one JSON object and nothing else.", after="force"),
    Given("checkpoint", WORD, "Fast-forward to --roi, or where the chip matters; write that.", "FILE", after="watch"),
)


def _given(field: Field, help: str, default: str | None = None) -> Given:
    return Given(field.flag[2:].replace("-", "_"), field.kind, help, field.option.metavar, default)


def _of_run() -> list[Given]:
    found = [_given(f, f.option.help, f.default if isinstance(f.default, str) else None) for f in FIELDS.values()]
    for extra in ABOUT_THE_COMMAND:
        found.insert(1 + [one.name for one in found].index(extra.after), extra)
    return found


def _shared_by_sweeps() -> list[Given]:
    return [_given(f, f.option.sweep or f.option.help) for f in FIELDS.values() if is_shared(f)]


def is_shared(field: Field) -> bool:
    """Whether all runs of a sweep have the same value of it."""
    return field.option.sweep is not None and not field.option.varied


#: The options of RunSpec by the name that a command line has for them, which may turn off what the field turns on.
FIELDS = {field.flag[2:].replace("-", "_"): field for field in options_of(RunSpec)}
OF_RUN = _of_run()
SHARED_BY_SWEEPS = _shared_by_sweeps()


def run_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a RunSpec for the values that `rubato run` was given. @raises UsageError for one that is malformed."""
    fields = {}
    for name, field in FIELDS.items():
        if _is_given(values[name]):
            fields[field.name] = (field.option.parse or field.value)(values[name])
    return fields


def plan_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a plan for the values that `rubato sweep` was given, of those that its runs share."""
    shared = {name: field for name, field in FIELDS.items() if is_shared(field)}
    return {field.name: field.value(values[name]) for name, field in shared.items() if _is_given(values[name])}


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value != []


def with_options(options: Iterable[Given], *, before: str | None = None) -> Callable[[Callable], Callable]:
    """For a command with a parameter **options: the parser gets these in its place; in the help they stand `before`
    that parameter of the command."""
    import typer

    from rubato.cli.completion import of_option

    types: dict[str, Any] = {FLAG: bool, NUMBER: int | None, WORD: str | None, LIST: list[str] | None}
    parameters = []
    for one in options:
        name = [one.flag] if one.kind == FLAG else []
        kind = str if one.default is not None else types[one.kind]
        told = Annotated[kind, typer.Option(*name, metavar=one.metavar, help=one.help,
                                              autocompletion=of_option(one.name))]  # fmt: skip
        default = False if one.kind == FLAG else one.default
        parameters.append(inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=told))

    def decorate(command: Callable) -> Callable:
        own = inspect.signature(command, eval_str=True)
        all_of_them = [p for p in own.parameters.values() if p.kind != inspect.Parameter.VAR_KEYWORD]
        place = [p.name for p in all_of_them].index(before) if before is not None else len(all_of_them)
        all_of_them[place:place] = [p.replace(kind=all_of_them[-1].kind) for p in parameters]
        command.__signature__ = own.replace(parameters=all_of_them)
        command.__annotations__ = {p.name: p.annotation for p in all_of_them} | {"return": own.return_annotation}
        return command

    return decorate
