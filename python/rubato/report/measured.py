"""What was measured on this machine (`bench/native`): the table, and a chart a figure, without scripts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html

from rubato.report.markup import Section, badge, card, table
from rubato.results.measurements import Breakdown, Group, Results, Verdict

_COLOURS = [*(f"--s{i}" for i in range(8)), "--faint"]


def sections(all_results: list[Results]) -> list[Section]:
    found: list[Section] = []
    for i, results in enumerate(all_results):
        found.append((f"measured-{i}", results.title, _table(f"measured-{i}", results)))
        found += [
            (f"measured-{i}-{k}", group.title, _chart(f"measured-{i}-{k}", group))
            for k, group in enumerate(results.groups)
        ]
        found += [
            (f"measured-{i}-parts-{k}", breakdown.title, _breakdown(f"measured-{i}-parts-{k}", breakdown))
            for k, breakdown in enumerate(results.breakdowns)
        ]
    return found


def _table(identifier: str, results: Results) -> str:
    text = (
        f"Measured on {html.escape(results.machine)}. Configurations took turns; a ratio is the geometric mean of the "
        "ratios within a round, with its 95 % interval (Student's t). A bar is held against the worse end of it."
    )
    if results.quick:
        text += " <b>Small inputs and few rounds: the bars do not apply.</b>"
    head = ["measure", ">value", ">95 % interval", ">rounds", ">bar", ""]
    rows = [[r.title, number(r.mean, r.unit), _interval(r), r.samples, _bar(r), _badge(r)] for r in results.rows]
    return card(identifier, results.title, text, table(head, rows, raw={5}, wrap={0}))


def number(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{digits}{'×' if unit == '×' else f' {unit}' if unit else ''}"


def _interval(r: Verdict) -> str:
    return "–" if r.low is None or r.high is None else f"{number(r.low, '')} to {number(r.high, '')}"


def _bar(r: Verdict) -> str:
    return "" if r.bar is None else f"{'≥' if r.at_least else '≤'} {r.bar:g}"


def _badge(r: Verdict) -> str:
    return "" if r.is_met is None else badge("met" if r.is_met else "missed", r.is_met)


def _chart(identifier: str, group: Group) -> str:
    longest = max((b.high or b.mean for b in group.bars), default=1) or 1
    rows = "".join(
        f"<tr><td>{html.escape(b.title)}</td><td style='width:55%'><div style='height:.9em;background:var(--s0);"
        f"width:{100 * b.mean / longest:.1f}%'></div></td><td class='n'>{number(b.mean, '')}</td>"
        f"<td class='n'>{_interval(b)}</td></tr>"
        for b in group.bars
    )
    unit = html.escape(group.unit)
    head = f"<tr><th></th><th>{unit}</th><th class='n'>mean</th><th class='n'>95 % interval</th></tr>"
    body = f'<div class="scroll" tabindex="0"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    return card(identifier, group.title, "", body)


def _breakdown(identifier: str, breakdown: Breakdown) -> str:
    """Stacked bars on one scale, and their numbers. A part has its colour by its place, also where others are 0."""
    names = list(dict.fromkeys(p.name for s in breakdown.stacks for p in s.parts))
    colours = {name: f"var({_COLOURS[i % len(_COLOURS)]})" for i, name in enumerate(names)}
    values = [{p.name: p.mean for p in s.parts if p.mean > 0} for s in breakdown.stacks]
    shown = [n for n in names if any(n in v for v in values)]
    totals = [sum(v.values()) for v in values]
    longest = max(totals, default=0) or 1
    legend = "".join(f"<span><i style='background:{colours[n]}'></i>{html.escape(n)}</span>" for n in shown)
    bars = []
    for s, v, total in zip(breakdown.stacks, values, totals, strict=True):
        bar = "".join(
            f"<div title='{html.escape(f'{name}: {number(value, breakdown.unit)}', quote=True)}' "
            f"style='background:{colours[name]};width:{100 * value / longest:.2f}%'></div>"
            for name, value in v.items()
        )
        bars.append(
            f"<tr><td>{html.escape(s.title)}</td><td style='width:70%'><div style='display:flex;height:1.1em'>"
            f"{bar}</div></td><td class='n'>{number(total, '')}</td></tr>"
        )
    head = f"<tr><th></th><th>{html.escape(breakdown.unit)}</th><th class='n'>all</th></tr>"
    chart = f'<div class="scroll" tabindex="0"><table><thead>{head}</thead><tbody>{"".join(bars)}</tbody></table></div>'
    rows = [[n, *(number(v[n], "") if n in v else "" for v in values)] for n in shown]
    numbers = table(["", *(f">{s.name}" for s in breakdown.stacks)], rows)
    return card(identifier, breakdown.title, "", f'<div class="legend">{legend}</div>{chart}{numbers}')
