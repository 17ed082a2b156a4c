"""Figures and rows of the records. The largest size of which all is there is drawn of each figure, and a row is judged
at the largest size at which it counts."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable

from rubato.results import publication
from rubato.results.publication import Mark
from school.points import Measured
from school.samples import Samples
from school.study import SIZES, Figure, Published, Row, Study
from school.verdicts import verdict

LARGEST_FIRST = tuple(reversed(SIZES))


def conclude(study: Study, samples: Samples) -> list[publication.Figure]:
    by_size = {size: {figure.key: figure for figure in study.figures(size)} for size in SIZES}
    published: dict[str, list[Published]] = {}
    for one in study.published:
        published.setdefault(one.figure, []).append(one)
    found = []
    for key in by_size["quick"]:
        at = {size: by_size[size][key] for size in SIZES}
        shown, size = _drawn(at, samples)
        figure = at[size or "quick"]
        rows = [_row(study, one, at, samples) for one in published.get(key, ())]
        found.append(publication.Figure(
            key=key, title=figure.title, kind=figure.kind, x=figure.x, y=figure.y, size=size,
            curves=[*shown, *_published_curves(published.get(key, ()))] if shown else [], rows=rows,
            sentence=figure.sentence, reason=figure.reason or ("" if shown or not figure.curves else "Not run yet."),
        ))  # fmt: skip
    return found


def _drawn(at: dict[str, Figure], samples: Samples) -> tuple[list[publication.Curve], str]:
    """Our curves and their size: the largest size that is whole, else the one of which most is there."""

    def there(size: str) -> int:
        return sum(curve.is_there(samples) for curve in at[size].curves)

    sizes = [size for size in LARGEST_FIRST if there(size)]
    if not sizes:
        return [], ""
    whole = [size for size in sizes if there(size) == len(at[size].curves)]
    size = whole[0] if whole else max(sizes, key=there)
    curves = [curve for curve in at[size].curves if curve.is_there(samples)]
    return [publication.Curve(name=curve.name, marks=curve.marks(samples)) for curve in curves], size


def _published_curves(values: Iterable[Published]) -> list[publication.Curve]:
    curves: dict[str, list[Mark]] = {}
    for one in values:
        if one.curve and one.value is not None:
            curves.setdefault(one.curve, []).append(Mark(x=one.x, label=one.label, y=one.value, note=one.what))
    return [publication.Curve(name=name, marks=marks, is_published=True) for name, marks in curves.items()]


def _row(study: Study, one: Published, at: dict[str, Figure], samples: Samples) -> publication.Row:
    answer = publication.Row(
        key=one.key, figure=one.figure, what=one.what, section=one.section, unit=one.unit, published=one.value,
        claim=one.claim, read=one.read,
    )  # fmt: skip
    rows = {size: row for size, figure in at.items() for row in figure.rows if row.key == one.key}
    there = [size for size in LARGEST_FIRST if size in rows and samples.has(*rows[size].points)]
    if not there:
        figure = at["quick"]
        answer.why = study.not_measured.get(one.key) or figure.reason or _not_run(study, one, rows)
        return answer
    counted = [size for size in there if size in rows[size].counts_at]
    size = (counted or there)[0]
    row = rows[size]
    ours = row.value(samples)
    answer.ours, answer.low, answer.high, answer.samples, answer.size = *ours, size
    answer.least, answer.most = row.bar.least, row.bar.most
    if not counted:
        answer.why = f"Only {size} inputs were run, to which the bar does not apply."
        return answer
    answer.verdict = verdict(ours, row.bar, one.value)
    answer.why = "" if answer.verdict == "reproduced" else row.why
    return answer


def _not_run(study: Study, one: Published, rows: dict[str, Row]) -> str:
    counts = next((size for size in SIZES if size in rows and size in rows[size].counts_at), "sampled")
    said = f"Not run yet: `bench/publications {study.name} --figures {one.figure} --size {counts}`."
    needed = {point.needs for row in rows.values() for point in row.points if isinstance(point, Measured)} - {""}
    remedies = {name: study.peers[name].remedy for name in sorted(needed)}
    return said + "".join(f" It needs {name}: `{remedy}`." for name, remedy in remedies.items() if remedy)
