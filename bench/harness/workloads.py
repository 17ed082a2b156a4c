"""The workloads of threads: folders workloads/NAME with a workload.toml, whose keys docs/workloads.md has."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness import ROOT
from rubato import toml
from rubato.errors import UsageError

#: What `bench/workloads` measures, and so what a bar may be of.
MEASURES = {"instructions": "M instructions", "misses": "L2 misses a 1000", "shared_misses": "shared misses, %",
            "active": "active, %"}  # fmt: skip
_KEYS = {"stands_for", "arguments", "quick", "options", "bars"}


@dataclass(frozen=True)
class Workload:
    name: str
    arguments: list[str]
    quick: list[str]
    options: list[str] = field(default_factory=list)  # of rubato-chip
    bars: dict[str, tuple[float, float]] = field(default_factory=dict)

    def words(self, quick: bool) -> list[str]:
        """Its arguments."""
        return self.quick if quick else self.arguments


def found() -> dict[str, Workload]:
    """@raises UsageError if a description is wrong."""
    workloads = {}
    for path in sorted(ROOT.glob("workloads/*/workload.toml")):
        name = path.parent.name
        told: dict[str, Any] = toml.load(path)
        if wrong := set(told) - _KEYS | set(told.get("bars", {})) - set(MEASURES):
            raise UsageError(f"{path}: unknown key {', '.join(sorted(wrong))}.")
        if missing := {"stands_for", "arguments", "quick"} - set(told):
            raise UsageError(f"{path}: no {', '.join(sorted(missing))}.")
        bars = {measure: (float(least), float(most)) for measure, (least, most) in told.get("bars", {}).items()}
        workloads[name] = Workload(name, told["arguments"], told["quick"], told.get("options", []), bars)
    return workloads
