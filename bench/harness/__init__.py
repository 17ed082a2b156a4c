"""Common part of the benchmarks of this folder. Imported before all that is not Python's own, since it goes on with the
interpreter of .venv, which has the rest, and knows where `rubato` is.

    harness            ROOT, the repository; BUILD, the programs that are measured
    harness.programs   a program that is run for what it prints
    harness.chip       a run of the simulated chip
    harness.workloads  what workloads/NAME/workload.toml says
    harness.native_rows  configurations of the native engine, and the rows that compare them
    harness.lag_default  whether lagging may be on by default
    harness.peers      other libraries of actors
    harness.targets    programs that `make build` leaves out
    harness.soak       a week of a cache on clocks that run fast
    harness.command    names on the command line, samples of earlier calls, and what ends a command
    harness.tables     verdicts as a table

Turns, ratios and bars are those of rubato.results.measurements, which a report reads as well.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RUBATO_BUILD", ROOT / "build" / "release"))

_PYTHON = ROOT / ".venv" / "bin" / "python"
if sys.prefix == sys.base_prefix and _PYTHON.exists():
    os.execv(_PYTHON, [str(_PYTHON), *sys.argv])
sys.path.insert(0, str(ROOT / "python"))
