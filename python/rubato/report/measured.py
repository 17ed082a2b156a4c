"""What was measured on this machine (`bench/native`): the table, and a chart a figure, without scripts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html

from rubato.measurements import Group, Results, Verdict
from rubato.report.markup import Section, badge, card, table


def sections(all_results: list[Results]) -> list[Section]:
    found: list[Section] = []
    for i, results in enumerate(all_results):
        found.append((f"measured-{i}", results.title, _table(f"measured-{i}", results)))
        found += [
            (f"measured-{i}-{k}", group.title, _chart(f"measured-{i}-{k}", group))
            for k, group in enumerate(results.groups)
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
    return f"{value:.3g}{'×' if unit == '×' else f' {unit}' if unit else ''}"


def _interval(r: Verdict) -> str:
    return "–" if r.low is None or r.high is None else f"{r.low:.3g} to {r.high:.3g}"


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
    body = f'<div class="scroll"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    return card(identifier, group.title, "", body)
