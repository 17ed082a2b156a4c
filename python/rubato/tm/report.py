"""A profile of transactions as text and as folded stacks (T63); rubato/report/transactions.py has the page."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING

from rubato.tm import profile as tm_profile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rubato.tm.profile import Profile, Site
    from rubato.tm.symbols import Frame

ROWS, CALLERS = 12, 3
SHORTEST_WAIT_NS = 50_000  # what is not 0.0 ms


def short(function: str) -> str:
    """Without return type, parameters and template arguments."""
    name = function.replace("operator()", "operator{}").replace("(anonymous namespace)", "{anonymous}")
    for brackets in (r"<[^<>]*>", r"\([^()]*\)"):
        while (shorter := re.sub(brackets, "", name)) != name:
            name = shorter
    name = re.sub(r" const$", "", name).rpartition(" ")[2]
    return name.replace("operator{}", "operator()") or function


def table(profile: Profile) -> str:
    """Begins with the columns of the paper's tables 1 to 4."""
    columns = [("transactions", f"{profile.committed:,}")]
    for name in ("in-flight switch", "start serial", "abort serial"):
        columns.append((name, _share(profile.serialized[name], profile.committed)))
    columns += [
        (tm_profile.CHOSEN, f"{profile.serialized[tm_profile.CHOSEN]:,}"),
        ("aborts", f"{sum(site.attempts_aborted() for site in profile.sites):,}"),
    ]
    widths = [max(len(name), len(value)) for name, value in columns]
    lines = ["  ".join(columns[i][row].rjust(widths[i]) for i in range(len(columns))) for row in (0, 1)]
    lines += _why_serial(profile) + _why_aborted(profile) + _places(profile)
    lines += _grid("Milliseconds waited by place", waits(profile), 0)
    lines += _grid("Sizes, retries and lengths: how many transactions or attempts had which", _histograms(profile), 0)
    lines += _grid("Load by thread, in shares of the time", load(profile), 0)
    if any(profile.lost.values()):
        lost = ", ".join(f"{n:,} of {name}" for name, n in profile.lost.items() if n)
        lines += ["", f"Not shown, since the tables had no room for all: {lost}."]
    return "\n".join(lines)


def _share(n: int, of: int) -> str:
    return f"{n:,} ({100 * n / of:.1f}%)" if of else f"{n:,}"


def _stack(frames: list[Frame]) -> str:
    if not frames:
        return "unknown"
    inner = frames[0]
    callers = [frame for frame in frames[1:] if not short(frame.function).startswith("std::")][:CALLERS]
    return "  ".join([f"{inner.line} {short(inner.function)}", *(f"<- {short(frame.function)}" for frame in callers)])


def _grid(title: str, rows: list[list[str]], left_out: int) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["", title]
    for row in rows:
        cells = [c.rjust(w) if i == 0 else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return [*lines, f"  and {left_out:,} more"] if left_out > 0 else lines


def _why_serial(profile: Profile) -> list[str]:
    rows = [[f"{s.count:,}", s.cause, short(s.what), _stack(s.stack)] for s in profile.serializations[:ROWS]]
    title = "Why transactions ran alone: the cause, what was called if it has no transactional form, and where"
    if profile.stacks_every > 1:
        title += f" (every {profile.stacks_every}th)"
    return _grid(title, rows, len(profile.serializations) - ROWS)


def _why_aborted(profile: Profile) -> list[str]:
    rows = []
    for c in profile.conflicts[:ROWS]:
        other = f"with {short(c.other.function)} ({c.other.line})" if c.other else ""
        rows.append([f"{c.count:,}", c.cause, c.address if c.address else "-", _stack(c.stack), other, c.kind])
    title = "Why transactions were undone: cause, address, where it was accessed, what had locked it and which word"
    return _grid(title, rows, len(profile.conflicts) - ROWS)


def _places(profile: Profile) -> list[str]:
    head = ["committed", "aborted", "alone", "ms committed", "ms lost", "ms waited", "where it begins"]
    rows = [head]
    for s in profile.sites[:ROWS]:
        by_cause = s.waits()
        waited = None if by_cause is None else sum(by_cause.values())
        rows.append([
            f"{s.committed:,}", f"{s.attempts_aborted():,}", f"{sum(s.serialized.values()):,}",
            _ms(s.ns_committed), _ms(s.ns_aborted), _ms(waited), f"{s.line} {short(s.function)}",
        ])  # fmt: skip
    return _grid("Transactions by place", rows, len(profile.sites) - ROWS)


def waits(profile: Profile) -> list[list[str]]:
    """A heading, and a row a place that waited at all; empty if there is none."""
    rows = []
    for s in profile.sites:
        by_cause = s.waits()
        if by_cause is not None and any(ns >= SHORTEST_WAIT_NS for ns in by_cause.values()):
            rows.append([*(_ms(ns) for ns in by_cause.values()), f"{s.line} {short(s.function)}"])
    return [[*tm_profile.WAITS, "where it begins"], *rows[:ROWS]] if rows else []


def load(profile: Profile) -> list[list[str]]:
    """A heading, and a row a thread that ran transactions."""
    rows = []
    for i, thread in enumerate(profile.loads):
        if thread.committed or thread.aborted:
            shares = [_percent(ns, profile.ns_elapsed)
                      for ns in (thread.ns_committed, thread.ns_aborted, thread.ns_waited)]  # fmt: skip
            rows.append([str(i + 1), f"{thread.committed:,}", f"{thread.aborted:,}", *shares])
    return [["thread", "committed", "aborted", "in committed", "lost", "waited"], *rows[:ROWS]] if rows else []


def _percent(ns: int | None, of: int) -> str:
    return f"{100 * ns / of:.1f}%" if ns is not None and of > 0 else "-"


#: The histograms by their names in a Site.
HISTOGRAM_TITLES = {
    "loads": "loads", "stores": "stores",
    "reads": "entries read", "writes": "entries written", "retries": "attempts before",
    "ns_of_committed": "length, committed", "ns_of_aborted": "length, undone",
}  # fmt: skip


def histograms(sites: Iterable[Site]) -> dict[str, list[tuple[str, int]]]:
    """By title: (range, how many), of all these places; those that have any."""
    found = {}
    for name, title in HISTOGRAM_TITLES.items():
        sums: collections.Counter[int] = collections.Counter()
        for site in sites:
            sums.update(dict(getattr(site, name)))
        if sums:
            found[title] = [(_range(least, name), n) for least, n in sorted(sums.items())]
    return found


def _range(least: int, name: str) -> str:
    if name.startswith("ns_"):
        return f"from {_time(least)}"
    last = tm_profile.SIZES - 2
    return str(least) if least < 2 else f"{least}-" if least >= 1 << last else f"{least}-{2 * least - 1}"


def _time(ns: int) -> str:
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns} ns"


def _histograms(profile: Profile) -> list[list[str]]:
    return [[title, "  ".join(f"{name}: {n:,}" for name, n in ranges)]
            for title, ranges in histograms(profile.sites).items()]  # fmt: skip


def _ms(ns: int | None) -> str:
    return "-" if ns is None else f"{ns / 1e6:.1f}"


Stacks = list[tuple[list[str], int]]


def serial_stacks(profile: Profile) -> Stacks:
    """Outermost frame first; the cause is the innermost."""
    found = []
    for s in profile.serializations:
        cause = f"[{s.cause}: {short(s.what)}]" if s.what else f"[{s.cause}]"
        found.append(([*(short(f.function) for f in reversed(s.stack)), cause], s.count))
    return found


def time_stacks(profile: Profile) -> Stacks:
    """Nanoseconds that a place's transactions lost, by how."""
    found = []
    for s in profile.sites:
        lost = {"aborted": s.ns_aborted, **{f"waited: {why}": ns for why, ns in (s.waits() or {}).items()}}
        found += [([f"{short(s.function)} ({s.line})", f"[{how}]"], ns) for how, ns in lost.items() if ns]
    return found


def folded(profile: Profile) -> str:
    """A line a stack, as flame graph tools read them."""
    return "".join(f"{';'.join(part.replace(';', ',') for part in s)} {n}\n" for s, n in serial_stacks(profile))
