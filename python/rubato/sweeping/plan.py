"""What a sweep runs: a `Plan` of values for each parameter, and its points, one a combination."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ConfigDict, ValidationError, create_model, field_validator

from rubato import toml
from rubato.errors import UsageError
from rubato.home import apps, locate, schema
from rubato.results import metrics
from rubato.running.options import duration
from rubato.running.spec import EARLIER_NAMES, OPTIONS, RunSpec
from rubato.suggest import did_you_mean

#: Options of a run that a plan passes on unchanged to every run.
_SHARED = {one.name: one for one in OPTIONS if one.option.sweep is not None and not one.option.varied}
#: What the serial code, run beside the tasks, does without.
_OF_TASKS = {name: one.default for name, one in _SHARED.items() if one.option.tasks_only}
#: A model with the fields that a plan passes on.
_Shared: Any = create_model(
    "_Shared", **{name: (get_type_hints(RunSpec)[name], one.default) for name, one in _SHARED.items()}
)

#: What a plan of several seeds sets, unless it says otherwise: without it, seeds of a run without ties are one sample.
PERTURB, PERTURB_CYCLES = "chip.perturb", 3

#: What a field takes, by the first word of the type of pydantic's error.
_KINDS = {
    "int": "takes whole numbers", "float": "takes numbers", "bool": "takes true or false", "string": "takes words",
    "list": "takes a list", "dict": "takes a table", "finite": "takes numbers",
}  # fmt: skip
#: More than anybody waits for, and no more than memory holds.
MOST_RUNS = 100_000


class Plan(_Shared):
    """Every combination of the listed values is a run. A single value may stand where a list may.

    >>> Plan(program="sssp", cores=[1, 16], mode=["nonspec", "mayspec"], seeds=3, set={"l2.size": ["64KiB", "1MiB"]})
    """

    model_config = ConfigDict(extra="forbid")

    program: list[str]
    arguments: list[str] = []
    cores: list[int | None] = [None]
    mode: list[str | None] = [None]
    alloc: list[str | None] = [None]
    seeds: list[int | None] = [None]  # a number N stands for 1 to N
    config: list[str | None] = [None]
    set: dict[str, list[Any]] = {}
    metrics: dict[str, str] = {}  # expressions by name (rubato.results.metrics)
    baseline: bool | None = None  # None: where cores vary and the application has serial code

    @field_validator("program", "cores", "mode", "alloc", "config", "series", "env", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return list(value) if isinstance(value, (list, tuple)) else [value]

    @field_validator("program", "cores", "mode", "config", "seeds")
    @classmethod
    def _distinct(cls, value: list[Any]) -> list[Any]:
        if not value:
            raise ValueError("needs at least one value")
        return list(dict.fromkeys(value))

    @field_validator("alloc")
    @classmethod
    def _allocators(cls, value: list[str | None]) -> list[str | None]:
        return cls._distinct([EARLIER_NAMES.get(name or "", name) for name in value])

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if value < 1:
                raise ValueError(f"is at least 1, not {value}")
            if value > MOST_RUNS:
                raise ValueError(f"is at most {MOST_RUNS}, not {value}")
            return list(range(1, value + 1))
        return value

    @field_validator("arguments", mode="before")
    @classmethod
    def _arguments(cls, value: Any) -> Any:
        if not isinstance(value, (str, list, tuple)):
            raise ValueError(f"is a list of words, or one string of them, not {value!r}")
        return shlex.split(value) if isinstance(value, str) else [str(a) for a in value]

    @field_validator("set", mode="before")
    @classmethod
    def _settings(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"is a table of configuration keys and their values, not {value!r}")
        flat = {k: list(v) if isinstance(v, (list, tuple)) else [v] for k, v in toml.flatten(value).items()}
        if empty := [k for k, values in flat.items() if not values]:
            raise ValueError(f"{empty[0]} needs at least one value")
        return flat

    @field_validator("metrics", mode="before")
    @classmethod
    def _metrics(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in toml.flatten(value).values()):
            raise ValueError(f"is a table of names and expressions, not {value!r}")
        flat = toml.flatten(value)
        try:
            metrics.own(flat)
        except UsageError as e:
            raise ValueError(str(e).rstrip(".")) from None
        return flat

    @field_validator("timeout", mode="before")
    @classmethod
    def _timeout(cls, value: Any) -> Any:
        try:
            seconds = duration(value) if isinstance(value, str) else value
        except UsageError as e:
            raise ValueError(str(e).rstrip(".")) from None
        if isinstance(seconds, float) and math.isnan(seconds):
            raise ValueError("is a number of seconds, not nan")
        return seconds

    def points(self) -> list[Point]:
        """All combinations, small chips first: results come early, and memory needs are known before the large."""
        lists = (self.cores, self.program, self.config, self.mode, self.alloc, *self.set.values(), self.seeds)
        if (count := math.prod(map(len, lists))) > MOST_RUNS:
            raise UsageError(f"the plan has {count:,} combinations; at most {MOST_RUNS:,} are possible.")
        common = {name: getattr(self, name) for name in _SHARED} | {"arguments": self.arguments}
        keys = list(self.set)
        perturbed = {c: self._perturbation(c) for c in self.config}
        with_serial = [p for p in self.program if self._has_baseline(p)]
        points = []
        smallest = min(self.cores, key=lambda c: c or 0)
        rest = itertools.product(with_serial, self.config, self.alloc, *self.set.values(), self.seeds)
        for program, config, alloc, *values, seed in rest:
            settings = perturbed[config] | dict(zip(keys, values, strict=True))
            spec = RunSpec(
                program=program, cores=smallest, config=config, alloc=alloc, set=settings, seed=seed, serial=True,
                **common | _OF_TASKS,
            )  # fmt: skip
            points.append(Point(self._name(spec), spec))
        for cores in sorted(self.cores, key=lambda c: c or 0):
            rest = itertools.product(self.program, self.config, self.mode, self.alloc, *self.set.values(), self.seeds)
            for program, config, mode, alloc, *values, seed in rest:
                spec = RunSpec(
                    program=program,
                    cores=cores,
                    mode=mode,
                    alloc=alloc,
                    config=config,
                    set=perturbed[config] | dict(zip(keys, values, strict=True)),
                    seed=seed,
                    **common,
                )
                points.append(Point(self._name(spec), spec))
        return points

    def _has_baseline(self, program: str) -> bool:
        """Whether the serial code of `program` is run beside its tasks, on the smallest chip of the plan."""
        app = apps.all_apps().get(program)
        if app is None or not app.serial_arguments or app.is_serial(self.arguments):
            return False
        usual = len(self.cores) > 1 and self.roi is None and self.fast_forward
        return usual if self.baseline is None else self.baseline

    def _perturbation(self, config: str | None) -> dict[str, Any]:
        """What makes seeds samples: a setting, unless there is one seed, or the plan or the chip has the key."""
        if self.engine != "chip" or len(self.seeds) < 2 or PERTURB in self.set:
            return {}
        if config is not None and PERTURB in toml.flatten(toml.load(locate.config_file(config))):
            return {}
        return {PERTURB: PERTURB_CYCLES}

    def _name(self, spec: RunSpec) -> str:
        """A directory name made of what varies: `sssp-c64-mayspec-l2.size=1MiB-s2`."""
        parts = [spec.name]
        if spec.cores is not None:
            parts.append(f"c{spec.cores}")
        if mode := "serial" if spec.serial else spec.mode:
            parts.append(mode)
        if spec.alloc is not None:
            parts.append(spec.alloc)
        if len(self.config) > 1 and spec.config is not None:
            parts.append(Path(spec.config).stem)
        parts += [f"{k}={toml.text(spec.set[k])}" for k, values in self.set.items() if len(values) > 1]
        if spec.seed is not None:
            parts.append(f"s{spec.seed}")
        return re.sub(r"[^A-Za-z0-9._=+-]", "_", "-".join(parts))

    def check(self) -> None:
        """@raises UsageError for whatever can be known before the first run."""
        points = self.points()
        names = [p.name for p in points]
        if len(set(names)) < len(names):
            raise UsageError(f"two points of the plan have the same name {max(names, key=names.count)}.")
        if self.baseline and not any(map(self._has_baseline, self.program)):
            raise UsageError(
                f"baseline: no serial code is known of {', '.join(self.program)}, or the plan runs nothing else."
            )
        for point in points:
            point.spec.check()
        if self.engine == "chip":
            pairs = [f"{key}={toml.text(value)}" for key, values in self.set.items() for value in values]
            schema.check_values(pairs, [locate.config_file(c) for c in self.config if c is not None])


@dataclass(frozen=True)
class Point:
    """One run of a sweep; `name` is its directory."""

    name: str
    spec: RunSpec


def make_plan(source: Plan | dict[str, Any] | str | Path) -> Plan:
    """A plan from a mapping or a TOML file. @raises UsageError naming the field, with near misses."""
    if isinstance(source, Plan):
        return source
    where, fields = ("the plan", source) if isinstance(source, dict) else (str(source), toml.load(Path(source)))
    for field in fields:
        if field not in Plan.model_fields:
            raise UsageError(f"{where} has an unknown field {field}.{did_you_mean(field, Plan.model_fields)}")
    try:
        return Plan(**fields)
    except ValidationError as e:
        first = e.errors()[0]
        field = ".".join(str(part) for part in first["loc"][:1])
        if first["type"] == "missing":
            raise UsageError(f"{where} has no {field}; it says what the runs of the sweep run.") from None
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] != "value_error":
            kind = next((said for word, said in _KINDS.items() if first["type"].startswith(word)), message)
            message = f"{kind}, not {first['input']!r}"
        raise UsageError(f"{where}: {field}: {message[:1].lower()}{message[1:]}.") from None
