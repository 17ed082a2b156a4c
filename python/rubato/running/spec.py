"""What one run is asked to be, checked before anything starts, and the rubato-chip command line it becomes.

The host engines' half of the same is native.py.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rubato import toml
from rubato.errors import UsageError
from rubato.home import apps, locate, schema
from rubato.results import allocator
from rubato.running.options import Field, duration, option, options_of, settings_of
from rubato.suggest import near_misses

MODES = ("spec", "nonspec", "mayspec")
ENGINES = ("chip", "native", "serial")
#: Options that set a configuration key, with its name.
_KEYS = {
    "cores": "chip.cores", "mode": "task.mayspec", "seed": "chip.seed", "max_cycles": "run.max_cycles",
    "roi": "run.roi",
}  # fmt: skip
#: Allocators behind malloc and free on the chip: the settings that each is, besides executables of their own.
ALLOCATORS: dict[str, dict[str, Any]] = {name: allocator.SETTINGS.get(name, {}) for name in allocator.NAMES}
#: Earlier names of allocators, which are still understood.
EARLIER_NAMES = {"capsules": "capalloc"}


@dataclass
class RunSpec:
    """One run. `program` is an application's name, or a path to a RISC-V executable (chip) or to a program of
    this machine (native, serial). Values whose types nothing has checked go through checked()."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    program: str
    arguments: list[str] = field(default_factory=list)
    serial: bool = False  # the application's serial code, which creates no tasks
    cores: int | None = option(
        None, "Cores: simulated, 1 to 1024, or workers of this machine.", varied=True,
    )
    mode: str | None = option(
        None, "What MAYSPEC tasks run as: spec, nonspec or mayspec.", varied=True, simulator=False,
    )
    alloc: str | None = option(  # one of ALLOCATORS; None: what the program is linked with
        None, "The program's allocator on the chip: ideal, capalloc, plain, libc or tcmalloc (docs/capsules.md).",
        varied=True, only="chip", simulator=False,
    )
    config: str | None = option(
        None, "Chip description: a TOML file, or a shipped name.", varied=True, only="chip", simulator=False,
    )
    set: dict[str, Any] = option(
        {}, "Override a configuration key.", metavar="KEY=VALUE", parse=settings_of,
        varied=True, only="chip", simulator=False,
    )
    seed: int | None = option(
        None, "The chip's: perturbs placement and tie-breaking. One of the input is the program's, behind `--`.",
        varied=True,
    )
    timeout: float | None = option(  # seconds of wall clock
        None, "Wall-clock limit, such as 90s or 10m (exit 4).", sweep="Wall-clock limit of a run, such as 10m.",
        parse=duration, simulator=False,
    )
    max_cycles: int | None = option(
        None, "Simulated cycles after which the run ends (exit 4).", sweep="Simulated cycles after which a run ends.",
        only="chip", run_only=True,
    )
    trace: bool = option(
        False, "Write trace.json.gz or trace.json for ui.perfetto.dev.", sweep="Write a trace in each run.",
        run_only=True, tasks_only=True,
    )
    trace_from: int | None = option(
        None, "First cycle of the trace.", sweep="First cycle of the traces.",
        only="chip", run_only=True, tasks_only=True,
    )
    trace_cycles: int | None = option(
        None, "Cycles of the trace.", sweep="Cycles of the traces.", only="chip", run_only=True, tasks_only=True,
    )
    instructions: bool = option(
        False, "Write instructions.tsv.gz: each one executed.", sweep=None, only="chip", run_only=True,
    )
    watch: str | None = option(
        None, "Write watch.tsv.gz: who accesses SYMBOL, SYMBOL+OFFSET, ADDRESS.", sweep=None, only="chip",
        run_only=True,
    )
    restore: str | None = option(
        None, "Go on from a checkpoint of this program.", sweep="Go on from a checkpoint in each run.",
        metavar="FILE", only="chip", run_only=True, tasks_only=True,
    )
    commit_order: bool = option(
        False, "Write commits.tsv.gz: tasks as they committed.", sweep="Write commits.tsv.gz in each run.",
        only="chip", run_only=True, tasks_only=True,
    )
    interval: int | None = option(
        None, "Sample statistics as time series.", sweep="Time series.", metavar="CYCLES", only="chip", run_only=True,
    )
    series: list[str] = option(
        [], "Statistics to sample; default: a few.", metavar="GLOB", only="chip", run_only=True,
    )
    roi: str | None = option(
        None, "Region of interest: this function, or @markers.", sweep="Region of interest: this function.",
        metavar="SYMBOL", only="chip",
    )
    fast_forward: bool = option(
        True, "Simulate everything in detail, no fast-forward.", flag="--no-ff", only="chip",
    )
    warm: bool = option(
        False, "Warm L2, LLC and directories while fast-forwarding.", sweep="Warm caches while fast-forwarding.",
        only="chip",
    )
    sandbox: str | None = option(
        None, "Confine the program's files to DIR.", metavar="DIR", only="chip",
    )
    env: list[str] = option(  # NAME=VALUE each
        [], "Set a variable of the program's environment.", sweep="Set a variable of the programs' environment.",
        metavar="NAME=VALUE",
    )
    verify: bool = option(
        True, "Do not ask the application to check its result.", sweep="Do not ask applications to check results.",
        flag="--no-verify", simulator=False,
    )
    engine: str = option(
        "chip", "chip (simulated), native (this machine's cores) or serial (reference).",
        sweep="chip (default), native or serial.", simulator=False,
    )
    oversubscribe: bool = option(
        False, "Native: allow more workers than cores.", only="native", simulator=False,
    )

    def __post_init__(self) -> None:
        self.alloc = EARLIER_NAMES.get(self.alloc or "", self.alloc)

    @staticmethod
    def checked(values: dict[str, Any]) -> RunSpec:
        """@raises pydantic.ValidationError for a field that there is none of, or a value of another type."""
        from pydantic import TypeAdapter

        return TypeAdapter(RunSpec).validate_python(values)

    @property
    def name(self) -> str:
        """The program's name, for directories and tables."""
        return Path(self.program).name

    def check(self) -> None:
        """@raises UsageError for all that can be known before the simulator starts."""
        if self.engine not in ENGINES:
            raise UsageError(f"--engine is chip, native or serial, not {self.engine}.")
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
        if self.engine != "chip":
            self._check_host()
        if self.oversubscribe and self.engine != "native":
            raise UsageError("--oversubscribe is for the native engine (--engine native).")
        if self.config is not None:
            locate.config_file(self.config)
        schema.check_settings([f"{k}={v}" for k, v in self.set.items()])
        self._check_contradictions()
        self.executable()
        self._check_serial()
        self._check_arguments()

    def _check_contradictions(self) -> None:
        """An option and the configuration key that it sets must not say different things."""
        for name, key in _KEYS.items():
            given = getattr(self, name)
            if given is None or key not in self.set or str(self.set[key]).strip() == str(given):
                continue
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} {given} and --set {key}={self.set[key]} contradict; leave one out.")

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
            if key in self.set and str(self.set[key]).lower() != toml.text(value):
                raise UsageError(f"--alloc {self.alloc} and --set {key}={self.set[key]} contradict.")

    def _check_serial(self) -> None:
        app = self.app()
        if self.serial and (app is None or not app.serial_arguments):
            raise UsageError(f"{self.name} has no serial code that Rubato knows of; `rubato apps` says which have.")

    def _check_host(self) -> None:
        """What only the simulated chip has, and what only some programs can do."""
        for one in OPTIONS:
            if one.option.only == "chip" and getattr(self, one.name) != one.default:
                raise UsageError(f"{one.flag} is for the simulated chip; leave it out with --engine {self.engine}.")
        if self.engine == "serial" and self.cores not in (None, 1):
            raise UsageError(f"the serial engine is one thread; leave --cores {self.cores} out.")
        if self.engine == "serial" and self.trace:
            raise UsageError("the serial engine writes no trace; leave out --trace.")
        if self.mode is None:
            return
        app = self.app()
        if app is None or not app.mode_flag:
            raise UsageError(f"the tasks of {self.name} have the types that the program gives them; leave out --mode.")
        chosen = self._value_of(app.mode_flag)
        if chosen not in (None, self.mode):
            raise UsageError(f"--mode {self.mode} and {app.mode_flag} {chosen} contradict.")

    def _value_of(self, flag: str) -> str | None:
        """The value that the program's own arguments give to `flag`."""
        return apps.value_of(self.arguments, flag)

    def native_mode(self) -> str | None:
        """The type of the tasks; None for a program that gives its tasks their types itself."""
        app = self.app()
        if app is None or not app.mode_flag:
            return None
        return self.mode or self._value_of(app.mode_flag) or "mayspec"

    @property
    def has_threads(self) -> bool:
        """An application's version with threads instead of tasks."""
        return not self.serial and apps.has_threads(self.program, self.arguments)

    def app(self) -> apps.App | None:
        """The application, if `program` is the name of one."""
        return apps.all_apps().get(self.program)

    def executable(self) -> Path:
        """@raises UsageError if the program is neither an application nor a file."""
        if app := self.app():
            if self.engine not in (*app.engines, "serial"):
                raise UsageError(f"{app.name} runs on the {app.engines[0]} engine only (--engine {app.engines[0]}).")
            own = self.alloc if self.alloc in apps.LINKED else None
            built = app.built_with(own) if own else app.built_for(self.engine)
            if built is None and own:
                raise UsageError(f"{app.name} is not built with {own}; {apps.LINKED[own]}.")
            if built is None:
                where = {"chip": "the chip", "native": "this machine", "serial": "the serial engine"}[self.engine]
                raise UsageError(f"{app.name} is not built for {where}; `make build` builds it.")
            return built
        if not self.program:
            raise UsageError("the program's name is empty; `rubato apps` lists the applications.")
        path = Path(self.program).expanduser()
        if path.is_dir():
            kind = "a RISC-V executable" if self.engine == "chip" else "an executable of this machine"
            raise UsageError(f"{self.program} is a directory; the program is {kind}.")
        if path.is_file():
            return path if self.engine == "chip" else path.resolve()
        if built := locate.program(self.program, self.engine):
            return built
        known = apps.all_apps()
        if not known and "/" not in self.program:
            raise UsageError(f"there is no application and no file {self.program}: {locate.nothing_here()}")
        near = near_misses(self.program, known)
        hint = f" Did you mean {' or '.join(near)}?" if near else " `rubato apps` lists the applications."
        is_relative = not path.is_absolute() and len(path.parts) > 1
        where = f" (looked for in the current folder, {Path.cwd()})" if is_relative else ""
        raise UsageError(f"there is no application and no file {self.program}{where}.{hint}")

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
        if app is not None and self.engine != "chip" and self.mode and app.mode_flag:
            added += [app.mode_flag, self.mode] if self._value_of(app.mode_flag) is None else []
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
        command = self._chip(OPTIONS)
        command += ["--out", str(out), "--progress", "json", "--quiet"]
        return [*command, str(self.executable()), *self.program_arguments()]

    def checkpoint_command(self, file: Path) -> list[str]:
        """The rubato-chip command line that writes a checkpoint of this run's program instead of running it."""
        kept = [one for one in OPTIONS if not one.option.run_only]
        return [*self._chip(kept), "--checkpoint", str(file), str(self.executable()), *self.program_arguments()]

    def _chip(self, options: Iterable[Field]) -> list[str]:
        """The simulator, what says which chip, and those of `options` that it has too."""
        command = [str(locate.chip())]
        if self.config is not None:
            command += ["--config", str(locate.config_file(self.config))]
        settings = dict(self.set)
        if self.mode is not None:
            settings["task.mayspec"] = self.mode
        settings |= ALLOCATORS.get(self.alloc or "", {})
        for key, value in settings.items():
            command += ["--set", f"{key}={toml.text(value)}"]
        return command + [word for one in options if one.option.simulator
                          for word in one.in_command(getattr(self, one.name))]  # fmt: skip


#: What of a RunSpec command lines can set.
OPTIONS = tuple(options_of(RunSpec))
