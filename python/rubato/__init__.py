"""Rubato from Python: run programs on simulated chips, sweep over configurations, load results.

>>> import rubato
>>> run = rubato.run("sssp", cores=64, mode="mayspec", set={"l2.size": "512KiB"})
>>> run.summary.cycles, run.stats.total("tile.*.l2.hits"), run.frame()
>>> rubato.sweep({"program": "sssp", "cores": [1, 4, 16], "mode": ["nonspec", "mayspec"], "seeds": 3}).frame()
>>> rubato.load("runs/sssp-64-mayspec").series()
"""

# SPDX-License-Identifier: MIT
from importlib.metadata import PackageNotFoundError, version

from rubato.errors import RubatoError, RunFailed, UsageError
from rubato.results import Histogram, Run, Stats, load
from rubato.running import run
from rubato.summary import Summary

try:
    __version__ = version("rubato")
except PackageNotFoundError:  # used from the source tree without being installed
    __version__ = "0"


def __getattr__(name: str):
    # Sweeps pull in process pools and plan checking: only who sweeps waits for them.
    if name in ("sweep", "Sweep", "Plan"):
        from rubato import plan, sweeping

        return {"sweep": sweeping.sweep, "Sweep": sweeping.Sweep, "Plan": plan.Plan}[name]
    raise AttributeError(f"module 'rubato' has no attribute {name!r}")


__all__ = [
    "Histogram",
    "Plan",
    "RubatoError",
    "Run",
    "RunFailed",
    "Stats",
    "Summary",
    "Sweep",
    "UsageError",
    "load",
    "run",
    "sweep",
]
