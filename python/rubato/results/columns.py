"""Columns of tables with a row a run: values of configuration keys with their types, and metrics."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rubato import toml
from rubato.errors import UsageError
from rubato.results import allocator, metrics


def settings(runs: Sequence[metrics.Measured], keys: Iterable[str]) -> list[dict[str, Any]]:
    """The value of each key as the simulator read it, for each run: 64KiB is 65536; of `alloc` its name. Whole numbers
    beside others are all float; a key with numbers and words has words."""
    rows: list[dict[str, Any]] = [{} for _ in runs]
    for key in keys:
        values = [allocator.value(run, key) for run in runs]
        kinds = {type(v) for v in values if v is not None}
        is_mixed = len(kinds) > 1
        for row, value in zip(rows, values, strict=True):
            if value is None or not is_mixed:
                row[key] = value
            else:
                row[key] = float(value) if kinds == {int, float} else toml.text(value)
    return rows


def measured(runs: Sequence[metrics.Measured], own: metrics.Definitions | None = None) -> list[dict[str, Any]]:
    """Each run's metrics: the built-in ones that some run has, then `own`. @raises UsageError for a metric that
    names what no run has, or that has the name of another column."""
    rows: list[dict[str, Any]] = [{} for _ in runs]
    for metric in metrics.BUILT_IN:
        values = [metrics.value(metric, run) for run in runs]
        if any(v is not None for v in values):
            for row, value in zip(rows, values, strict=True):
                row[metric.name] = value
    for metric in metrics.own(own):
        for row, value in zip(rows, metrics.values(metric, runs), strict=True):
            row[metric.name] = value
    return rows


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    """One row of several parts. @raises UsageError if two have a column of one name."""
    row: dict[str, Any] = {}
    for part in parts:
        if both := row.keys() & part.keys():
            raise UsageError(f"there already is a column {min(both)}; give the metric another name.")
        row |= part
    return row
