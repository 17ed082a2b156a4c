"""What an option of a run is. Each is declared once, as a field of RunSpec (spec.py): of that are made the options of
`rubato run` and `rubato sweep` (cli/options.py), the keys of a plan, and the simulator's command line.

This imports nothing that takes time: usual command lines are read by it before anything else is loaded.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rubato.errors import UsageError

#: How a command line gives a value: the flag stands alone, a number or a word follows it, or words, it being repeated.
FLAG, NUMBER, WORD, LIST = "flag", "number", "word", "list"
_KINDS = {"bool": FLAG, "int | None": NUMBER, "list[str]": LIST, "dict[str, Any]": LIST}


class Option(NamedTuple):
    """How a field of RunSpec is given on command lines, and who is told its value."""

    help: str
    sweep: str | None = ""  #: the help of `rubato sweep`, where it differs; None: sweeps and plans do not have it
    metavar: str | None = None
    flag: str = ""  #: where it is not the field's name with dashes; of a field that is usually true, it turns it off
    parse: Callable[[Any], Any] | None = None  #: makes the field's value of what `rubato run` was given
    varied: bool = False  #: a plan has a list of values, and `rubato sweep` an option of its own
    only: str = ""  #: the one engine that has it
    simulator: bool = True  #: rubato-chip has an option of the same name
    run_only: bool = False  #: means nothing where a checkpoint is written
    tasks_only: bool = False  #: means nothing to an application's serial code, which runs beside a sweep's tasks


class Field(NamedTuple):
    """An option of RunSpec with its field."""

    name: str
    kind: str
    flag: str
    default: Any
    option: Option

    def value(self, given: Any) -> Any:
        """The field's value for what stood on the command line."""
        return not self.default if self.kind == FLAG else given

    def in_command(self, value: Any) -> list[str]:
        """The words that give this value."""
        if self.kind == FLAG:
            return [self.flag] if value != self.default else []
        if self.kind == LIST:
            return [word for one in value for word in (self.flag, one)]
        return [self.flag, str(value)] if value is not None else []


def option(default: Any, help: str, **more: Any) -> Any:
    """A field of RunSpec that command lines can set; `more` is the rest of its Option."""
    metadata = {"option": Option(help, **more)}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=type(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def options_of(spec: Any) -> Iterator[Field]:
    """The fields of the class RunSpec that are options, in the order of the help."""
    for field in dataclasses.fields(spec):
        if (found := field.metadata.get("option")) is not None:
            flag = found.flag or f"--{field.name.replace('_', '-')}"
            default = field.default_factory() if field.default is dataclasses.MISSING else field.default
            yield Field(field.name, _KINDS.get(str(field.type), WORD), flag, default, found)


def settings_of(pairs: list[str]) -> dict[str, str]:
    """KEY=VALUE pairs as a mapping; the last of one key wins."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set takes KEY=VALUE, such as l2.size=512KiB, not {pair}.")
        settings[key.strip()] = value.strip()
    return settings


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600}


def duration(text: str) -> float:
    """Seconds in `90`, `90s`, `10m`, `2h`. @raises UsageError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise UsageError(f"a time is a number with s, m or h behind it, such as 90s or 10m, not {text}.")
    return float(match[1]) * _SECONDS[match[2] or "s"]
