"""The report's cards on a profile of transactions (T61 to T63): tables, histograms and flame graphs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rubato.report.markup import Section, card, table
from rubato.tm import profile as tm_profile
from rubato.tm import report as tm_report
from rubato.tm.report import short

if TYPE_CHECKING:
    from rubato.tm.profile import Profile, Site
    from rubato.tm.symbols import Frame

_MOST = 30


def sections(profiles: list[tuple[str, Profile]]) -> list[Section]:
    """A profile is named by its file."""
    found: list[Section] = []
    for i, (name, profile) in enumerate(profiles):
        of = f" of {name}" if len(profiles) > 1 else ""
        cards = [
            ("transactions", "Transactions", _lead(name, profile), _summary(profile)),
            ("transactions-alone", "Why transactions ran alone", _ALONE, _alone(profile)),
            ("transactions-undone", "Why transactions were undone", _UNDONE, _undone(profile)),
            ("transactions-places", "Transactions by place", "", _places(profile)),
            ("transactions-sizes", "Sizes, retries and lengths", _SIZES, _histograms(profile)),
            ("transactions-load", "Waiting and load", _LOAD, _waiting(profile)),
            ("transactions-flame", "Where time and concurrency were lost", _FLAME, _flames(profile)),
        ]
        found += [(f"{k}-{i}", title + of, card(f"{k}-{i}", title + of, text, body)) for k, title, text, body in cards]
    return found


_ALONE = "The cause, the function that has no transactional form where one was called, and the place."
_UNDONE = "The cause, the address, where it was accessed, and where the transaction began that had locked it."
_SIZES = (
    "Entries are what the algorithm logs: records or values that were read, records or words that were written, of "
    "transactions that ran beside others. Lengths are those of attempts."
)
_LOAD = (
    "Milliseconds that threads waited to be let in, for a holder of the hourglass, after a commit for older "
    "transactions, and because the manager said so; then what share of the time each thread spent how."
)
_FLAME = "The width is the number of serializations, or the time lost. A click makes a frame as wide as the page."


def _lead(name: str, profile: Profile) -> str:
    threads = f"{profile.threads} threads" if profile.threads != 1 else "one thread"
    return f"Process {profile.process}, {threads}, {profile.ns_elapsed / 1e9:.2f} s; from {html.escape(name)}."


def _summary(profile: Profile) -> str:
    causes = [c for c in tm_profile.SERIALIZATIONS if profile.serialized[c]]
    head = [">committed", ">read-only", ">cancelled", *(f">{c}" for c in causes), ">attempts undone"]
    values = [profile.committed, profile.read_only, profile.cancelled, *(profile.serialized[c] for c in causes),
              sum(site.attempts_aborted() for site in profile.sites)]  # fmt: skip
    lost = ", ".join(f"{n:,} of {name}" for name, n in profile.lost.items() if n)
    more = f'<p class="explain">Not counted, since the tables had no room: {lost}.</p>' if lost else ""
    return table(head, [[f"{n:,}" for n in values]]) + more


def _or_none(head: list[str], rows: list[list[str]], wrap: set[int]) -> str:
    if not rows:
        return "<p>None.</p>"
    more = f'<p class="explain">{len(rows) - _MOST:,} more.</p>' if len(rows) > _MOST else ""
    return table(head, rows[:_MOST], wrap=wrap) + more


def _stack(frames: list[Frame]) -> list[str]:
    if not frames:
        return ["unknown", ""]
    return [f"{short(frames[0].function)} {frames[0].line}", " ← ".join(short(f.function) for f in frames[1:5])]


def _alone(profile: Profile) -> str:
    rows = [[f"{s.count:,}", s.cause, short(s.what), *_stack(s.stack)] for s in profile.serializations]
    return _or_none([">times", "cause", "called", "where", "called by"], rows, {2, 3, 4})


def _undone(profile: Profile) -> str:
    rows = []
    for c in profile.conflicts:
        other = f"{short(c.other.function)} {c.other.line}" if c.other else ""
        rows.append([f"{c.count:,}", c.cause, c.address, *_stack(c.stack), other, c.kind])
    return _or_none([">times", "cause", "address", "where", "called by", "locked by", "for"], rows, {3, 4, 5, 6})


def _places(profile: Profile) -> str:
    causes = [c for c in tm_profile.ABORTS if profile.aborted.get(c)]
    hardware = [c for c in tm_profile.HARDWARE if any(s.hardware.get(c) for s in profile.sites)]
    head = ["where it begins", ">committed", ">read-only", ">alone", *(f">{c}" for c in causes),
            *(f">hardware: {c}" for c in hardware), ">ms committed", ">ms lost"]  # fmt: skip
    rows = [
        [f"{short(s.function)} {s.line}", f"{s.committed:,}", f"{s.read_only:,}", f"{sum(s.serialized.values()):,}",
         *(f"{s.aborted.get(c, 0):,}" for c in causes), *(f"{s.hardware.get(c, 0):,}" for c in hardware),
         _ms(s.ns_committed), _ms(s.ns_aborted)]
        for s in profile.sites
    ]  # fmt: skip
    return _or_none(head, rows, {0})


def _ms(ns: int | None) -> str:
    return "" if ns is None else f"{ns / 1e6:.1f}"


def _histograms(profile: Profile) -> str:
    found = _bars(profile.sites)
    for site in profile.sites[:_MOST] if len(profile.sites) > 1 else []:
        place = html.escape(f"{short(site.function)} {site.line}")
        found += f"<details><summary>{place}</summary>{_bars([site])}</details>"
    return found or "<p>None.</p>"


def _bars(sites: list[Site]) -> str:
    parts = []
    for title, ranges in tm_report.histograms(sites).items():
        most = max(n for _, n in ranges)
        rows = "".join(
            f"<tr><td class=n>{name}</td><td class=n>{n:,}</td>"
            f'<td class="bar"><div style="width:{100 * n / most:.1f}%"></div></td></tr>'
            for name, n in ranges
        )
        whole = f'<table class="histogram"><caption>{title}</caption>{rows}</table>'
        parts.append(f'<div class="scroll" tabindex="0">{whole}</div>')
    return "".join(parts)


def _waiting(profile: Profile) -> str:
    found = ""
    for rows in (tm_report.waits(profile), tm_report.load(profile)):
        if rows:
            head = [name if name.startswith(("where", "thread")) else f">{name}" for name in rows[0]]
            found += table(head, rows[1:])
    return found or "<p>None.</p>"


# ---- flame graphs ----


@dataclass
class _Node:
    name: str
    count: int = 0
    inner: dict[str, _Node] = field(default_factory=dict)


def _flames(profile: Profile) -> str:
    return _graph("Where transactions became serial", tm_report.serial_stacks(profile), "serializations") + _graph(
        "Time lost by place", tm_report.time_stacks(profile), "ns"
    )


def _graph(title: str, stacks: tm_report.Stacks, unit: str) -> str:
    root = _Node("all")
    for names, count in stacks:
        node = root
        node.count += count
        for name in names:
            node = node.inner.setdefault(name, _Node(name))
            node.count += count
    body = "".join(_boxes(root, unit, root.count)) if root.count else "<p>None.</p>"
    return f'<h3>{title}</h3><div class="flame">{body}</div>'


def _boxes(node: _Node, unit: str, all_of_it: int) -> Iterator[str]:
    share = 100 * node.count / all_of_it
    name = html.escape(node.name, quote=True)
    yield f'<div class="node" style="flex:{node.count} 0 0"><div class="box" title="{name}: {node.count:,} {unit}'
    yield f' ({share:.1f}%)">{name}</div><div class="inner">'
    covered = 0
    for inner in sorted(node.inner.values(), key=lambda n: -n.count):
        covered += inner.count
        yield from _boxes(inner, unit, all_of_it)
    if node.inner and covered < node.count:
        yield f'<div style="flex:{node.count - covered} 0 0"></div>'
    yield "</div></div>"
