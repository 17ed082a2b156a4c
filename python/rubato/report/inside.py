"""What a report shows of one run: link loads, histograms, time series, task functions, a piece of the timeline.

The paths of statistics that the report reads are all in this file.
"""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import re
from typing import Any

from rubato.errors import UsageError
from rubato.results import Histogram, Run, pattern_of
from rubato.summary import CYCLE_CLASSES

#: Where inside the machine a core's cycles go (chip/stats/cycle_account.hpp).
PARTS = ("core", "l1", "l2", "llc", "memory", "network", "check")

_LINK = re.compile(r"tile\.(\d+)\.link\.(east|west|south|north)\.flits")
_FUNCTION = re.compile(r"function\.(?P<name>.+)\.(?P<what>cycles|tasks)\.(?P<key>[a-z_0-9]+)")
_LANES = 32
_SLICES = 2500


def cycle_parts(run: Run) -> dict[str, dict[str, float]]:
    """Core cycles by class and part; empty where a class has none."""
    found = {}
    for name in CYCLE_CLASSES:
        parts = {p: run.stats.total(f"chip.core_cycles.{name}.{p}") for p in PARTS}
        if any(parts.values()):
            found[name] = parts
    return found


def mesh(run: Run) -> dict[str, Any] | None:
    """Load of every link: flits over cycles of the region of interest; nothing on a one-tile chip."""
    cycles = run.summary.cycles
    links = [
        {"tile": int(m[1]), "direction": m[2], "count": value, "load": value / cycles if cycles else 0}
        for path, value in run.stats.items()
        if (m := _LINK.fullmatch(path))
    ]
    if not links:
        return None
    configuration = run.configuration
    per_tile = int(configuration.get("chip.cores_per_tile", 4))
    tiles = run.summary.cores // per_tile
    width = int(configuration.get("chip.mesh_width", 0)) or _most_square(tiles)
    busy = []
    for tile in range(tiles):
        cores = range(tile * per_tile, (tile + 1) * per_tile)
        idle = sum(run.stats.total(f"core.{c}.cycles.idle") for c in cores)
        busy.append(max(0.0, 1 - idle / (cycles * per_tile)) if cycles else 0.0)
    height = -(-tiles // width)
    return {"width": width, "height": height, "links": links, "busy": busy, "unit": "flits"}


def _most_square(tiles: int) -> int:
    return min((w for w in range(1, tiles + 1) if tiles % w == 0), key=lambda w: (abs(w - tiles // w), -w))


def histograms(run: Run) -> list[dict[str, Any]]:
    """Every histogram the run has, summed over tiles and cores."""
    patterns = dict.fromkeys(pattern_of(p) for p, v in run.stats.items() if isinstance(v, Histogram))
    found = []
    for pattern in patterns:
        histogram = run.stats.histogram(pattern)
        if histogram is None or histogram.samples == 0:
            continue
        said = run.stats.describe(pattern)
        found.append(
            {
                "name": pattern,
                "unit": said.get("unit", ""),
                "description": said.get("description", ""),
                "buckets": list(histogram.buckets),
                "mean": histogram.mean,
            }
        )
    return found


def series(run: Run) -> list[dict[str, Any]]:
    """Sampled statistics, each with its cycles; at most 12, those that move."""
    try:
        frame = run.series()
    except UsageError:
        return []
    cycles = frame["cycle"].to_list()
    lines = []
    for name in frame.columns[1:]:
        values = frame[name].to_list()
        if len(values) > 1 and min(values) != max(values):
            said = run.stats.describe(name)
            lines.append(
                {
                    "name": name,
                    "unit": said.get("unit", ""),
                    "description": said.get("description", ""),
                    "cycles": cycles,
                    "values": values,
                }
            )
    return lines[:12]


def functions(run: Run) -> list[dict[str, Any]]:
    """Per task function: tasks and cycles, most cycles first."""
    table: dict[str, dict[str, float]] = {}
    for path, value in run.stats.items():
        if (m := _FUNCTION.fullmatch(path)) and not isinstance(value, Histogram):
            table.setdefault(m["name"], {})[f"{m['what']}.{m['key']}"] = value
    rows = [{"function": name, **values} for name, values in table.items()]
    return sorted(rows, key=lambda r: -sum(v for k, v in r.items() if k.startswith("cycles.")))


def timeline(run: Run) -> dict[str, Any] | None:
    """A piece from the middle of the trace: up to 32 lanes and 2500 slices; nothing without a trace."""
    if run.trace is None:
        return None
    with gzip.open(run.trace, "rt") as file:
        document = json.load(file)
    events = document["traceEvents"] if isinstance(document, dict) else document
    names = {
        (e.get("pid"), e.get("tid")): e["args"]["name"]
        for e in events
        if e.get("ph") == "M" and e.get("name") == "thread_name"
    }
    slices = [e for e in events if e.get("ph") == "X" and e.get("dur", 0) > 0]
    if not slices:
        return None
    lanes = sorted({(e.get("pid", 0), e.get("tid", 0)) for e in slices})[:_LANES]
    chosen = sorted((e for e in slices if (e.get("pid", 0), e.get("tid", 0)) in set(lanes)), key=lambda e: e["ts"])
    middle = len(chosen) // 2
    chosen = chosen[max(0, middle - _SLICES // 2) : middle + _SLICES // 2]
    start = chosen[0]["ts"]
    end = max(e["ts"] for e in chosen)
    chosen = [e for e in chosen if e["ts"] + e["dur"] <= end] or chosen
    end = max(e["ts"] + e["dur"] for e in chosen)
    index = {lane: i for i, lane in enumerate(lanes)}
    words = list(dict.fromkeys(e["name"] for e in chosen))
    return {
        "lanes": [names.get(lane, f"core {lane[1]}") for lane in lanes],
        "names": words,
        "from": start,
        "to": end,
        "unit": "us of simulated time",
        "slices": [
            {
                "lane": index[e.get("pid", 0), e.get("tid", 0)],
                "start": e["ts"],
                "length": e["dur"],
                "name": words.index(e["name"]),
                "kind": str(e.get("cat", "")),
            }
            for e in chosen
        ],
    }


def everything(run: Run) -> dict[str, Any]:
    """All of the above, as the page embeds it."""
    return {
        "mesh": mesh(run),
        "histograms": histograms(run),
        "series": series(run),
        "functions": functions(run),
        "timeline": timeline(run),
    }


__all__ = ["PARTS", "cycle_parts", "everything"]
