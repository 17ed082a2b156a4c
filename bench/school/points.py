"""Points: what is run once a seed on the simulated chip, or in turns on this machine. The identity of a point is the
hash of what it is made of, so that equal points of several figures are run once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any


def digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Simulated:
    """A run of a guest program. `name` is for people. It and `seeds` are no part of the identity."""

    name: str
    program: str  # in BUILD/guest
    arguments: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()  # of rubato-chip; {root} stands for the repository
    copies: int = 1  # side by side, on the cores from core 1 on
    size: str = "quick"
    estimate: float = 2.0  # seconds of the host, until a record says better
    seeds: int = 0  # at least so many; 0: the study's

    @property
    def identity(self) -> str:
        made_of = asdict(replace(self, name="", estimate=0.0))
        del made_of["seeds"]
        return digest({"kind": "simulated", **made_of})

    def of_seed(self, seed: int) -> str:
        """The identity of a record."""
        return digest([self.identity, seed])


@dataclass(frozen=True)
class Measured:
    """A command of this machine that prints one JSON object. Points of one `family` take turns. `name`, `needs`
    and `processors` are no part of the identity."""

    name: str
    family: str
    command: tuple[str, ...]  # {build} stands for the folder of programs
    environment: tuple[tuple[str, str], ...] = ()
    values: tuple[str, ...] = ("seconds",)  # keys of the object that are recorded: numbers, or lists of iterations
    rounds: int = 0  # 0: the study's; 1 of counts, which hardly vary
    processors: int = 1  # that a machine must have for the point to mean something
    size: str = "quick"
    estimate: float = 2.0
    needs: str = ""  # the study's peer whose program it is, or a target that `make build` leaves out

    @property
    def identity(self) -> str:
        made_of = asdict(replace(self, name="", rounds=0, estimate=0.0))
        del made_of["needs"], made_of["processors"]
        return digest({"kind": "measured", **made_of})

    def of_seed(self, seed: int = 0) -> str:
        return digest([self.identity, seed])


Point = Simulated | Measured
