"""Rubato from Python: run programs on simulated chips, sweep over configurations, load results.

>>> import rubato
>>> run = rubato.run("sssp", cores=64, mode="mayspec", set={"l2.size": "512KiB"})
>>> run.summary.cycles, run.stats.total("tile.*.l2.hits"), run.frame()
>>> rubato.sweep({"program": "sssp", "cores": [1, 4, 16], "mode": ["nonspec", "mayspec"], "seeds": 3}).frame()
>>> rubato.load("runs/sssp-64-mayspec").series()
"""

# SPDX-License-Identifier: MIT
# Each name is loaded when first used: a command, or a script that only reads results, waits for what it needs.
TYPE_CHECKING = False  # as typing's, whose import would take as long as all of this
if TYPE_CHECKING:
    from rubato.errors import RubatoError, RunFailed, UsageError
    from rubato.results.run import Histogram, Run, Stats, load
    from rubato.results.summary import Summary
    from rubato.running import run
    from rubato.sweeping.plan import Plan
    from rubato.sweeping.sweep import Sweep, sweep

    __version__: str

_MODULES = {
    "Histogram": "results.run",
    "Plan": "sweeping.plan",
    "RubatoError": "errors",
    "Run": "results.run",
    "RunFailed": "errors",
    "Stats": "results.run",
    "Summary": "results.summary",
    "Sweep": "sweeping.sweep",
    "UsageError": "errors",
    "load": "results.run",
    "run": "running.run",
    "sweep": "sweeping.sweep",
}


def __getattr__(name: str):
    if name == "__version__":
        value = _version()
    elif name in _MODULES:
        from importlib import import_module

        value = getattr(import_module(f"rubato.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module 'rubato' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rubato")
    except PackageNotFoundError:  # used from the source tree without being installed
        return "0"


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
