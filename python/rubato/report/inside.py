"""What a report shows of one run: link loads, histograms, time series, task functions.

The paths of statistics that the report reads are all in this file.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rubato.errors import UsageError
from rubato.names import short_name
from rubato.report import timeline
from rubato.results.run import Histogram, Run, pattern_of
from rubato.results.summary import CYCLE_CLASSES

if TYPE_CHECKING:
    import polars as pl

#: Where inside the machine a core's cycles go (chip/stats/cycle_account.hpp).
PARTS = ("core", "l1", "l2", "llc", "memory", "network", "check")

_LINK = re.compile(r"tile\.(\d+)\.link\.(east|west|south|north)\.flits")


def cycle_parts(run: Run) -> dict[str, dict[str, float]]:
    """Core cycles by class and part; empty where a class has none."""
    found = {}
    for name in CYCLE_CLASSES:
        parts = {p: run.stats.total(f"chip.core_cycles.{name}.{p}", optional=True) for p in PARTS}
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
        idle = sum(run.stats.total(f"core.{c}.cycles.idle", optional=True) for c in cores)
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
        histogram = run.stats.histogram(pattern, optional=True)
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


#: Samples of a time series that a chart shows; a screen has no more points.
_MOST_SAMPLES = 600


def _thinned(frame: pl.DataFrame, step: int) -> pl.DataFrame:
    """Means of `step` samples each, without a rest that is shorter."""
    if step < 2:
        return frame
    import polars as pl

    whole = frame.head(frame.height - frame.height % step).with_row_index("sample")
    means = whole.group_by(pl.col("sample") // step, maintain_order=True).agg(pl.all().exclude("sample").mean())
    return means.drop("sample")


def series(run: Run) -> list[dict[str, Any]]:
    """Sampled statistics, each with its cycles; at most 12, those that move."""
    try:
        frame = run.series()
    except UsageError:
        return []
    cycles = frame["cycle"].to_list()
    if len(cycles) > 2 and cycles[-1] - cycles[-2] < cycles[1] - cycles[0]:
        frame = frame.head(-1)  # the end cut the last interval short: its sums would look like a drop
        cycles.pop()
    step = -(-len(cycles) // _MOST_SAMPLES)
    frame, cycles = _thinned(frame, step), cycles[step - 1 :: step]
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
    # A class tells more than its parts, which the charts above show in sum; cycles only count themselves.
    lines.sort(key=lambda line: (line["name"].count(".") > 2, line["name"] == "chip.cycles"))
    return lines[:12]


def functions(run: Run) -> list[dict[str, Any]]:
    """Per task function: core cycles by class and by part, those with most work first."""
    rows = []
    if not run.summary.tasks.created:
        return []
    for entry in run.functions:
        classes = {name: sum(parts.values()) for name, parts in entry["cycles"].items()}
        parts = dict.fromkeys(PARTS, 0)
        for name, values in entry["cycles"].items():
            if name in ("idle", "stall"):
                continue
            for part, cycles in values.items():
                parts[part] += cycles
        rows.append(
            {"function": entry["function"], "short": short_name(entry["function"]), "classes": classes, "parts": parts}
        )
    return sorted(rows, key=lambda r: -sum(r["parts"].values()))


def everything(run: Run) -> dict[str, Any]:
    """All of the above and a piece of the timeline, as the page embeds it."""
    return {
        "mesh": mesh(run),
        "histograms": histograms(run),
        "series": series(run),
        "functions": functions(run),
        "timeline": timeline.piece(run),
    }


__all__ = ["PARTS", "cycle_parts", "everything"]
