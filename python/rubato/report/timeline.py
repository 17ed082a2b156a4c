"""A piece of a run's trace, for the report: tasks on cores or workers, or threads that run and wait."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from rubato.names import short_name
from rubato.results.run import Run

_LANES = 32
_SLICES = 2500
_SLICES_OF_THREADS = 200  # so that each line between threads can be followed
_MOST_READ = 200_000
_NO_TASKS = ("worker", "run", "order", "coherence")  # what is not drawn
#: Colours of what threads wait for, and of all other waits.
WAITS = {"lock": "aborted", "barrier": "spill", "condition": "stall"}
OTHER_WAITS = "held_back"


def piece(run: Run) -> dict[str, Any] | None:
    """A piece from the middle of the trace: up to 32 lanes and 2500 slices; nothing without a trace. A program of
    threads has a lane for each, all others one for each core."""
    if run.trace is None:
        return None
    is_chip = run.trace.suffix == ".gz"
    slices, names = _slices(run.trace)
    of_threads = [e for e in slices if _is_of_thread(e)]
    has_threads = bool(of_threads) and not run.summary.tasks.created
    slices = of_threads if has_threads else [e for e in slices if not _is_of_thread(e)]
    lanes = sorted({e["tid"] for e in slices})[:_LANES]
    chosen = sorted((e for e in slices if e["tid"] in set(lanes)), key=lambda e: e["ts"])
    chosen = _clipped(chosen, _SLICES_OF_THREADS) if has_threads else _middle(chosen, _SLICES)
    if not chosen:
        return None
    index = {lane: i for i, lane in enumerate(lanes)}
    words = {name: i for i, name in enumerate(dict.fromkeys(e["name"] for e in chosen))}
    return {
        "lanes": [names.get(lane, f"core {lane}") for lane in lanes],
        "names": [short_name(w) for w in words],
        "from": min(e["ts"] for e in chosen),
        "to": max(e["ts"] + e["dur"] for e in chosen),
        "unit": "us of simulated time" if is_chip else "us",
        "who": "threads" if has_threads else "cores" if is_chip else "workers",
        "file": run.trace.name,
        "kinds": _kinds_of_threads(chosen) if has_threads else None,
        "slices": [
            {"lane": index[e["tid"]], "start": e["ts"], "length": e["dur"], "name": words[e["name"]], "kind": _kind(e)}
            for e in chosen
        ],
        "arrows": [
            {"from": index[by], "to": index[e["tid"]], "at": e["ts"] + e["dur"]}
            for e in chosen if (by := e.get("args", {}).get("ended_by")) in index and by != e["tid"]
        ],
    }  # fmt: skip


def _middle(slices: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    middle = len(slices) // 2
    return slices[max(0, middle - most // 2) : middle + most // 2]


def _clipped(slices: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The time from the first to the last slice of the middle, with the parts of longer slices in it."""
    middle = _middle(slices, most)
    begin, end = middle[0]["ts"], middle[-1]["ts"] + middle[-1]["dur"]
    found = []
    for e in slices:
        start, stop = max(e["ts"], begin), min(e["ts"] + e["dur"], end)
        if start < stop:
            whole = stop == e["ts"] + e["dur"]
            arguments = e["args"] if whole else {k: v for k, v in e["args"].items() if k != "ended_by"}
            found.append(e | {"ts": start, "dur": stop - start, "args": arguments})
    return found


def _is_of_thread(event: dict[str, Any]) -> bool:
    """A slice of a thread's own lane; one of a core's lane that names the thread has no arguments."""
    return event.get("cat") == "thread" and "args" in event


def _kinds_of_threads(slices: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Name and colour of each kind of slice, running first."""
    found = {"running": {"name": "running", "colour": "nonspeculative"}}
    for kind in sorted({_kind(e) for e in slices} - {"running"}):
        found[kind] = {"name": f"waits: {kind}", "colour": WAITS.get(kind, OTHER_WAITS)}
    return found


def _slices(file: Path) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Slices and lane names of a trace; of a long one, those that come first. An event is a line of the file.

    A slice of an attempt that was aborted after its end is marked like one that was aborted before: the instant that
    says so comes later in the file, before any further attempt of the task.
    """
    slices: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    attempts: dict[Any, dict[str, Any]] = {}  # the last one of each task
    trace = gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8")  # noqa: SIM115 - closed below
    with trace as lines, contextlib.suppress(EOFError, OSError, ValueError, zlib.error):  # cut short: draw that
        for line in lines:
            line = line.strip().rstrip(",")
            if not line.startswith(('{"ph":"X"', '{"ph":"M"', '{"ph":"i"')):
                continue
            event = json.loads(line)
            if event["ph"] == "i":
                if event.get("cat") == "abort" and (attempt := attempts.get(event["args"]["id"])) is not None:
                    attempt["args"]["aborted"] = event["args"]["cause"]
                continue
            if event["ph"] == "M" and event["name"] == "thread_name":
                names[event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X" and event["dur"] > 0 and event.get("cat") not in _NO_TASKS:
                if aborted := event.get("args", {}).get("aborted"):
                    event["name"] = event["name"].removesuffix(f" (aborted: {aborted})")
                slices.append(event)
                if (task := event.get("args", {}).get("id")) is not None:
                    attempts[task] = event
                if len(slices) == _MOST_READ:
                    break
    return slices, names


def _kind(event: dict[str, Any]) -> str:
    """The cycle class that a slice is drawn as; of a thread, running or what it waits for."""
    if _is_of_thread(event):
        return "running" if "core" in event["args"] else str(event["name"].split()[0])
    if event.get("cat") == "internal":
        return "spill"
    arguments = event.get("args", {})
    if "aborted" in arguments:
        return "aborted"
    return "committed" if arguments.get("speculative") else "nonspeculative"
