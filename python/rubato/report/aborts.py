"""Why tasks abort (C25): lost cycles by cause for every point, and of one run the functions and lines that conflict."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

from rubato.names import plural, short_name
from rubato.report.markup import CAUSE_NAMES, card, stacked, switch, table
from rubato.report.study import Point, Workload
from rubato.results.run import Run

#: The share of all lost cycles from which a line is worth a look.
_STANDS_OUT = 0.01
_ROWS = 12  # of the tables in a workload's card; the run itself shows all that stats.json has


def causes(run: Run) -> dict[str, tuple[float, float]]:
    """Aborted attempts and the core cycles they had cost, by cause; only causes that occurred."""
    found = {}
    for path, aborts in run.stats.matching("chip.aborts.*", optional=True).items():
        if aborts:
            found[path.rpartition(".")[2]] = (aborts, run.stats.total(f"{path}.cycles", optional=True))
    return found


def has_aborts(w: Workload) -> bool:
    return any(r.summary.tasks.aborted for s in w.series for p in s.points for r in p.runs)


def section(i: int, w: Workload) -> str:
    """The card of a workload in which something was aborted."""
    text = (
        "Cycles that cores spent on attempts which were aborted, by the cause of the abort. A task may be aborted "
        "several times; the figure behind a bar is how many attempts were aborted for every task that committed. "
        "<b>Conflict</b>: an earlier task touched what it had touched; <b>parent aborted</b> and <b>used aborted "
        "data</b>: it fell with another; <b>locale</b>, <b>core</b>, <b>queue</b>: an earlier task needed its place."
    )
    body = switch("aborts", "relative", i, "share", "lost core cycles")
    body += f'<div class="legend" id="aborts-legend-{i}"></div><div class="chart" id="aborts-chart-{i}"></div>'
    if (worst := _worst(w)) is not None:
        body += _tables(worst)
    return card(f"aborts-{i}", "Why tasks abort", text, body)


def _worst(w: Workload) -> Run | None:
    """Of the largest chip whose runs name their conflicts, the first seed of the mode that lost most."""
    found = [r for s in w.series for p in s.points for r in p.runs if r.conflicts["functions"]]
    if not found:
        return None
    cores = max(r.summary.cores for r in found)
    largest = [r for r in found if r.summary.cores == cores]
    seed = min(r.summary.seed for r in largest)
    return max((r for r in largest if r.summary.seed == seed), key=lambda r: r.summary.cycle_breakdown.aborted)


def _tables(run: Run) -> str:
    found, s = run.conflicts, run.summary
    lost = sum(row["lost_cycles"] for row in found["functions"]) or 1
    body = (
        f'<h3>Which functions, which data</h3><p class="explain">Of one run: {plural(s.cores, "core")}, {s.mode}, '
        f"seed {s.seed}. Other runs are below, inside one run.</p>"
    )

    def cost(row: dict[str, Any]) -> list[str]:
        return [f"{row['aborts']:,}", f"{row['lost_cycles']:,}", f"{row['lost_cycles'] / lost:.1%}"]

    head = ["aborted", "by", "cause", ">aborts", ">lost cycles", ">share"]
    rows = [[r["victim"], r["by"], r["cause"], *cost(r)] for r in map(_in_words, found["functions"][:_ROWS])]
    body += table(head, rows)
    if found["lines"]:
        shown = min(len(found["lines"]), _ROWS)
        body += (
            f'<p class="explain">The {plural(shown, "line")} of memory that cost most, of {found["line_count"]:,} in '
            "which attempts met. Memory from the heap has an address and no name; the functions tell what it is.</p>"
        )
        rows = list(map(_in_words, found["lines"][:_ROWS]))
        if rows[0]["lost_cycles"] < _STANDS_OUT * lost:
            body += '<p class="explain">None stands out: the aborts are spread over all these lines.</p>'
        named = ["symbol"] if any(r["symbol"] for r in rows) else []  # memory from the heap has none
        head = ["line", *named, "aborted", "by", ">aborts", ">lost cycles", ">share"]
        cells = [[*(r[k] for k in ("line", *named, "victim", "by")), *cost(r)] for r in rows]
        body += table(head, cells, wrap={1} if named else set())
    return body


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    """A row of stats.json as a person reads it: short names, and no symbol where there is only the address."""
    names = {"victim": short_name(row["victim"]), "by": short_name(row["by"])}
    if "cause" in row:
        names["cause"] = CAUSE_NAMES.get(row["cause"], row["cause"])
    if "symbol" in row:
        names["symbol"] = "" if row["symbol"] == row["line"] else row["symbol"]
    return row | names


def data(w: Workload) -> dict[str, Any]:
    """Stacked bars: one row a point at which something was aborted."""
    groups = []
    for s in w.series:
        rows = [row for p in s.points if (row := _row(p)) is not None]
        if rows:
            groups.append({"name": s.name, "rows": rows})
    most = max((r["total"] for g in groups for r in g["rows"]), default=1.0)
    for group in groups:
        for row in group["rows"]:
            row["total"] /= most
    seen = {key for g in groups for r in g["rows"] for key in r["fractions"]}
    known = [c for c in CAUSE_NAMES if c in seen] + sorted(seen - CAUSE_NAMES.keys())
    return {
        "label": f"cycles lost to aborts of {w.name} by cause",
        "unit": "cycles",
        "parts": stacked({c: CAUSE_NAMES.get(c, c) for c in known}, "var(--a-{}, var(--s5))"),
        "groups": groups,
    }


def _row(p: Point) -> dict[str, Any] | None:
    lost: dict[str, float] = {}
    for run in p.runs:
        for cause, (_, cycles) in causes(run).items():
            lost[cause] = lost.get(cause, 0.0) + cycles / len(p.runs)
    total = sum(lost.values())
    if not total:
        return None
    committed = p.mean_of("tasks", "committed")
    aborted = p.mean_of("tasks", "aborted")
    return {
        "label": str(p.cores),
        "fractions": {c: v / total for c, v in lost.items()},
        "amounts": lost,
        "total": total,
        "note": f"{aborted / committed:.2g} a task" if committed else "",
    }


def of_run(run: Run) -> dict[str, Any] | None:
    """What "inside one run" shows; nothing if nothing was aborted."""
    found = run.conflicts
    if not found["functions"]:
        return None
    return {
        "lines": [_in_words(r) for r in found["lines"]],
        "line_count": found["line_count"],
        "functions": [_in_words(r) for r in found["functions"]],
    }
