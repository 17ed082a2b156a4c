"""How runs and sweeps show themselves in a notebook: small tables of HTML."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from rubato.errors import RubatoError
from rubato.report.markup import class_names, number, seconds, table
from rubato.results.intervals import interval, relative_spread
from rubato.results.run import Run

if TYPE_CHECKING:
    from rubato.sweeping.sweep import Sweep

#: Rows of a sweep that a notebook shows; `frame()` has all.
_MOST = 60


def of_run(run: Run) -> str:
    """What ran, what it came to and why it took as long; of a run that cannot be read, the reason."""
    where = f"<code>{html.escape(str(run.directory))}</code>"
    try:
        s = run.summary
        told = html.escape(run.conclusion)
    except RubatoError as e:
        return f"<p><b>Run</b> {where}: {html.escape(str(e))}</p>"
    rows: list[list[Any]] = [["check", s.check]]
    if s.cycles is not None:
        rows.append(["cycles", f"{s.cycles:,} ({seconds(s.seconds)} simulated)"])
        rows.append(["instructions", f"{s.instructions or 0:,}"])
    else:
        rows.append(["time", seconds(s.seconds)])
    if s.tasks.created:
        rows.append(["tasks", f"{s.tasks.committed:,} committed, {s.tasks.aborted:,} aborted"])
    if s.cycle_breakdown is not None:
        names = class_names([run])
        shares = s.cycle_shares
        rows.append(["core cycles", ", ".join(f"{names[c]} {v:.1%}" for c, v in shares.items() if v >= 0.0005)])
    if s.network_bytes is not None and (total := sum(s.network_bytes.model_dump().values())):
        rows.append(["network", f"{number(total)}B"])
    words = [s.name, f"{s.cores} cores", s.mode, f"seed {s.seed}", "" if run.complete else "incomplete"]
    head = f"<p><b>{html.escape(', '.join(w for w in words if w))}</b> {where}</p>"
    return head + table(["", ""], rows, wrap={1}) + (f"<p>{told}</p>" if told else "")


def of_sweep(sweep: Sweep) -> str:
    """A row a point with the mean over its seeds and the interval, and how many failed."""
    points: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    varied = list(sweep.swept)
    for p in sweep.points:
        if p["state"] == "finished":
            spec = p["spec"]
            mode = "serial" if spec.get("serial") else spec["mode"] or "default"
            values = (str((spec["set"] | spec).get(k)) for k in varied)
            key = (spec["program"], str(spec["cores"] or "default"), mode, *values)
            points.setdefault(key, []).append(p)
    is_native = all(p.get("cycles") is None for of in points.values() for p in of)
    rows = []
    for key, of in list(points.items())[:_MOST]:
        i = interval([p["seconds"] if is_native else p["cycles"] for p in of])
        checks = ", ".join(sorted({p["check"] for p in of}))
        rows.append([*key, i.samples, seconds(i.mean) if is_native else f"{i.mean:,.0f}", relative_spread(i), checks])
    head = ["program", ">cores", "mode", *varied, ">seeds", ">time" if is_native else ">cycles", ">± 95 %", "check"]
    text = f"<p><b>Sweep</b> <code>{html.escape(str(sweep.directory))}</code>: {len(sweep.runs)} runs"
    text += f", {len(sweep.failures)} failed" if sweep.failures else ""
    more = f"<p>and {len(points) - _MOST} more points</p>" if len(points) > _MOST else ""
    return f"{text}</p>{table(head, rows)}{more}"
