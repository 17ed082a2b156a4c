"""What the charts of a report are drawn from: the data that its page has inside, for assets/charts.js."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

from rubato.names import plural
from rubato.report import (
    aborts,
    comparison,
    energy,
    inside,
    parameters,
    programs,
    threads,
)
from rubato.report.markup import (
    PART_NAMES,
    TRAFFIC_NAMES,
    class_names,
    number,
    stacked,
)
from rubato.report.study import Point, Study, Workload
from rubato.results.run import Run
from rubato.results.summary import SHOWN_CLASSES, TRAFFIC_CLASSES


def chart_data(
    study: Study, shown: list[Run], varied: list[parameters.Parameters], by_region: list[parameters.Parameters],
    beside: dict[str, programs.Programs],
) -> dict[str, Any]:  # fmt: skip
    return {
        "modes": comparison.data(study),
        "panels": {
            **{name: data for name, p in beside.items() if (data := p.data())},
            **{f"parameters-{i}": v.data() for i, v in enumerate(varied) if v.any},
            **{f"by-region-{i}": v.data() for i, v in enumerate(by_region) if v.any},
        },
        "bars": {name: p.bars.data() for name, p in beside.items()},
        "threads": threads.data(shown),
        "workloads": [_workload_data(w) for w in study.workloads],
        "inside": [
            {"label": run_label(r), **inside.everything(r), "conflicts": aborts.of_run(r)} for r in shown
        ],
        "class_names": class_names(study.runs),
        "part_names": PART_NAMES,
    }


def shown_inside(study: Study) -> list[Run]:
    """Of the first seed, the largest first: simulated runs, and native ones that were traced."""
    runs = [r for r in study.runs if r.summary.engine == "chip" or r.trace is not None]
    first = min((r.summary.seed for r in runs), default=0)
    largest_first = sorted(runs, key=lambda r: (r.summary.engine != "chip", -r.summary.cores))
    ranks: dict[tuple[str, str], int] = {}  # programs take turns, so that each has its place
    ranked = []
    for run in (r for r in largest_first if r.summary.seed == first):
        program = run.summary.name, " ".join(run.arguments)
        ranks[program] = ranks.get(program, 0) + 1
        ranked.append((ranks[program], run))
    return [run for _, run in sorted(ranked, key=lambda r: r[0])][:24]


def run_label(run: Any) -> str:
    s = run.summary
    words = [s.name, plural(s.cores, "core"), s.mode, f"seed {s.seed}"]
    return f"{', '.join(filter(None, words))} ({run.directory.name})"


def _workload_data(w: Workload) -> dict[str, Any]:
    name, reference = w.reference
    base = reference.time.mean
    speedup = {
        "label": f"speed-up of {w.name} over the number of cores",
        "reference_cores": reference.cores,
        "series": [{"name": s.name, "points": [_speedup_point(p, reference) for p in s.points]} for s in w.tasks],
        "serial": None,
    }
    if w.serial is not None:  # the line of the serial code, and the curves over it
        speedup["line"] = w.serial.speedup_over(reference).mean
        curves = [{"name": s.name, "points": [_speedup_point(p, w.serial) for p in s.points]} for s in w.tasks]
        speedup["serial"] = {**speedup, "series": curves, "line": 1.0, "ideal": reference.speedup_over(w.serial).mean}
    if w.is_native:
        return {"speedup": speedup, "cycles": None, "traffic": None, "energy": None, "parts": None, "aborts": None}
    cycles = [{"name": s.name, "rows": [_cycle_row(p, base * reference.cores) for p in s.points]} for s in w.series]
    most = max(
        (sum(p.mean_of("network_bytes", c) for c in TRAFFIC_CLASSES) for s in w.series for p in s.points),
        default=0,
    )
    traffic = [{"name": s.name, "rows": [r for p in s.points if (r := _traffic_row(p, most))]} for s in w.series]
    return {
        "speedup": speedup,
        "cycles": {
            "label": f"core cycles of {w.name} by class",
            "unit": "cycles",
            "parts": stacked(class_names(w.runs), "var(--{})"),
            "groups": cycles,
        },
        "traffic": {
            "label": f"network bytes of {w.name} by purpose",
            "unit": "bytes",
            "parts": stacked({c: TRAFFIC_NAMES[c] for c in TRAFFIC_CLASSES}, "var(--t-{})"),
            "groups": [g for g in traffic if g["rows"]],
        },
        "energy": energy.data(w) if energy.has_energy(w) else None,
        "parts": _parts_data(w, base * reference.cores),
        "aborts": aborts.data(w) if aborts.has_aborts(w) else None,
    }


def _speedup_point(p: Point, reference: Point) -> dict[str, Any]:
    i = p.speedup_over(reference)
    return {"x": p.cores, "y": i.mean, "low": i.low, "high": i.high, "n": i.samples, "steady": p.time.is_steady}


def _cycle_row(p: Any, reference: float) -> dict[str, Any]:
    total = p.time.mean * p.cores
    fractions = {c: p.mean_share(c) for c in SHOWN_CLASSES}
    return {
        "label": str(p.cores),
        "fractions": fractions,
        "amounts": {c: f * total for c, f in fractions.items()},
        "total": total / reference,
        "note": f"{total / reference:.2f}×",
    }


def _traffic_row(p: Any, most: float) -> dict[str, Any] | None:
    amounts = {c: p.mean_of("network_bytes", c) for c in TRAFFIC_CLASSES}
    total = sum(amounts.values())
    if total == 0:
        return None
    return {
        "label": str(p.cores),
        "fractions": {c: a / total for c, a in amounts.items()},
        "amounts": amounts,
        "total": total / most,
        "note": number(total) + "B",
    }


def _parts_data(w: Workload, reference: float) -> dict[str, Any]:
    """Groups by class: {"nonspeculative": [{name, rows}, ...], ..., "busy": [...]}, with the means over seeds."""
    by_class: dict[str, list[dict[str, Any]]] = {}
    for s in w.series:
        rows: dict[str, list[dict[str, Any]]] = {}
        for p in s.points:
            tables = [inside.cycle_parts(r) for r in p.runs]
            sums: dict[str, dict[str, float]] = {"busy": dict.fromkeys(inside.PARTS, 0.0)}
            for t in tables:
                for name, parts in t.items():
                    if name in ("idle", "stall"):
                        continue
                    into = sums.setdefault(name, dict.fromkeys(inside.PARTS, 0.0))
                    for part, cycles in parts.items():
                        into[part] += cycles / len(tables)
                        sums["busy"][part] += cycles / len(tables)
            for name, parts in sums.items():
                total = sum(parts.values())
                if total:
                    rows.setdefault(name, []).append(
                        {
                            "label": str(p.cores), "fractions": {k: v / total for k, v in parts.items()},
                            "amounts": parts, "total": total / reference, "note": number(total),
                        }
                    )  # fmt: skip
        for name, found in rows.items():
            by_class.setdefault(name, []).append({"name": s.name, "rows": found})
    return {
        "label": f"busy cycles of {w.name} by part of the machine",
        "unit": "cycles",
        "parts": stacked({p: PART_NAMES[p] for p in inside.PARTS}, "var(--{})"),
        "classes": by_class,
    }
