"""Versions of the simulated chip's model. A version is a hash of what all golden runs are expected to give, so a change
of a result changes it.

A golden run that is added changes the hash, too, and no result. `tools/golden --add` therefore notes the version and
the runs in tests/golden/additions.toml: that version without these runs is another name of the same model. Invariant: a
note counts only for the version that it names. After a change of any expected result the model has one name.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPECTED = Path("tests/golden/expected")
ADDITIONS = Path("tests/golden/additions.toml")
INTRODUCTION = """\
# Runs that were added while all others were as committed, the earliest first. `version` is the model's with them: the
# same model as without them (bench/school/model.py). `tools/golden --add` writes this file.
"""


@dataclass(frozen=True)
class Addition:
    version: str
    runs: tuple[str, ...]

    def __str__(self) -> str:
        return f"\n[[addition]]\nversion = {json.dumps(self.version)}\nruns = {json.dumps(self.runs)}\n"


def version_without(root: Path, runs: Collection[str] = ()) -> str:
    """The version of the model in the tree `root`, had it no such golden `runs`."""
    whole = hashlib.sha256()
    for file in sorted((root / EXPECTED).glob("*.txt")):
        if file.stem not in runs:
            whole.update(f"{file.name}\n".encode() + file.read_bytes())
    return whole.hexdigest()[:12]


def noted(root: Path) -> list[Addition]:
    """All notes, the earliest first."""
    file = root / ADDITIONS
    tables = tomllib.loads(file.read_text(encoding="utf-8")).get("addition", []) if file.exists() else []
    return [Addition(table["version"], tuple(table["runs"])) for table in tables]


def _valid(root: Path, runs: Collection[str]) -> tuple[list[str], list[Addition]]:
    """The names of the model without these runs, and the notes that say so, the latest first."""
    without, versions, found = set(runs), [version_without(root, runs)], list[Addition]()
    for addition in reversed(noted(root)):
        if addition.version == versions[-1]:
            found.append(addition)
            without |= set(addition.runs)
            versions.append(version_without(root, without))
    return versions, found


def versions(root: Path) -> tuple[str, ...]:
    """The names of the present model, the latest first."""
    return tuple(_valid(root, ())[0])


def note_addition(root: Path, runs: Collection[str]) -> None:
    """The expected files of these runs are new, and all others as they were. Notes of earlier models go."""
    _, earlier = _valid(root, runs)
    additions = [*reversed(earlier), Addition(version_without(root), tuple(sorted(runs)))]
    (root / ADDITIONS).write_text(INTRODUCTION + "".join(map(str, additions)), encoding="utf-8")
