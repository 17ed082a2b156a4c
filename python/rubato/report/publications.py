"""A publication's figures beside ours, drawn without scripts: lines, bars and stacks. Hollow marks are published."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

from rubato.names import plural
from rubato.report.markup import Section, badge, card, table
from rubato.results.publication import VERDICTS, Curve, Figure, Mark, Publication, Row

_WIDTH, _HEIGHT = 420, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 8, 40
_COLOURS = 8


def sections(publications: Sequence[Publication]) -> list[Section]:
    found: list[Section] = []
    for i, publication in enumerate(publications):
        found.append((f"publication-{i}", publication.title, _overview(f"publication-{i}", publication)))
        for k, figure in enumerate(publication.figures):
            identifier = f"publication-{i}-{k}"
            found.append((identifier, figure.key, _figure(identifier, figure)))
    return found


def _overview(identifier: str, publication: Publication) -> str:
    """A tile a figure: its verdict, and what is counted of its rows."""
    tiles = "".join(
        f'<a class="tile" href="#{identifier}-{k}"><div class="value">{html.escape(figure.key)}</div>'
        f'<div class="label">{html.escape(figure.title)}</div>{_verdict(figure.verdict)}'
        f'<div class="label">{html.escape(figure.reason or _counts(figure.rows))}</div></a>'
        for k, figure in enumerate(publication.figures)
    )
    said = f"{html.escape(publication.source)}. {plural(len(publication.records), 'point')} recorded. " + ", ".join(
        f"{publication.count(verdict)} {verdict}" for verdict in VERDICTS
    )
    return card(identifier, publication.title, said + ".", f'<div class="tiles">{tiles}</div>')


def _counts(rows: Sequence[Row]) -> str:
    counts = [(verdict, sum(row.verdict == verdict for row in rows)) for verdict in VERDICTS]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)


def _verdict(verdict: str) -> str:
    if verdict in ("not measured", "drawn"):
        return f'<span class="badge">{verdict}</span>'
    return badge(verdict, verdict == "reproduced")


def _figure(identifier: str, figure: Figure) -> str:
    drawing = {"lines": _lines, "bars": _bars, "stacks": _stacks, "table": _marks}.get(figure.kind)
    body = drawing(figure) if drawing and figure.curves else ""
    if figure.reason:
        body += f'<p class="explain">Not measured: {html.escape(figure.reason)}</p>'
    if figure.rows:
        body += _rows(figure.rows)
    said = " ".join(filter(None, (html.escape(figure.sentence), figure.size and f"Inputs: {figure.size}.")))
    return card(identifier, f"{figure.key}: {figure.title}", said, body)


def _rows(rows: Sequence[Row]) -> str:
    head = ["what", "section", ">published", ">ours", ">95 % interval", ">difference", ">bar", "size", "", "why"]
    lines = [
        [r.what, r.section, _published(r), "" if r.ours is None else _with_unit(r.ours, r.unit), _interval(r),
         _difference(r.ours, r.published), _bar(r), r.size, _verdict(r.verdict), r.why]
        for r in rows
    ]  # fmt: skip
    return table(head, lines, raw={8}, wrap={0, 9})


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _with_unit(value: float, unit: str) -> str:
    return f"{number(value)}{'×' if unit == 'x' else f' {unit}' if unit else ''}"


def _published(row: Row) -> str:
    if row.published is None:
        return row.claim
    return f"{row.claim} {_with_unit(row.published, row.unit)}".strip()


def _interval(row: Row) -> str:
    if row.low is None or row.high is None or row.samples < 2:
        return "–"
    return f"{number(row.low)} to {number(row.high)}"


def _bar(row: Row) -> str:
    return ", ".join(f"{sign} {number(end)}" for sign, end in (("≥", row.least), ("≤", row.most)) if end is not None)


def _difference(ours: float | None, published: float | None) -> str:
    return "" if ours is None or not published else f"{100 * (ours / published - 1):+.0f} %"


# ---- drawings ----


def _facets(figure: Figure) -> dict[str, list[Curve]]:
    """Curves named `program, mode` share a drawing a program."""
    found: dict[str, list[Curve]] = {}
    for curve in figure.curves:
        facet, comma, _ = curve.name.partition(", ")
        found.setdefault(facet if comma else "", []).append(curve)
    return found


def _series(name: str) -> str:
    return name.partition(", ")[2] or name


def _colours(figure: Figure) -> dict[str, str]:
    names = dict.fromkeys(_series(curve.name) for curve in figure.curves)
    return {name: f"var(--s{i % _COLOURS})" for i, name in enumerate(names)}


def _legend(colours: dict[str, str], has_published: bool) -> str:
    spans = "".join(f"<span><i style='background:{c}'></i>{html.escape(n)}</span>" for n, c in colours.items())
    hollow = "<span>○ published</span>" if has_published else ""
    return f'<div class="legend">{spans}{hollow}</div>'


def _lines(figure: Figure) -> str:
    colours = _colours(figure)
    drawings = [_line_chart(facet, curves, figure, colours) for facet, curves in _facets(figure).items()]
    has_published = any(curve.is_published for curve in figure.curves)
    return (f'<div style="display:flex;flex-wrap:wrap;gap:12px">{"".join(drawings)}</div>'
            + _legend(colours, has_published))  # fmt: skip


def _line_chart(title: str, curves: Sequence[Curve], figure: Figure, colours: dict[str, str]) -> str:
    marks = [mark for curve in curves for mark in curve.marks if mark.x is not None]
    if not marks:
        return ""
    x = _scale(max(mark.x or 0.0 for mark in marks), _LEFT, _WIDTH - _RIGHT)
    y = _scale(max(mark.high or mark.y for mark in marks), _HEIGHT - _BOTTOM, _TOP)
    parts = [_axes(figure, max(m.x or 0.0 for m in marks), max(m.high or m.y for m in marks), x, y)]
    for curve in curves:
        colour, ours = colours[_series(curve.name)], _ours_at(curves, curve)
        ends = [(x(mark.x), y(mark.y)) for mark in curve.marks if mark.x is not None]
        if not curve.is_published:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in ends)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for mark in curve.marks:
            if mark.x is not None:
                parts.append(_dot(x(mark.x), y, mark, colour, curve, f"{number(mark.x)} {figure.x}", ours.get(mark.x)))
    heading = f"<figcaption>{html.escape(title)}</figcaption>" if title else ""
    return f'<figure style="margin:0">{heading}{_svg(figure.title, "".join(parts))}</figure>'


def _ours_at(curves: Sequence[Curve], published: Curve) -> dict[float | None, float]:
    """Our values at the places of a published curve of the same name."""
    if not published.is_published:
        return {}
    return {m.x: m.y for c in curves if c.name == published.name and not c.is_published for m in c.marks}


def _dot(x: float, y: Callable[[float], float], mark: Mark, colour: str, curve: Curve, place: str,
         ours: float | None = None) -> str:  # fmt: skip
    """A mark with its words as a tooltip; hollow if it is published, else with its interval."""
    at = y(mark.y)
    if curve.is_published:
        said = f"published: {curve.name}, {place}: {number(mark.y)}"
        if ours is not None:
            said += f"; ours {number(ours)} ({_difference(ours, mark.y)})"
        return (f'<circle cx="{x:.1f}" cy="{at:.1f}" r="5" fill="none" stroke="{colour}" stroke-width="2">'
                f"<title>{html.escape(said)}</title></circle>")  # fmt: skip
    said, whisker = f"{curve.name}, {place}: {number(mark.y)}", ""
    if mark.low is not None and mark.high is not None:
        said += f" ({number(mark.low)} to {number(mark.high)})"
        whisker = f'<path d="M{x:.1f} {y(mark.low):.1f}V{y(mark.high):.1f}" stroke="{colour}"/>'
    return (f'{whisker}<circle cx="{x:.1f}" cy="{at:.1f}" r="3.5" fill="{colour}">'
            f"<title>{html.escape(said)}</title></circle>")  # fmt: skip


def _bars(figure: Figure) -> str:
    """Groups of bars, one a label."""
    colours = _colours(figure)
    labels = list(dict.fromkeys(mark.label for curve in figure.curves for mark in curve.marks))
    ours = [curve for curve in figure.curves if not curve.is_published]
    top = max(mark.high or mark.y for curve in figure.curves for mark in curve.marks)
    y = _scale(top, _HEIGHT - _BOTTOM, _TOP)
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    bar = 0.8 * width / max(1, len(ours))
    parts = [_axes(figure, None, top, None, y)]
    for i, label in enumerate(labels):
        left = _LEFT + i * width + 0.1 * width
        parts.append(_text(left + 0.4 * width, _HEIGHT - _BOTTOM + 15, label, "middle"))
        for k, curve in enumerate(ours):
            for mark in (mark for mark in curve.marks if mark.label == label):
                at, colour = left + k * bar, colours[_series(curve.name)]
                parts.append(f'<rect x="{at:.1f}" y="{y(mark.y):.1f}" width="{0.9 * bar:.1f}" '
                             f'height="{y(0) - y(mark.y):.1f}" fill="{colour}" opacity="0.6"/>')  # fmt: skip
                parts.append(_dot(at + 0.45 * bar, y, mark, colour, curve, label))
        for curve in (curve for curve in figure.curves if curve.is_published):
            for mark in (mark for mark in curve.marks if mark.label == label):
                parts.append(_dot(left + 0.4 * width, y, mark, colours[_series(curve.name)], curve, label))
    return _svg(figure.title, "".join(parts)) + _legend(colours, len(ours) < len(figure.curves))


def _stacks(figure: Figure) -> str:
    """A bar a label, made of the curves' values, on one scale."""
    colours = _colours(figure)
    labels = list(dict.fromkeys(mark.label for curve in figure.curves for mark in curve.marks))
    values = {label: {c.name: m.y for c in figure.curves for m in c.marks if m.label == label} for label in labels}
    longest = max((sum(parts.values()) for parts in values.values()), default=0) or 1
    lines = []
    for label, parts in values.items():
        bar = "".join(
            f"<div title='{html.escape(f'{name}: {number(value)}', quote=True)}' "
            f"style='background:{colours[_series(name)]};width:{100 * value / longest:.2f}%'></div>"
            for name, value in parts.items() if value > 0
        )  # fmt: skip
        lines.append(f"<tr><td>{html.escape(label)}</td><td style='width:70%'><div style='display:flex;height:1.1em'>"
                     f"{bar}</div></td><td class='n'>{number(sum(parts.values()))}</td></tr>")  # fmt: skip
    head = f"<tr><th></th><th>{html.escape(figure.y)}</th><th class='n'>all</th></tr>"
    body = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    return f'{_legend(colours, False)}<div class="scroll" tabindex="0">{body}</div>'


def _marks(figure: Figure) -> str:
    """A line a label, and a column of values a curve."""
    labels = list(dict.fromkeys(mark.label for curve in figure.curves for mark in curve.marks))
    values = [{mark.label: number(mark.y) for mark in curve.marks} for curve in figure.curves]
    head = [figure.x, *(f">{curve.name}, {figure.y}" for curve in figure.curves)]
    return table(head, [[label, *(of.get(label, "") for of in values)] for label in labels])


def _scale(top: float, from_: float, to: float) -> Callable[[float], float]:
    whole = _ticks(top)[-1]
    return lambda value: from_ + (to - from_) * value / whole


def _ticks(top: float) -> list[float]:
    """Round numbers from 0 to at least `top`, some four of them."""
    if top <= 0:
        return [0.0, 1.0]
    rough = top / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [i * step for i in range(math.ceil(top / step - 1e-9) + 1)]


def _axes(figure: Figure, right: float | None, top: float, x: Callable[[float], float] | None,
          y: Callable[[float], float]) -> str:  # fmt: skip
    parts = []
    for tick in _ticks(top):
        parts.append(f'<path d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}" stroke="var(--line)"/>')
        parts.append(_text(_LEFT - 5, y(tick) + 4, number(tick), "end"))
    if right is not None and x is not None:
        parts += [_text(x(tick), _HEIGHT - _BOTTOM + 15, number(tick), "middle") for tick in _ticks(right)]
    parts.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 6, figure.x, "middle"))
    middle = (_HEIGHT - _BOTTOM) / 2
    parts.append(f'<text x="12" y="{middle}" transform="rotate(-90 12 {middle})" text-anchor="middle" font-size="11" '
                 f'fill="var(--soft)">{html.escape(figure.y)}</text>')  # fmt: skip
    return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="var(--soft)">'
            f"{html.escape(words)}</text>")  # fmt: skip


def _svg(title: str, body: str) -> str:
    return (f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="max-width:100%" role="img" '
            f'aria-label="{html.escape(title, quote=True)}">{body}</svg>')  # fmt: skip
