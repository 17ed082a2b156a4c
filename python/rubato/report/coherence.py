"""What a coherence protocol by messages sent, and what its directory and filter did for it (K36, K47)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

from rubato.report.markup import card, table
from rubato.report.study import Workload
from rubato.results.run import Run

_MESSAGES = "coherence.messages."
_FLIT_HOPS = ("memory", "coherence", "abort")  # traffic classes, as in the chart of the network
#: Counters of the homes: heading and path below tile.T.
_HOMES = {
    "directory hits": "directory.hits",
    "misses": "directory.misses",
    "evictions": "directory.evictions",
    "probes": "directory.probes",
    "reconstructed": "directory.rebuilt",
    "false positives": "directory.false_positives",
    "spared by the filter": "directory.filtered",
    "flushes": "directory.flushes",
    "entries at the end": "directory.entries",
    "lines in filters": "filter.lines",
    "moves of the split": "split.moves",
    "directory ways at the end": "split.directory_ways",
    "retries": "requests.retries",
    "persistent": "requests.persistent",
}


def messages(run: Run) -> dict[str, float]:
    """Coherence messages by kind; empty under a protocol that has none."""
    found = run.stats.matching(f"{_MESSAGES}*", optional=True)
    return {path.removeprefix(_MESSAGES): n for path, n in found.items() if n}


def flit_hops(run: Run) -> dict[str, float]:
    """Flits of coherence messages, counted on every link, by traffic class."""
    found = run.stats.matching("coherence.flit_hops.*", optional=True)
    return {c: found[f"coherence.flit_hops.{c}"] for c in _FLIT_HOPS if f"coherence.flit_hops.{c}" in found}


def homes(run: Run) -> dict[str, float]:
    """What directories and filters, or tokenb's requesters, counted, summed over tiles; only what the protocol has."""
    found = {name: run.stats.matching(f"tile.*.{path}", optional=True) for name, path in _HOMES.items()}
    return {name: sum(values.values()) for name, values in found.items() if values}


def has_messages(w: Workload) -> bool:
    return any(messages(r) for s in w.series for p in s.points for r in p.runs)


def section(i: int, w: Workload) -> str:
    """The card of a workload that ran under such a protocol: of each point its first run."""
    runs = [(s.name, p.cores, p.runs[0]) for s in w.series for p in s.points if messages(p.runs[0])]
    text = (
        "Of each point the first run, in its region of interest. A flit-hop is a flit on one link. A <b>probe</b> asks "
        "all tiles for a line; it <b>reconstructs</b> an entry if a tile has the line, and was a <b>false positive</b> "
        "of the filter if none has."
    )
    return card(f"coherence-{i}", "Coherence messages", text, _traffic(runs) + _homes(runs) + _kinds(runs))


def _name(label: tuple[str, int, Run]) -> list[Any]:
    series, cores, run = label
    return [str(run.configuration.get("coherence.protocol", "")), series, cores]


_HEAD = ["protocol", "series", ">cores"]


def _traffic(runs: list[tuple[str, int, Run]]) -> str:
    rows = []
    for label in runs:
        hops = flit_hops(label[2])
        rows.append([*_name(label), *(f"{hops.get(c, 0):,.0f}" for c in _FLIT_HOPS), f"{sum(hops.values()):,.0f}",
                     f"{sum(messages(label[2]).values()):,.0f}"])  # fmt: skip
    head = [*_HEAD, ">flit-hops: memory", ">coherence", ">aborts", ">all", ">messages"]
    return table(head, rows)


def _homes(runs: list[tuple[str, int, Run]]) -> str:
    found = [homes(run) for _, _, run in runs]
    names = [name for name in _HOMES if any(name in f for f in found)]
    rows = [
        [*_name(label), *(f"{f[name]:,.0f}" if name in f else "–" for name in names)]
        for label, f in zip(runs, found, strict=True)
    ]
    return f"<h3>Directories, filters, retries</h3>{table([*_HEAD, *(f'>{n}' for n in names)], rows)}"


def _kinds(runs: list[tuple[str, int, Run]]) -> str:
    found = [messages(run) for _, _, run in runs]
    kinds = sorted({k for f in found for k in f}, key=lambda k: -max(f.get(k, 0) for f in found))
    rows = [[k.replace("_", " "), *(f"{f.get(k, 0):,.0f}" for f in found)] for k in kinds]
    head = ["message", *(f">{_name(label)[0]}, {label[0]}, {label[1]}" for label in runs)]
    return f"<h3>Messages by kind</h3>{table(head, rows)}"
