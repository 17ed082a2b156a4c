"""The applications: what apps/*/app.toml says about each.

Every command reads them, before its program starts: plain classes, whose checks need no library that takes time.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import itertools
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from rubato import toml
from rubato.errors import UsageError
from rubato.home import locate
from rubato.suggest import did_you_mean

#: Allocators that applications have executables of their own with, guest/NAME-ALLOCATOR, and how those are built.
LINKED = {
    "libc": "`make build` builds it",
    "tcmalloc": "`tools/tcmalloc` in Rubato's source tree fetches the allocator and builds it",
}


@dataclass(frozen=True)
class Option:
    flag: str
    help: str = ""

    @property
    def name(self) -> str:
        """The flag alone: `--graph` of `--graph FILE`."""
        return self.flag.replace("=", " ").split()[0]


@dataclass(frozen=True)
class App:
    """One application. `inputs`, `example` and `source` are prose for people; the flags are what the commands use."""

    name: str
    summary: str
    source: str = ""
    inputs: Any = ""
    example: str = ""
    options: list[Option] = field(default_factory=list)
    verify_flag: str | None = None
    mode_flag: str | None = None
    serial_arguments: list[str] = field(default_factory=list)  # its serial code, which speed-up is measured against
    allocates_in_tasks: bool = False  # on the chip it then has capalloc, and there are executables as in LINKED
    demo_arguments: list[str] = field(default_factory=list)
    engines: list[str] = field(default_factory=lambda: ["chip", "native"])
    file: Path | None = None

    def built_for(self, engine: str) -> Path | None:
        """The executable for an engine, or nothing if it has not been built."""
        return locate.program(self.name, engine)

    def built_with(self, allocator: str) -> Path | None:
        """The executable for the chip with an allocator of LINKED, or nothing if it has not been built."""
        return locate.program(f"{self.name}-{allocator}", "chip")

    @property
    def missing(self) -> list[str]:
        """Engines that it runs on and has not been built for."""
        return [e for e in self.engines if self.built_for(e) is None]

    def is_serial(self, arguments: list[str]) -> bool:
        """Whether these ask for the serial code."""
        return any(self._serial_at(arguments, i) for i in range(len(arguments)))

    def without_serial(self, arguments: list[str]) -> list[str]:
        """The arguments of the tasks that the serial code is compared with."""
        i = next((i for i in range(len(arguments)) if self._serial_at(arguments, i)), None)
        return arguments if i is None else [*arguments[:i], *arguments[i + len(self.serial_arguments) :]]

    def _serial_at(self, arguments: list[str], i: int) -> bool:
        wanted = self.serial_arguments
        return bool(wanted) and arguments[i : i + len(wanted)] == wanted

    def option_names(self) -> list[str]:
        names = [o.name for o in self.options]
        return [n for n in dict.fromkeys([*names, self.verify_flag, self.mode_flag]) if n]


def value_of(arguments: list[str], flag: str) -> str | None:
    """The value that a program's arguments give to `flag`, the last one: `--variant threads` or `--variant=threads`."""
    chosen = None
    for before, argument in itertools.pairwise(["", *arguments]):
        if before == flag:
            chosen = argument
        elif argument.startswith(flag + "="):
            chosen = argument.partition("=")[2]
    return chosen


def has_threads(name: str, arguments: list[str]) -> bool:
    """Whether this runs an application's version with threads instead of tasks: not its serial code, which a sweep of
    threads runs with the same arguments and more."""
    known = all_apps().get(name)
    return known is not None and value_of(arguments, "--variant") == "threads" and not known.is_serial(arguments)


#: What values of an application's fields are, in words and as a check, by the field's annotation.
_KINDS: dict[str, tuple[str, Any]] = {
    "str": ("a string", lambda v: isinstance(v, str)),
    "str | None": ("a string", lambda v: isinstance(v, str)),
    "bool": ("true or false", lambda v: isinstance(v, bool)),
    "list[str]": ("a list of strings", lambda v: isinstance(v, list) and all(isinstance(s, str) for s in v)),
    "list[Option]": ("a list of tables", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v)),
}


def _checked(kind: type[App | Option], table: dict[str, Any], file: Path) -> dict[str, Any]:
    """The fields of `kind` in `table`; what else is there is for people. @raises UsageError naming file and field."""
    known = {}
    for f in fields(kind):
        if f.name not in table:
            if f.default is MISSING and f.default_factory is MISSING:
                raise UsageError(f"{file}: {f.name} is missing.")
            continue
        words, is_right = _KINDS.get(str(f.type), ("", lambda _: True))
        if not is_right(table[f.name]):
            raise UsageError(f"{file}: {f.name} is {words}, not {table[f.name]!r}.")
        known[f.name] = table[f.name]
    return known


@functools.lru_cache(maxsize=256)
def _read(file: Path, _changed: int) -> App:
    known = _checked(App, toml.load(file), file)
    known["options"] = [Option(**_checked(Option, o, file)) for o in known.get("options", [])]
    return App(**known | {"file": file})


def all_apps() -> dict[str, App]:
    """Every application by name. @raises UsageError naming the file whose description is wrong."""
    apps: dict[str, App] = {}
    for file in locate.app_files():
        app = _read(file, file.stat().st_mtime_ns)
        apps.setdefault(app.name, app)
    return apps


def app(name: str) -> App:
    """@raises UsageError with near misses if there is none of that name."""
    apps = all_apps()
    if name in apps:
        return apps[name]
    if not apps:
        raise UsageError(locate.nothing_here())
    hint = did_you_mean(name, apps) or f" There are: {', '.join(apps)}."
    raise UsageError(f"there is no application {name}.{hint}")
