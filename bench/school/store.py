"""Records of a study, in docs/publications/NAME.json. Invariant: the file is always whole, and has each point that was
run to its end. So an interrupted call loses at most what was running."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from rubato.results import publication
from rubato.results.publication import Publication, Record
from school import model
from school.estimates import Estimates
from school.points import Point, Simulated
from school.samples import Samples
from school.study import Study

State = Literal["present", "stale", "missing"]


@cache
def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Places:
    """The repository and what is built of it."""

    root: Path
    build: Path

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the present model, the latest first."""
        return model.versions(self.root)

    def program(self, point: Simulated) -> Path:
        return self.build / "guest" / point.program

    def version(self, point: Simulated) -> str:
        """A hash of the program and of the files that its options name. Empty if the program is not built."""
        program = self.program(point)
        if not program.exists():
            return ""
        files = [Path(option.format(root=self.root)) for option in point.options if "{root}" in option]
        return hashlib.sha256("".join(_sha256(file) for file in (program, *files)).encode()).hexdigest()[:12]


class Store:
    def __init__(self, file: Path, study: Study, places: Places) -> None:
        """@raises UsageError if the file is there and is not one of records."""
        self.file, self.study, self.places = file, study, places
        self.models = places.models
        self.publication = Publication(name=study.name, title=study.title, source=study.source)
        self.recorded = publication.load(file) if file.exists() else self.publication.model_copy()  # with its figures
        self.publication.records = self.recorded.records

    def state(self, point: Point, seed: int) -> State:
        record = self.publication.records.get(point.of_seed(seed))
        return "missing" if record is None else self.state_of(record, point)

    def state_of(self, record: Record, point: Point) -> State:
        if record.kind == "measured" or not isinstance(point, Simulated):
            return "present"
        built = self.places.version(point)
        is_fresh = record.model in self.models and built in ("", record.program) and self._has_measures(record)
        return "present" if is_fresh else "stale"

    def add(self, identity: str, record: Record) -> None:
        if record.kind == "simulated":
            record = record.model_copy(update={"measures": self.study.measures_version})
        self.publication.records[identity] = record

    def samples(self) -> Samples:
        return Samples(filter(self._has_measures, self.publication.records.values()), self.models)

    def _has_measures(self, record: Record) -> bool:
        return record.kind == "measured" or record.measures == self.study.measures_version

    def estimates(self) -> Estimates:
        return Estimates(self.publication.records.values(), self.study.points().values())

    def prune(self) -> int:
        """Drops records of points that no size of the study has; how many."""
        known = self.study.points()
        gone = [key for key, record in self.publication.records.items() if record.point not in known]
        for key in gone:
            del self.publication.records[key]
        return len(gone)

    def save(self) -> None:
        """Records in the order of sizes and names, so that a new one changes no other line."""
        order = {"quick": 0, "sampled": 1, "full": 2}
        records = self.publication.records
        keys = sorted(records, key=lambda key: (order.get(records[key].size, 3), records[key].name, records[key].seed))
        self.publication.records = {key: records[key] for key in keys}
        self.publication.save(self.file)
