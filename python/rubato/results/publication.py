"""A publication's figures and tables beside ours: the file docs/publications/NAME.json. `bench/publications` writes it
and `rubato report` draws it.

A record is a point that was run. Of a simulated point it holds the SHA-256 of stats.json. So anyone can prove it to the
byte, by running the point again with the same model and program. Figures are what follows from the records. They are
stored beside them, so a reader draws them without a run and without the study.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rubato.errors import UsageError
from rubato.files import write_whole

if TYPE_CHECKING:
    from rubato.results.intervals import Interval

Verdict = Literal["reproduced", "near", "missed", "not measured"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "near", "missed", "not measured")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Record(_Strict):
    """A point that was run: once a seed if it is simulated, several rounds if it is measured."""

    kind: Literal["simulated", "measured"]
    name: str
    size: str
    point: str  # hash of the point without its seed: records of one point are samples of it
    seed: int = 0
    values: dict[str, float]  # of a measured point the medians
    seconds: float = 0  # of this machine, for what a run is said to take
    stats: str = ""  # SHA-256 of stats.json
    model: str = ""
    program: str = ""  # begin of the guest program's SHA-256
    measures: int = 1  # of a simulated point: the version of what the study takes of a run
    samples: dict[str, list[float]] = {}  # of a measured point, by round
    machine: str = ""


class Mark(_Strict):
    """A point of a curve; `low` and `high` are its 95 % interval. One of `x` and `label` places it."""

    x: float | None = None
    label: str = ""
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""

    @classmethod
    def of(cls, interval: Interval, *, x: float | None = None, label: str = "") -> Mark:
        return cls(x=x, label=label, y=interval.mean, low=interval.low, high=interval.high)


class Curve(_Strict):
    name: str
    marks: list[Mark]
    is_published: bool = False


class Row(_Strict):
    """A published value or claim, and what became of it."""

    key: str
    figure: str
    what: str
    section: str
    unit: str = ""
    published: float | None = None
    claim: str = ""  # as published, where no number is given, or more than a number
    read: str = ""  # how exact the published value is
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    least: float | None = None  # the bar
    most: float | None = None
    size: str = ""
    verdict: Verdict = "not measured"
    why: str = ""


class Figure(_Strict):
    """A figure, a table or a section of text."""

    key: str
    title: str
    kind: Literal["lines", "bars", "stacks", "table"] = "table"
    x: str = ""
    y: str = ""
    size: str = ""  # of the points that are drawn
    curves: list[Curve] = []
    rows: list[Row] = []
    sentence: str = ""
    reason: str = ""  # why nothing is drawn

    @property
    def ours(self) -> list[Curve]:
        """Curves that were measured."""
        return [curve for curve in self.curves if curve.marks and not curve.is_published]

    @property
    def verdict(self) -> Verdict | Literal["drawn"]:
        """The worst of the rows that were measured; `drawn`: curves are there, and no row to hold them against."""
        found = [row.verdict for row in self.rows]
        if not found and self.ours:
            return "drawn"
        return next((v for v in ("missed", "near", "reproduced") if v in found), "not measured")


class Publication(_Strict):
    format: int = 1
    name: str
    title: str
    source: str
    records: dict[str, Record] = {}  # by identity
    figures: list[Figure] = []

    def count(self, verdict: Verdict) -> int:
        return sum(row.verdict == verdict for figure in self.figures for row in figure.rows)

    def save(self, file: Path) -> None:
        """A line a record, so that a run that was made anew is a line of a change."""
        head = self.model_dump(include={"format", "name", "title", "source"})
        lines = [f' "{key}": {json.dumps(value)},' for key, value in head.items()]
        for key, parts in (("records", self.records), ("figures", {str(i): f for i, f in enumerate(self.figures)})):
            rows = [
                (f"{json.dumps(identity)}: " if key == "records" else "")
                + json.dumps(part.model_dump(exclude_defaults=True), sort_keys=True, ensure_ascii=False)
                for identity, part in parts.items()
            ]
            opening, closing = "{}" if key == "records" else "[]"
            body = ",\n".join(f"  {row}" for row in rows)
            lines.append(f' "{key}": {opening}\n{body}\n {closing}' + ("," if key == "records" else ""))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, "{\n" + "\n".join(lines) + "\n}\n")


def is_publication(file: Path) -> bool:
    """Whether a file that a report was given may be one: what is wrong in it, load() says."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and {"records", "figures"} <= set(document)


def load(file: Path) -> Publication:
    """@raises UsageError if it is none."""
    try:
        return Publication(**json.loads(file.read_text(encoding="utf-8")))
    except ValidationError as e:
        first = e.errors()[0]
        raise UsageError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    except (OSError, ValueError, TypeError) as e:
        raise UsageError(f"{file} cannot be read: {e}.") from None
