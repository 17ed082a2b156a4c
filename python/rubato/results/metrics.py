"""Metrics: numbers that are computed from a run's summary and statistics, each defined by one line.

An expression has numbers, + - * / ** and brackets, names, and "paths of statistics" in quotes. A path with * is the sum
of all statistics that match. The built-in metrics are written the same way.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubato.errors import UsageError
from rubato.results.run import Histogram
from rubato.suggest import did_you_mean
from rubato.toml import flatten

if TYPE_CHECKING:
    from rubato.results.regions import RegionOfRun
    from rubato.results.run import Run

    #: What metrics are computed from.
    Measured = Run | RegionOfRun

#: Metrics of a user's own: an expression by name; in Python a function of a run will do, too.
Definitions = Mapping[str, "str | Callable[[Measured], float | None]"]

_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min, "max": max, "abs": abs, "sqrt": math.sqrt, "log2": math.log2,
}  # fmt: skip


class UnknownError(UsageError):
    """A metric names what this run does not have; runs of other protocols or engines may."""


@dataclass(frozen=True)
class Metric:
    """One number of a run; `title` and `unit` are for tables and charts. A share is shown as a percentage."""

    name: str
    definition: str | Callable[[Measured], float | None]
    title: str = ""
    unit: str = ""

    @property
    def heading(self) -> str:
        return self.title or self.name

    def said(self, number: float | None) -> str:
        """The number as tables show it."""
        if number is None:
            return "–"
        if self.unit == "share":
            return f"{number:.1%}"
        return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _cache(name: str, statistics: str) -> list[Metric]:
    hits, misses = f'"{statistics}.hits"', f'"{statistics}.misses"'
    title = name.upper()
    return [
        Metric(f"{name}.miss_rate", f"{misses} / ({hits} + {misses})", f"{title} miss rate", "share"),
        Metric(f"{name}.mpki", f"1000 * {misses} / instructions", f"{title} MPKI"),
    ]


_USEFUL = '"core.*.l1d.prefetch.useful"'
#: Of runs with a hardware prefetcher.
_PREFETCHES = (
    Metric("l1d.prefetch_accuracy", f'{_USEFUL} / "core.*.l1d.prefetch.issued"', "prefetch accuracy", "share"),
    Metric("l1d.prefetch_coverage", f'{_USEFUL} / ({_USEFUL} + "core.*.l1d.prefetch.uncovered")', "prefetch coverage",
           "share"),
)  # fmt: skip

#: Of the simulated chip, in the region of interest.
BUILT_IN = (
    Metric("chip.ipc", "instructions / cycles", "IPC of the chip"),
    *_cache("l1d", "core.*.l1d"),
    *_PREFETCHES,
    *_cache("l2", "tile.*.l2"),
    *_cache("llc", "tile.*.llc"),
    Metric("memory.gb_per_second", '64e-9 * ("mem.*.reads" + "mem.*.writes") / seconds', "memory", "GB/s"),
    Metric("network.gb_per_second", '1e-9 * "net.bytes.*" / seconds', "network", "GB/s"),
)


def own(definitions: Definitions | None) -> list[Metric]:
    """@raises UsageError for an expression that cannot be read."""
    found = []
    for name, definition in (definitions or {}).items():
        if isinstance(definition, str):
            _parsed(name, definition)
        elif not callable(definition):
            raise UsageError(f"metric {name} is an expression, not {definition!r}.")
        found.append(Metric(name, definition))
    return found


def pairs(words: Iterable[str]) -> dict[str, str]:
    """The definitions that a command line has. @raises UsageError if one is malformed."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, expression = (part.strip() for part in word.partition("="))
        if not (name and equals and expression):
            example = "stores='\"core.*.stores\" / cycles'"
            raise UsageError(f"--metric takes NAME=EXPRESSION, such as {example}, not {word}.")
        if name in found:
            raise UsageError(f"--metric {name} is given twice.")
        found[name] = expression
    own(found)
    return found


def value(metric: Metric, run: Measured) -> float | None:
    """None if the run lacks a statistic, or has nothing to divide by."""
    try:
        return _value(metric, run)
    except UnknownError:
        return None


def values(metric: Metric, runs: Sequence[Measured]) -> list[float | None]:
    """@raises UsageError if the metric names what none of the runs has."""
    found, unknown = [], []
    for run in runs:
        try:
            found.append(_value(metric, run))
        except UnknownError as e:
            found.append(None)
            unknown.append(e)
    if unknown and len(unknown) == len(runs):
        raise UsageError(f"metric {metric.name}: {unknown[0]}")
    return found


def _value(metric: Metric, run: Measured) -> float | None:
    definition = metric.definition
    if not isinstance(definition, str):
        result = definition(run)
        return None if result is None else float(result)
    try:
        result = float(_evaluate(_parsed(metric.name, definition), run))
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):  # TypeError: of a number that this run has not
        return None
    return result if math.isfinite(result) else None


@functools.cache
def _parsed(name: str, text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise UsageError(f"metric {name}: {text} cannot be read; names of statistics stand in quotes.") from None
    _check(name, tree)
    return tree


def _check(name: str, node: ast.expr) -> None:
    """@raises UsageError for anything that an expression may not have."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        inner = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS or not node.args:
            raise UsageError(f"metric {name}: there is no function {ast.unparse(node)}; "
                             f"there are {', '.join(_FUNCTIONS)}.")  # fmt: skip
        inner = node.args
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, str) or _dotted(node):
        inner = []
    else:
        raise UsageError(f"metric {name}: an expression has no {ast.unparse(node)}.")
    for each in inner:
        _check(name, each)


def _dotted(node: ast.expr) -> str:
    """`tasks.aborted` of the name that it is, or nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def _evaluate(node: ast.expr, run: Measured) -> float:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_evaluate(node.left, run), _evaluate(node.right, run))
    if isinstance(node, ast.UnaryOp):
        operand = _evaluate(node.operand, run)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.Call):
        return _FUNCTIONS[node.func.id](*(_evaluate(a, run) for a in node.args))  # type: ignore[attr-defined]
    if isinstance(node, ast.Constant):
        return _statistic(node.value, run) if isinstance(node.value, str) else node.value
    return _named(_dotted(node), run)


def _statistic(path: str, run: Measured) -> float:
    try:
        found = run.stats.matching(path)
    except KeyError as e:
        raise UnknownError(str(e.args[0])) from None
    histograms = [v for v in found.values() if isinstance(v, Histogram)]
    if histograms:
        return sum(h.sum for h in histograms) / sum(h.samples for h in histograms)
    return sum(found.values())


def _named(name: str, run: Measured) -> Any:
    """A number of the summary, another built-in metric, a configuration key, or a statistic with a path of words."""
    numbers = _summary(run)
    if name in numbers:
        return numbers[name]
    for metric in BUILT_IN:
        if metric.name == name:
            return _value(metric, run)
    if name in run.configuration:
        return run.configuration[name]
    if name in run.stats:
        return _statistic(name, run)
    known = [*numbers, *(m.name for m in BUILT_IN), *run.configuration, *run.stats]
    raise UnknownError(f"there is no {name}.{did_you_mean(name, known)}")


def _summary(run: Measured) -> dict[str, Any]:
    numbers = flatten(run.summary.model_dump(exclude={"output"}))
    return {k: v for k, v in numbers.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
