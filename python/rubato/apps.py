"""The applications: what apps/*/app.toml says about each."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rubato import locate, toml
from rubato.errors import UsageError
from rubato.suggest import did_you_mean


class Option(BaseModel):
    flag: str
    help: str = ""

    @property
    def name(self) -> str:
        """The flag alone: `--graph` of `--graph FILE`."""
        return self.flag.replace("=", " ").split()[0]


class App(BaseModel):
    """One application. `inputs` and `source` are prose for people; the flags are what the commands use."""

    model_config = ConfigDict(extra="allow")

    name: str
    summary: str
    source: str = ""
    inputs: Any = ""
    options: list[Option] = []
    verify_flag: str | None = None
    mode_flag: str | None = None
    serial_arguments: list[str] = []  # by which it runs its serial code, which speed-up is measured against
    allocates_in_tasks: bool = False  # on the chip it then has capalloc, and NAME-libc the C library's allocator
    demo: Any = None
    engines: list[str] = ["chip", "native"]
    file: Path | None = None

    def built_for(self, engine: str) -> Path | None:
        """The executable for an engine, or nothing if it has not been built."""
        return locate.program(self.name, engine)

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

    @property
    def demo_arguments(self) -> list[str]:
        demo = self.demo
        if isinstance(demo, dict):
            demo = demo.get("arguments", [])
        extra = self.model_extra or {}
        demo = demo or extra.get("demo_arguments") or []
        return demo.split() if isinstance(demo, str) else [str(a) for a in demo]


def all_apps() -> dict[str, App]:
    """Every application by name. @raises UsageError naming the file whose description is wrong."""
    apps = {}
    for file in locate.app_files():
        try:
            app = App(**toml.load(file), file=file)
        except ValidationError as e:
            first = e.errors()[0]
            raise UsageError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
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
