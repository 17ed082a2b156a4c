"""How much memory a run will take and how much there is: a sweep starts no more runs than fit."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

from rubato.process.machine import MB
from rubato.running.spec import RunSpec

#: First estimate, before anything was measured: the simulator itself, its state for each core, and the guest,
#: whose in-memory form of an input file takes a few times the file.
_BASE_MB = 120
_MB_A_CORE = 2.0
_MB_A_FILE_MB = 6.0


def first_estimate(spec: RunSpec) -> float:
    """MB that a run may take, from its cores and input files alone."""
    files = sum(map(_file_mb, spec.input_files()))
    return _BASE_MB + _MB_A_CORE * (spec.cores or 256) + _MB_A_FILE_MB * files


def _file_mb(file: Path) -> float:
    return file.stat().st_size / MB * (4 if file.suffix == ".gz" else 1)


class Estimator:
    """Starts from `first_estimate` and learns from finished runs: a chip with at least as many cores as one that
    was measured takes at least as much."""

    def __init__(self) -> None:
        self._peaks: dict[int, float] = {}

    def measured(self, spec: RunSpec, peak_mb: float) -> None:
        cores = spec.cores or 256
        self._peaks[cores] = max(peak_mb, self._peaks.get(cores, 0.0))

    def mb(self, spec: RunSpec) -> float:
        cores = spec.cores or 256
        if cores in self._peaks:
            return self._peaks[cores] * 1.1
        smaller = [p for c, p in self._peaks.items() if c < cores]
        return max([first_estimate(spec), *(p * 1.1 for p in smaller)])
