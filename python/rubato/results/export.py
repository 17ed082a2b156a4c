"""Results as tables for other tools: a row a run, a region or a statistic; as CSV, Parquet, or pandas data frames."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubato.errors import UsageError
from rubato.files import write_whole
from rubato.results import allocator, columns
from rubato.results.metrics import Definitions
from rubato.results.regions import IN_REGIONS, required
from rubato.results.run import Run
from rubato.results.summary import Summary
from rubato.toml import flatten

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Keys that have columns of their own.
_IN_SUMMARY = {"chip.cores", "chip.seed", "task.mayspec"}

FORMATS = (".csv", ".parquet")


def runs(found: Sequence[Run], metrics: Definitions | None = None) -> pl.DataFrame:
    """A row a run: where it is, its name in a sweep, its program with arguments, the configuration keys that differ
    between the runs, the numbers of its summary with dotted names, and its metrics: the built-in ones and `metrics`.

    @raises UsageError for a metric that names what no run has."""
    settings, numbers = columns.settings(found, _swept(found)), columns.measured(found, metrics)
    return _frame(
        columns.joined(_names(run), values, _numbers(run.summary), measured)
        for run, values, measured in zip(found, settings, numbers, strict=True)
    )


def regions(found: Sequence[Run], metrics: Definitions | None = None) -> pl.DataFrame:
    """A row a region that a run's program marked: the run as runs() names it, the region's name and how many times it
    began, then its numbers and metrics, those of the region alone.

    @raises UsageError if there is none, and for a metric that names what no region has."""
    marked = required(found)
    settings, numbers = columns.settings(marked, _swept(found)), columns.measured(marked, metrics)
    rows = []
    for of, values, measured in zip(marked, settings, numbers, strict=True):
        region = {"region": of.region.name, "times": of.region.times}
        told = {k: v for k, v in _numbers(of.summary).items() if k.partition(".")[0] in IN_REGIONS}
        rows.append(columns.joined(_names(of.run) | region, values, told, measured))
    return _frame(rows)


def _swept(found: Sequence[Run]) -> list[str]:
    """The configuration keys that differ between the runs, and `alloc` if it does."""
    configurations = [r.configuration for r in found]
    keys = [
        k
        for k in dict.fromkeys(k for c in configurations for k in c if k not in _IN_SUMMARY)
        if len({repr(c.get(k)) for c in configurations}) > 1
    ]
    return [allocator.ALLOC, *keys] if allocator.varies(found) else keys


def _names(run: Run) -> dict[str, Any]:
    named = {"directory": str(run.directory), "name": run.directory.name, "program": allocator.program(run)}
    return named | {"arguments": " ".join(run.arguments)}


def _numbers(summary: Summary) -> dict[str, Any]:
    numbers = flatten(summary.model_dump(exclude={"output", "program", "programs"}))
    for i, part in enumerate(summary.programs, 1):
        numbers |= flatten({"programs": {str(i): part.model_dump()}})
    return {k: v for k, v in numbers.items() if not isinstance(v, list)}


def _frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)


def statistics(found: Sequence[Run], root: str = "roi") -> pl.DataFrame:
    """A row a statistic of each run: the run's directory, and what Run.frame() has."""
    import polars as pl

    return pl.concat(r.frame(root).select(pl.lit(str(r.directory)).alias("directory"), pl.all()) for r in found)


def csv(frame: pl.DataFrame) -> str:
    """A list, such as the buckets of a histogram, is its numbers with spaces between."""
    import polars as pl

    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join(" ")).write_csv()


def write(frame: pl.DataFrame, file: str | Path) -> None:
    """Whole or not at all, as CSV or Parquet by the file's ending. @raises UsageError for another ending."""
    file = Path(file)
    if file.suffix not in FORMATS:
        raise UsageError(f"a table is written as .csv or .parquet, not {file.name}.")
    if file.suffix == ".csv":
        content = csv(frame).encode()
    else:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        content = buffer.getvalue()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, content)


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """@raises UsageError if pandas or pyarrow is not installed."""
    try:
        import pandas  # noqa: F401 - polars would say so in its own words, or not at all
        import pyarrow  # noqa: F401
    except ImportError as e:
        raise UsageError(
            f"a pandas data frame needs pandas and pyarrow ({e.name or 'one of them'} is missing): "
            "pip install 'rubato[pandas]'."
        ) from None
    return frame.to_pandas()
