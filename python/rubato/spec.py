"""What one run is asked to be, checked before anything starts, and the rubato-chip command line it becomes.

The native engine's half of the same is native.py.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import itertools
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from rubato import apps, locate, schema
from rubato.errors import UsageError
from rubato.suggest import near_misses

MODES = ("spec", "nonspec", "mayspec")
ENGINES = ("chip", "native")
#: Who serves malloc and free on the chip: the settings that each is, besides the executable of `libc`.
ALLOCATORS: dict[str, dict[str, Any]] = {
    "ideal": {"run.alloc": "ideal"},
    "capsules": {"task.capsules": True},
    "plain": {"task.capsules": False},
    "libc": {},
}


class RunSpec(BaseModel):
    """One run. `program` is an application's name, or a path to a static RISC-V executable (chip) or to a program of
    this machine (native)."""

    model_config = ConfigDict(extra="forbid")

    program: str
    arguments: list[str] = []
    engine: str = "chip"
    cores: int | None = None
    mode: str | None = None
    config: str | None = None
    set: dict[str, Any] = {}
    seed: int | None = None
    alloc: str | None = None  # one of ALLOCATORS; None: what the program is linked with
    serial: bool = False  # the application's serial code, which creates no tasks
    verify: bool = True
    trace: bool = False
    trace_from: int | None = None
    trace_cycles: int | None = None
    commit_order: bool = False
    interval: int | None = None
    series: list[str] = []
    max_cycles: int | None = None
    roi: str | None = None
    fast_forward: bool = True
    warm: bool = False
    sandbox: str | None = None
    env: list[str] = []  # NAME=VALUE each: the program's environment
    timeout: float | None = None  # seconds of wall clock
    oversubscribe: bool = False  # native: more workers than processors

    @property
    def name(self) -> str:
        """The program's name, for directories and tables."""
        return Path(self.program).name

    def check(self) -> None:
        """@raises UsageError for all that can be known before the simulator starts."""
        if self.engine not in ENGINES:
            raise UsageError(f"--engine is chip or native, not {self.engine}.")
        if self.mode is not None and self.mode not in MODES:
            raise UsageError(f"--mode is one of {', '.join(MODES)}, not {self.mode}.")
        if self.cores is not None and not 1 <= self.cores <= 1024:
            raise UsageError(f"--cores is 1 to 1024, not {self.cores}.")
        if self.timeout is not None and self.timeout <= 0:
            raise UsageError(f"--timeout must be longer than 0, not {self.timeout:g} s.")
        for variable in self.env:
            if not variable.partition("=")[0] or "=" not in variable or "\0" in variable:
                raise UsageError(f"--env takes NAME=VALUE, such as OMP_NUM_THREADS=4, not {variable!r}.")
        self._check_alloc()
        if self.engine == "native":
            self._check_native()
        elif self.oversubscribe:
            raise UsageError("--oversubscribe is for the native engine (--engine native).")
        if self.config is not None:
            locate.config_file(self.config)
        schema.check_settings([f"{k}={v}" for k, v in self.set.items()])
        if self.mode is not None and "task.mayspec" in self.set and self.set["task.mayspec"] != self.mode:
            raise UsageError(f"--mode {self.mode} and --set task.mayspec={self.set['task.mayspec']} contradict.")
        self.executable()
        self._check_serial()
        self._check_arguments()

    def _check_alloc(self) -> None:
        if self.alloc is None:
            return
        if self.alloc not in ALLOCATORS:
            raise UsageError(f"--alloc is one of {', '.join(ALLOCATORS)}, not {self.alloc}.")
        app = self.app()
        if self.alloc != "ideal" and (app is None or not app.allocates_in_tasks):
            raise UsageError(
                f"--alloc {self.alloc} is for applications that allocate in tasks, which {self.name} is not; "
                "any program runs with --alloc ideal."
            )
        for key, value in ALLOCATORS[self.alloc].items():
            if key in self.set and str(self.set[key]).lower() != toml_value(value):
                raise UsageError(f"--alloc {self.alloc} and --set {key}={self.set[key]} contradict.")

    def _check_serial(self) -> None:
        app = self.app()
        if self.serial and (app is None or not app.serial_arguments):
            raise UsageError(f"{self.name} has no serial code that Rubato knows of; `rubato apps` says which have.")

    def _check_native(self) -> None:
        """What only the simulated chip has, and what only some programs can do."""
        chip_only = {
            "--config": self.config, "--set": self.set, "--alloc": self.alloc, "--trace-from": self.trace_from,
            "--trace-cycles": self.trace_cycles, "--interval": self.interval, "--series": self.series,
            "--max-cycles": self.max_cycles, "--roi": self.roi, "--no-ff": not self.fast_forward, "--warm": self.warm,
            "--sandbox": self.sandbox, "--commit-order": self.commit_order,
        }  # fmt: skip
        for flag, value in chip_only.items():
            if value not in (None, False, {}, []):
                raise UsageError(f"{flag} is for the simulated chip; leave it out with --engine native.")
        if self.mode is None:
            return
        app = self.app()
        if app is None or not app.mode_flag:
            raise UsageError(f"the tasks of {self.name} have the types that the program gives them; leave out --mode.")
        chosen = self._mode_argument(app.mode_flag)
        if chosen not in (None, self.mode):
            raise UsageError(f"--mode {self.mode} and {app.mode_flag} {chosen} contradict.")

    def _mode_argument(self, flag: str) -> str | None:
        """The value that the program's own arguments give to `flag`."""
        chosen = None
        for before, argument in itertools.pairwise(["", *self.arguments]):
            if before == flag:
                chosen = argument
            elif argument.startswith(flag + "="):
                chosen = argument.partition("=")[2]
        return chosen

    def native_mode(self) -> str | None:
        """The type of the tasks; None for a program that gives its tasks their types itself."""
        app = self.app()
        if app is None or not app.mode_flag:
            return None
        return self.mode or self._mode_argument(app.mode_flag) or "mayspec"

    def app(self) -> apps.App | None:
        """The application, if `program` is the name of one."""
        return apps.all_apps().get(self.program)

    def executable(self) -> Path:
        """@raises UsageError if the program is neither an application nor a file."""
        if app := self.app():
            if self.engine not in app.engines:
                raise UsageError(f"{app.name} runs on the {app.engines[0]} engine only (--engine {app.engines[0]}).")
            built = app.built_for(self.engine) if self.alloc != "libc" else locate.program(f"{app.name}-libc", "chip")
            if built is None:
                where = "the chip" if self.engine == "chip" else "this machine"
                raise UsageError(f"{app.name} is not built for {where}; `make build` builds it.")
            return built
        if not self.program:
            raise UsageError("the program's name is empty; `rubato apps` lists the applications.")
        path = Path(self.program).expanduser()
        if path.is_dir():
            kind = "a static RISC-V executable" if self.engine == "chip" else "an executable of this machine"
            raise UsageError(f"{self.program} is a directory; the program is {kind}.")
        if path.is_file():
            return path.resolve() if self.engine == "native" else path
        if built := locate.program(self.program, self.engine):
            return built
        known = apps.all_apps()
        if not known and "/" not in self.program:
            raise UsageError(f"there is no application and no file {self.program}: {locate.nothing_here()}")
        near = near_misses(self.program, known)
        hint = f" Did you mean {' or '.join(near)}?" if near else " `rubato apps` lists the applications."
        raise UsageError(f"there is no application and no file {self.program}.{hint}")

    def _check_arguments(self) -> None:
        app = self.app()
        if app is None:
            return
        known = app.option_names()
        for argument in self.arguments:
            flag = argument.partition("=")[0]
            if flag.startswith("--") and flag not in known and (near := near_misses(flag, known)):
                raise UsageError(
                    f"{app.name} has no option {flag}. Did you mean {' or '.join(near)}? "
                    f"`rubato apps {app.name}` lists its options."
                )

    def program_arguments(self) -> list[str]:
        """The program's arguments, with its verify flag unless it has it or nobody wants it. On the chip the mode is
        a matter of the configuration, natively of an argument."""
        app = self.app()
        added = []
        if app is not None and self.verify and app.verify_flag and app.verify_flag not in self.arguments:
            added.append(app.verify_flag)
        if app is not None and self.engine == "native" and self.mode and app.mode_flag:
            added += [app.mode_flag, self.mode] if self._mode_argument(app.mode_flag) is None else []
        if app is not None and self.serial and not app.is_serial(self.arguments):
            added += app.serial_arguments
        return [*self.arguments, *added]

    def input_files(self) -> list[Path]:
        """Arguments that name a file, also behind a `=`: the program's inputs, as far as can be known."""
        files = []
        for argument in self.arguments:
            path = Path(argument.rpartition("=")[2])
            with contextlib.suppress(OSError, ValueError):
                files += [path] if path.is_file() else []
        return files

    def command(self, out: Path) -> list[str]:
        """The rubato-chip command line of this run into directory `out`."""
        command = [str(locate.chip())]
        if self.config is not None:
            command += ["--config", str(locate.config_file(self.config))]
        settings = dict(self.set)
        if self.mode is not None:
            settings["task.mayspec"] = self.mode
        settings |= ALLOCATORS.get(self.alloc or "", {})
        for key, value in settings.items():
            command += ["--set", f"{key}={toml_value(value)}"]
        valued = {
            "--cores": self.cores, "--seed": self.seed, "--trace-from": self.trace_from,
            "--trace-cycles": self.trace_cycles, "--interval": self.interval, "--max-cycles": self.max_cycles,
            "--roi": self.roi, "--sandbox": self.sandbox,
        }  # fmt: skip
        for flag, value in valued.items():
            if value is not None:
                command += [flag, str(value)]
        for flag, wanted in {
            "--trace": self.trace,
            "--commit-order": self.commit_order,
            "--no-ff": not self.fast_forward,
            "--warm": self.warm,
        }.items():
            command += [flag] if wanted else []
        for variable in self.env:
            command += ["--env", variable]
        for glob in self.series:
            command += ["--series", glob]
        command += ["--out", str(out), "--progress", "json", "--quiet"]
        return [*command, str(self.executable()), *self.program_arguments()]


def toml_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
