"""Reading run directories (C24): `load(directory)` gives a `Run` with its summary, statistics and time series."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubato import toml
from rubato.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rubato.results.contention import Contended
    from rubato.results.regions import Region
    from rubato.results.summary import Summary
    from rubato.results.task_limits import Limit
    from rubato.results.threads import Hot, Thread, Wait
    from rubato.sweeping.sweep import Sweep

_SET_ASIDE = re.compile(r"\.before-\d+$")
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


def pattern_of(path: str) -> str:
    """`tile.12.l2.hits` becomes `tile.*.l2.hits`: the name under which unit and description are declared."""
    return _INDEX.sub("*", path)


def indices_of(path: str) -> tuple[int, ...]:
    """The numbers in a path: (12,) for `tile.12.l2.hits`."""
    return tuple(int(i) for i in _INDEX.findall(path))


@dataclass(frozen=True)
class Histogram:
    """Counts in buckets of powers of two: bucket 0 holds value 0, bucket i values in [2^(i-1), 2^i)."""

    buckets: tuple[int, ...]
    samples: int
    sum: int

    @property
    def mean(self) -> float:
        return self.sum / self.samples if self.samples else 0.0


class Stats(Mapping[str, Any]):
    """Statistics by path, those of the region of interest; `stats.whole_run` has the whole run's.

    >>> run.stats["tile.0.l2.hits"]; run.stats.total("tile.*.l2.hits"); run.stats.describe("tile.0.l2.hits")
    """

    def __init__(self, document: Mapping[str, Any], root: str = "roi"):
        self._document = document
        self._values: dict[str, Any] = {
            path: Histogram(tuple(v["buckets"]), v["samples"], v["sum"]) if isinstance(v, dict) else v
            for path, v in document.get(root, {}).items()
        }

    @cached_property
    def whole_run(self) -> Stats:
        return Stats(self._document, "run")

    def __repr__(self) -> str:
        return f"<Stats: {len(self)} statistics>"

    def __getitem__(self, path: str) -> float | int | Histogram:
        try:
            return self._values[path]
        except KeyError:
            raise self._unknown(path) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def matching(self, glob: str, *, optional: bool = False) -> dict[str, Any]:
        """All statistics whose path matches, `*` standing for anything between two dots.

        @raises KeyError if this run has none such, unless they are `optional`: not every chip has every statistic.
        """
        pattern = re.compile(r"[^.]*".join(map(re.escape, glob.split("*"))))
        found = {p: v for p, v in self._values.items() if pattern.fullmatch(p)}
        # A ratio without a value (0/0) is declared, and missing from its root.
        if not found and not optional and not any(pattern.fullmatch(kind) for kind in self._kinds):
            raise self._unknown(glob)
        return found

    def total(self, glob: str, *, optional: bool = False) -> float:
        """The sum of all matching numbers. @raises KeyError as matching()."""
        return sum(v for v in self.matching(glob, optional=optional).values() if not isinstance(v, Histogram))

    def histogram(self, glob: str, *, optional: bool = False) -> Histogram | None:
        """All matching histograms added up, or nothing if none matches. @raises KeyError as matching()."""
        found = [h for h in self.matching(glob, optional=optional).values() if isinstance(h, Histogram)]
        if not found:
            return None
        length = max(len(h.buckets) for h in found)
        buckets = [0] * length
        for h in found:
            for i, count in enumerate(h.buckets):
                buckets[i] += count
        return Histogram(tuple(buckets), sum(h.samples for h in found), sum(h.sum for h in found))

    def describe(self, path: str) -> dict[str, str]:
        """{"unit", "description"} of a path. @raises KeyError if there is no such statistic."""
        if path not in self._values and pattern_of(path) not in self._kinds:
            raise self._unknown(path)
        return self._kinds.get(pattern_of(path), {"unit": "", "description": ""})

    @property
    def _kinds(self) -> Mapping[str, dict[str, str]]:
        """The statistics that the run declares, by pattern."""
        return self._document.get("stats", {})

    def _unknown(self, path: str) -> KeyError:
        from rubato.suggest import did_you_mean

        known = dict.fromkeys(map(pattern_of, self._values)) if "*" in path else self._values
        return KeyError(f"there is no statistic {path}.{did_you_mean(path, known)}")


class Run:
    """One run directory. Everything is read when first asked for."""

    def __init__(self, directory: Path):
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r})"

    @property
    def complete(self) -> bool:
        """False for a run that was interrupted or is still going."""
        return not (self.directory / "incomplete").exists() and (self.directory / "summary.json").exists()

    @cached_property
    def summary(self) -> Summary:
        from pydantic import ValidationError

        from rubato.results.summary import Summary

        file = self.directory / "summary.json"
        try:
            return Summary(**json_object(file))
        except ValidationError as e:
            first = e.errors()[0]
            raise UsageError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None

    @cached_property
    def stats_document(self) -> dict[str, Any]:
        """stats.json as it is."""
        return json_object(self.directory / "stats.json")

    @cached_property
    def stats(self) -> Stats:
        file = self.directory / "stats.json"
        try:
            return Stats(self.stats_document)
        except (AttributeError, KeyError, TypeError):
            raise UsageError(f"{file} cannot be read: it does not hold the statistics of a run.") from None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """run.toml: program, arguments, resolved configuration, seed, version: what is needed to repeat the run."""
        return toml.load(self.directory / "run.toml")

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """The resolved configuration, by dotted key."""
        return toml.flatten(self.manifest.get("config", {}))

    @property
    def arguments(self) -> list[str]:
        return [str(a) for a in self.manifest.get("arguments", [])]

    @cached_property
    def functions(self) -> list[dict[str, Any]]:
        """Per task function of the region of interest: {"function", "address", "cycles": {class: {part: cycles}}}."""
        return self.stats_document.get("functions", {}).get("roi", [])

    @cached_property
    def conflicts(self) -> dict[str, Any]:
        """Why tasks aborted (C25): {"lines": the 50 that cost most, "line_count": of all lines, "functions": pairs
        of functions by cause}; empty for runs of a simulator that did not speculate."""
        none = {"lines": [], "line_count": 0, "functions": []}
        return self.stats_document.get("conflicts", none)

    @cached_property
    def regions(self) -> list[Region]:
        """The regions that the program marked, each with its statistics; rubato.results.regions.Region."""
        from rubato.results.regions import regions

        return regions(self)

    @cached_property
    def threads(self) -> list[Thread]:
        """Where each thread's cycles went; rubato.results.threads.Thread. Of runs in detail on the chip."""
        from rubato.results import threads

        return threads.threads(self)

    @cached_property
    def waits(self) -> list[Wait]:
        """What threads waited for, most cycles first; rubato.results.threads.Wait."""
        from rubato.results import threads

        return threads.waits(self)

    @cached_property
    def profile(self) -> list[Hot]:
        """Where cores were, by samples, most often first; rubato.results.threads.Hot."""
        from rubato.results import threads

        return threads.profile(self)

    @cached_property
    def contention(self) -> list[Contended]:
        """Lines that cores took from one another, those that cost most first; with run.contention."""
        from rubato.results import contention

        return contention.lines(self)

    @cached_property
    def limits(self) -> list[Limit]:
        """Why cores had no task, the largest reason first; rubato.results.task_limits.Limit."""
        from rubato.results import task_limits

        return task_limits.limits(self)

    @cached_property
    def conclusion(self) -> str:
        """One sentence that says why the run took as long as it did."""
        from rubato.results.conclusion import conclusion

        return conclusion(self)

    @property
    def output(self) -> str:
        """What the program printed."""
        file = self.directory / "output.txt"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    @property
    def trace(self) -> Path | None:
        """The Perfetto trace, if one was asked for."""
        files = (self.directory / name for name in ("trace.json.gz", "trace.json"))  # of the chip, of the native engine
        return next((f for f in files if f.exists()), None)

    def frame(self, root: str = "roi") -> pl.DataFrame:
        """All statistics as rows: path, pattern, index, value, unit, description; histograms give their mean,
        with samples and buckets beside it. `root` is "roi" or "run"."""
        import polars as pl

        if root not in ("roi", "run"):
            raise UsageError(f'root is "roi" or "run", not "{root}".')
        stats = self.stats if root == "roi" else self.stats.whole_run
        rows = []
        for path, value in stats.items():
            is_histogram = isinstance(value, Histogram)
            index = indices_of(path)
            rows.append(
                {
                    "path": path,
                    "pattern": pattern_of(path),
                    "index": index[0] if index else None,
                    "value": float(value.mean if is_histogram else value),
                    **stats.describe(path),
                    "samples": value.samples if is_histogram else None,
                    "buckets": list(value.buckets) if is_histogram else None,
                }
            )
        schema = {
            "path": pl.String, "pattern": pl.String, "index": pl.Int64, "value": pl.Float64, "unit": pl.String,
            "description": pl.String, "samples": pl.Int64, "buckets": pl.List(pl.Int64),
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema)

    def to_pandas(self, root: str = "roi") -> pd.DataFrame:
        """frame() for pandas. @raises UsageError if pandas or pyarrow is not installed."""
        from rubato.results import export

        return export.to_pandas(self.frame(root))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from rubato.report import notebook

        return notebook.of_run(self)

    def series(self, glob: str = "*") -> pl.DataFrame:
        """Time series: a column `cycle` and one a statistic. @raises UsageError if the run has none, KeyError if none
        matches."""
        import polars as pl

        file = self.directory / "series.json"
        if not file.exists():
            raise UsageError(f"{self.directory} has no time series; run with --interval CYCLES, or interval=CYCLES.")
        document = json_object(file)
        columns = {p: v for p, v in document["series"].items() if fnmatch.fnmatch(p, glob)}
        if not columns and document["series"]:
            from rubato.suggest import did_you_mean

            known = dict.fromkeys(map(pattern_of, document["series"])) if "*" in glob else document["series"]
            raise KeyError(f"there is no time series {glob}.{did_you_mean(glob, known)}")
        return pl.DataFrame({"cycle": document["cycles"], **columns})


def load(directory: str | Path) -> Run | Sweep:
    """The run or the sweep in `directory`. @raises UsageError if there is neither."""
    if (Path(directory) / "sweep.json").exists():
        from rubato.sweeping.sweep import Sweep

        return Sweep(directory)
    return load_run(directory)


def load_run(directory: str | Path) -> Run:
    """The run in `directory`. @raises UsageError if there is none."""
    directory = Path(directory)
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory.")
    if not is_run(directory):
        raise UsageError(f"{directory} is not a run directory: it has neither summary.json nor run.toml.")
    return Run(directory)


def is_run(directory: Path) -> bool:
    return any((directory / name).exists() for name in ("summary.json", "run.toml", "incomplete"))


def is_set_aside(directory: Path, below: Path) -> bool:
    """Whether it belongs to a sweep that another one has replaced (sweeping.py), in a directory below `below`."""
    return any(_SET_ASIDE.search(part) for part in directory.relative_to(below).parts)


def find_runs(directory: str | Path) -> list[Run]:
    """The run in `directory`, or all runs below it but those set aside, in the order of their names."""
    directory = Path(directory)
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory.")
    if is_run(directory):
        return [Run(directory)]
    below = {f.parent for name in ("summary.json", "run.toml", "incomplete") for f in directory.rglob(name)}
    below = {d for d in below if not is_set_aside(d, directory)}
    if not below:
        raise UsageError(f"there is no run in {directory}.")
    return [Run(d) for d in sorted(below, key=_natural)]


def _natural(path: Path) -> list[tuple[int, int | str]]:
    return [(0, int(p)) if p.isdigit() else (1, p) for p in re.split(r"(\d+)", str(path)) if p]


def json_object(file: Path) -> dict[str, Any]:
    """@raises UsageError if the file holds anything else."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{file} does not exist: the run did not finish.") from None
    except OSError as e:
        raise UsageError(f"{file} cannot be read: {e.strerror or e}.") from None
    except ValueError as e:
        raise UsageError(f"{file} cannot be read: {e}.") from None
    if not isinstance(document, dict):
        raise UsageError(f"{file} cannot be read: it is not an object.")
    return document
