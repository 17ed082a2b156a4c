"""The allocator behind malloc and free of a simulated run, as its results show it: it is a setting, or the executable
of an application that was built with another allocator. So reports name it for runs of a sweep and for single ones.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rubato import toml
from rubato.home import apps

if TYPE_CHECKING:
    from rubato.results.metrics import Measured

#: The name of an allocator's column, axis and plan field; not a key of the configuration.
ALLOC = "alloc"
#: Names of allocators that are settings of the chip, with these.
SETTINGS: dict[str, dict[str, Any]] = {
    "ideal": {"run.alloc": "ideal"},
    "capalloc": {"task.capsules": True},
    "plain": {"task.capsules": False},
}
#: Configuration keys that say which allocator it is.
KEYS = tuple(dict.fromkeys(key for settings in SETTINGS.values() for key in settings))
#: The allocators that `--alloc` has.
NAMES = (*SETTINGS, *apps.LINKED)


def program(run: Measured) -> str:
    """The program's name: of des-tcmalloc, which is des with another allocator, des."""
    return _parts(run)[0]


def allocator(run: Measured) -> str | None:
    """One of NAMES; None for a program that is no application whose tasks allocate."""
    name, linked = _parts(run)
    app = apps.all_apps().get(name)
    if run.summary.engine != "chip" or app is None or not app.allocates_in_tasks:
        return None
    if run.configuration.get("run.alloc") == "ideal":
        return "ideal"
    return linked or ("plain" if toml.text(run.configuration.get("task.capsules")) == "false" else "capalloc")


def value(run: Measured, key: str) -> Any:
    """The value that the run has of a configuration key, or of ALLOC."""
    return allocator(run) if key == ALLOC else run.configuration.get(key)


def _parts(run: Measured) -> tuple[str, str | None]:
    name = run.summary.name
    for linked in apps.LINKED:
        base = name.removesuffix(f"-{linked}")
        if base != name and (app := apps.all_apps().get(base)) is not None and app.allocates_in_tasks:
            return base, linked
    return name, None


def varies(runs: Iterable[Measured]) -> bool:
    """Whether programs that have a choice ran with several."""
    return len({allocator(run) for run in runs} - {None}) > 1


def in_place(runs: Sequence[Measured], keys: Sequence[str], named: Iterable[str] = ()) -> list[str]:
    """`keys`, which differ between `runs`, with ALLOC in place of those that only say which allocator it is. Keys that
    a plan named stay."""
    if not varies(runs) or (ALLOC not in named and any(key in KEYS for key in named)):
        return list(keys)
    return [ALLOC, *(key for key in keys if not (key in KEYS and key not in named and _follows(runs, key)))]


def _follows(runs: Sequence[Measured], key: str) -> bool:
    """Whether runs of one allocator have one value of the key."""
    pairs = {(allocator(run), repr(run.configuration.get(key))) for run in runs}
    return len(pairs) == len({alloc for alloc, _ in pairs})
