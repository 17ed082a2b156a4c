"""Studies: what of a publication is run, drawn and judged. bench/studies/NAME/study.py defines STUDY.

A published value has a key in published.json, and the study answers it: by a row, or by the reason why it is not
measured. `Study.check` refuses a key without an answer, so that nothing published is left out in silence.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.peers import Peer
from harness.targets import Target
from rubato.errors import UsageError
from rubato.results.intervals import Interval
from rubato.results.publication import Mark
from rubato.results.run import Run
from rubato.suggest import did_you_mean
from school.points import Measured, Point
from school.samples import Samples
from school.verdicts import Bar

SIZES = ("quick", "sampled", "full")


class Published(BaseModel):
    """A value that a figure, a table or a sentence of the publication gives."""

    model_config = ConfigDict(extra="forbid")

    key: str
    figure: str
    section: str
    what: str
    value: float | None = None
    unit: str = ""
    claim: str = ""  # the words, where they say more than the value
    read: str = "text"  # how exact it is: text, table, or read off a figure
    curve: str = ""  # with x or label: a mark in the figure
    x: float | None = None
    label: str = ""


@dataclass(frozen=True)
class Curve:
    """A curve or kind of bar: its marks are computed of what is recorded. With `needed` it is drawn of these points and
    of as many others as are recorded: a machine may not have run all."""

    name: str
    points: tuple[Point, ...]
    marks: Callable[[Samples], list[Mark]]
    needed: tuple[Point, ...] | None = None

    def is_there(self, found: Samples) -> bool:
        return found.has(*(self.points if self.needed is None else self.needed))


@dataclass(frozen=True)
class Row:
    """The answer to a published value. `why` is the reason, in words, if the bar is missed. At sizes that are not in
    `counts_at` the value is shown without a verdict."""

    key: str
    points: tuple[Point, ...]
    value: Callable[[Samples], Interval]
    bar: Bar
    why: str = ""
    counts_at: tuple[str, ...] = ("sampled", "full")


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    kind: Literal["lines", "bars", "stacks", "table"] = "table"
    x: str = ""
    y: str = ""
    curves: tuple[Curve, ...] = ()
    rows: tuple[Row, ...] = ()
    sentence: str = ""
    reason: str = ""  # of a figure of which nothing is measured

    @property
    def points(self) -> tuple[Point, ...]:
        found = [point for part in (*self.curves, *self.rows) for point in part.points]
        return tuple({point.identity: point for point in found}.values())


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    source: str
    figures: Callable[[str], list[Figure]]  # by size; the same keys at each
    measures: Callable[[Run], dict[str, float]]  # of a simulated run, what figures need
    #: Rises when `measures` takes something else of a run, which makes records stale and takes them out of figures.
    measures_version: int = field(default=1, kw_only=True)
    seeds: dict[str, int]  # by size: seeds of a simulated point
    rounds: dict[str, int] = field(default_factory=lambda: {"quick": 3, "sampled": 7, "full": 15})
    not_measured: dict[str, str] = field(default_factory=dict)  # reason by key of a published value
    published: tuple[Published, ...] = ()
    optional: dict[str, str] = field(default_factory=dict)  # by ending of programs that may be missing: their remedy
    peers: dict[str, Peer | Target] = field(default_factory=dict)  # by the name that measured points need

    def points(self) -> dict[str, Point]:
        """Of all sizes, by identity."""
        return {point.identity: point for size in SIZES for figure in self.figures(size) for point in figure.points}

    def chosen(self, size: str, keys: Iterable[str] | None = None) -> list[Figure]:
        """Figures by key; 8 stands for the parts 8a, 8b and so on. @raises UsageError for one that the study does not
        have."""
        figures = self.figures(size)
        if keys is None:
            return figures
        found = []
        for key in keys:
            parts = [figure for figure in figures if re.fullmatch(re.escape(key) + "[a-z]?", figure.key)]
            if not parts:
                raise UsageError(f"{self.name} has no figure {key}; it has {', '.join(f.key for f in figures)}.")
            found += [part for part in parts if part not in found]
        return found

    def check(self) -> None:
        """@raises UsageError if published values and answers do not fit."""
        known = {one.key for one in self.published}
        if len(known) < len(self.published):
            raise UsageError(f"{self.name}: two published values have the same key.")
        for size in SIZES:
            figures = self.figures(size)
            keys = {figure.key for figure in figures}
            answers = [row.key for figure in figures for row in figure.rows] + list(self.not_measured)
            for answer in answers:
                if answer not in known or answers.count(answer) > 1:
                    raise UsageError(f"{self.name}: {answer} is answered twice, or is not in published.json.")
            for figure in figures:
                for point in figure.points:
                    if isinstance(point, Measured) and point.needs and point.needs not in self.peers:
                        raise UsageError(f"{self.name}: {point.name} needs {point.needs}, which is none of its peers.")
            silent = {figure.key for figure in figures if figure.reason}
            for one in self.published:
                if one.figure not in keys:
                    raise UsageError(f"{self.name}: {one.key} is of the figure {one.figure}, which is not in study.py.")
                if one.key not in answers and one.figure not in silent:
                    raise UsageError(f"{self.name}: study.py has neither a row nor a reason for {one.key}.")


def published_values(study: Path) -> dict[str, float]:
    """The published values beside a study.py, by key, for bars that are relative to them."""
    listed = json.loads((study.parent / "published.json").read_text(encoding="utf-8"))
    return {one["key"]: one["value"] for one in listed if one.get("value") is not None}


def names_in(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/study.py"))


def load(name: str, folder: Path) -> Study:
    """@raises UsageError for an unknown name, and for a study whose parts do not fit."""
    if name not in names_in(folder):
        hint = did_you_mean(name, names_in(folder)) or f" They are {', '.join(names_in(folder))}."
        raise UsageError(f"there is no publication {name}.{hint}")
    file = folder / name / "study.py"
    spec = importlib.util.spec_from_file_location(f"studies_{name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    study: Study = module.STUDY
    if study.name != name:
        raise UsageError(f"{file}: the study calls itself {study.name}.")
    study = _with_published(study, folder / name / "published.json")
    study.check()
    return study


def _with_published(study: Study, file: Path) -> Study:
    try:
        listed: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        values = tuple(Published(**one) for one in listed)
    except ValidationError as e:
        raise UsageError(f"{file}: {e.errors()[0]['loc'][0]}: {e.errors()[0]['msg']}.") from None
    except (OSError, ValueError, TypeError) as e:
        raise UsageError(f"{file} cannot be read: {e}.") from None
    return Study(**{**study.__dict__, "published": values})
