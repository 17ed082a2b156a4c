"""What the memory hierarchy took, by part, and its energy-delay product (K78), with the keys of each run or others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rubato.errors import UsageError
from rubato.report.markup import card, listed, stacked, switch, table
from rubato.report.study import Point, Workload
from rubato.results import energy
from rubato.results.energy import Energy

_NAMES = {
    "l1": "L1", "l2": "L2", "llc": "LLC", "directory": "directory", "filter": "filter", "network": "network",
}  # fmt: skip
_COLOURS = {"directory": "var(--memory)", "filter": "var(--check)"}  # the others have their own


def keys_of(settings: Mapping[str, str]) -> dict[str, float]:
    """Keys of energy given anew. @raises UsageError for others, or what is no number from 0."""
    keys = {}
    for key, text in settings.items():
        if key not in energy.KEYS:
            known = listed(list(energy.KEYS))
            raise UsageError(f"--set {key}: a report computes nothing anew but energy; it takes {known}.")
        try:
            keys[key] = float(text)
        except ValueError:
            keys[key] = math.nan
        if not 0 <= keys[key] <= 1e6:
            raise UsageError(f"{key} is {text}, expected a number from 0 to 1000000.")
    return keys


def has_energy(w: Workload) -> bool:
    return not w.is_native and any(_of(p, w) is not None for s in w.series for p in s.points)


def _of(p: Point, w: Workload) -> Energy | None:
    """The mean over the point's seeds."""
    found = [e for r in p.runs if (e := energy.of(r, w.energy_keys)) is not None]
    if not found:
        return None
    n = len(found)
    return Energy(
        dynamic={part: sum(e.dynamic[part] for e in found) / n for part in energy.PARTS},
        leakage={part: sum(e.leakage[part] for e in found) / n for part in energy.PARTS},
        memory=sum(e.memory for e in found) / n,
        seconds=sum(e.seconds for e in found) / n,
    )


def section(i: int, w: Workload) -> str:
    text = (
        "What the memory hierarchy on the chip took in the region of interest, cores and memory not included: of each "
        "part what its accesses took, and what it <b>leaks</b> over time. The figure behind a bar is the total; the "
        "table has it with the <b>EDP</b>, energy times simulated time."
    )
    if w.energy_keys:
        text += f" Computed with {listed([f'<code>{k}={v:g}</code>' for k, v in w.energy_keys.items()])}."
    body = (
        f"{switch('energy', 'relative', i, 'share', 'energy')}"
        f'<div class="legend" id="energy-legend-{i}"></div><div class="chart" id="energy-chart-{i}"></div>'
    )
    return card(f"energy-{i}", "Energy", text, body + _table(w))


def _table(w: Workload) -> str:
    points = [(s.name, p.cores, e) for s in w.series for p in s.points if (e := _of(p, w)) is not None]
    first = points[0][2]
    rows = []
    for name, cores, e in points:
        parts = [joules(e.dynamic[part] + e.leakage[part]) for part in energy.PARTS]
        leaks = sum(e.leakage.values()) / e.total if e.total else 0.0
        relative = f"{e.edp / first.edp:.3f}" if first.edp else "–"
        rows.append([name, cores, *parts, joules(e.total), f"{leaks:.0%}", f"{joules(e.edp)} s", relative,
                     joules(e.memory)])  # fmt: skip
    head = ["series", ">cores", *(f">{_NAMES[part]}" for part in energy.PARTS), ">total", ">leakage", ">EDP",
            ">over the first", ">memory, off the chip"]  # fmt: skip
    return table(head, rows)


def joules(nano: float) -> str:
    for factor, unit in ((1e9, "J"), (1e6, "mJ"), (1e3, "uJ"), (1.0, "nJ"), (1e-3, "pJ")):
        if nano >= factor:
            return f"{nano / factor:.3g} {unit}"
    return f"{nano * 1e6:.3g} fJ" if nano else "0 J"


def data(w: Workload) -> dict[str, Any]:
    """For the chart: of each part what its accesses took and what it leaked."""
    found = [(s.name, [(p, e) for p in s.points if (e := _of(p, w)) is not None]) for s in w.series]
    most = max((e.total for _, points in found for _, e in points), default=0.0)
    names = {part: name for part, name in _NAMES.items()} | {
        f"{part}-leakage": f"{name}, leakage" for part, name in _NAMES.items() if part != "network"
    }
    order = [key for part in energy.PARTS for key in (part, f"{part}-leakage") if key in names]
    parts = stacked({key: names[key] for key in order}, "{}")
    for part in parts:
        key = part["key"].removesuffix("-leakage")
        part["colour"] = _COLOURS.get(key, f"var(--{key})")
    return {
        "label": f"energy of the memory hierarchy of {w.name} by part",
        "unit": "nJ",
        "parts": parts,
        "groups": [{"name": name, "rows": [_row(p, e, most) for p, e in points]} for name, points in found if points],
    }


def _row(p: Point, e: Energy, most: float) -> dict[str, Any]:
    amounts = {**e.dynamic, **{f"{part}-leakage": nano for part, nano in e.leakage.items()}}
    return {
        "label": str(p.cores),
        "fractions": {key: nano / e.total if e.total else 0.0 for key, nano in amounts.items()},
        "amounts": amounts,
        "total": e.total / most if most else 0.0,
        "note": joules(e.total),
    }
