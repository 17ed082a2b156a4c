"""A profile of transactions as text, as folded stacks and as a flame graph that needs no network (rule T63)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rubato import tm_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rubato.tm_profile import Profile
    from rubato.tm_symbols import Frame

ROWS, CALLERS = 12, 3


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
        ("aborts", f"{sum(profile.aborted.values()):,}"),
    ]
    widths = [max(len(name), len(value)) for name, value in columns]
    lines = ["  ".join(columns[i][row].rjust(widths[i]) for i in range(len(columns))) for row in (0, 1)]
    lines += _why_serial(profile) + _why_aborted(profile) + _places(profile)
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
        rows.append([f"{c.count:,}", c.cause, c.address if c.address else "-", _stack(c.stack), other])
    title = "Why transactions were undone: the cause, the address, where it was accessed, and who had locked it"
    return _grid(title, rows, len(profile.conflicts) - ROWS)


def _places(profile: Profile) -> list[str]:
    head = ["committed", "aborted", "alone", "ms committed", "ms lost", "ms waited", "where it begins"]
    rows = [head]
    for s in profile.sites[:ROWS]:
        waited = None if s.ns_gate is None or s.ns_hourglass is None else s.ns_gate + s.ns_hourglass
        rows.append([
            f"{s.committed:,}", f"{sum(s.aborted.values()):,}", f"{sum(s.serialized.values()):,}",
            _ms(s.ns_committed), _ms(s.ns_aborted), _ms(waited), f"{s.line} {short(s.function)}",
        ])  # fmt: skip
    return _grid("Transactions by place", rows, len(profile.sites) - ROWS)


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
        lost = {"aborted": s.ns_aborted, "waited for the gate": s.ns_gate, "waited for the hourglass": s.ns_hourglass}
        found += [([f"{short(s.function)} ({s.line})", f"[{how}]"], ns) for how, ns in lost.items() if ns]
    return found


def folded(profile: Profile) -> str:
    """A line a stack, as flame graph tools read them."""
    return "".join(f"{';'.join(part.replace(';', ',') for part in s)} {n}\n" for s, n in serial_stacks(profile))


@dataclass
class _Node:
    name: str
    count: int = 0
    inner: dict[str, _Node] = field(default_factory=dict)


def flame(profile: Profile, title: str) -> str:
    """One page without scripts from elsewhere; a click makes a frame as wide as the page."""
    parts = [
        _graph("Where transactions became serial", serial_stacks(profile), "serializations"),
        _graph("Time lost by place", time_stacks(profile), "ns"),
    ]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style><h1>{html.escape(title)}</h1>"
        f"<pre>{html.escape(table(profile))}</pre>{''.join(parts)}<script>{_SCRIPT}</script></html>\n"
    )


def _graph(title: str, stacks: Stacks, unit: str) -> str:
    root = _Node("all")
    for names, count in stacks:
        node = root
        node.count += count
        for name in names:
            node = node.inner.setdefault(name, _Node(name))
            node.count += count
    body = "".join(_boxes(root, unit, root.count)) if root.count else "<p>None.</p>"
    return f"<h2>{title}</h2><div class='flame'>{body}</div>"


def _boxes(node: _Node, unit: str, all_of_it: int) -> Iterator[str]:
    share = 100 * node.count / all_of_it
    name = html.escape(node.name, quote=True)
    yield f"<div class='node' style='flex:{node.count} 0 0'><div class='box' title='{name}: {node.count:,} {unit}"
    yield f" ({share:.1f}%)'>{name}</div><div class='inner'>"
    covered = 0
    for inner in sorted(node.inner.values(), key=lambda n: -n.count):
        covered += inner.count
        yield from _boxes(inner, unit, all_of_it)
    if node.inner and covered < node.count:
        yield f"<div style='flex:{node.count - covered} 0 0'></div>"
    yield "</div></div>"


_STYLE = """
body{font:14px system-ui,sans-serif;margin:2em}pre{overflow-x:auto}
.flame{display:flex;overflow:hidden}.node{min-width:0;overflow:hidden}.inner{display:flex}
.box{background:#f4a261;border:1px solid #fff;font:12px monospace;padding:1px 3px;overflow:hidden;white-space:nowrap;
text-overflow:ellipsis;cursor:pointer}.box:hover{background:#e76f51}.hidden{display:none}
@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}.box{color:#000;border-color:#1b1b1b}}
"""
_SCRIPT = """
for (const box of document.querySelectorAll('.box')) box.onclick = () => {
  const graph = box.closest('.flame');
  for (const node of graph.querySelectorAll('.hidden')) node.classList.remove('hidden');
  for (let node = box.parentElement; !node.classList.contains('flame'); node = node.parentElement)
    for (const other of node.parentElement.children)
      if (other !== node && !other.classList.contains('box') && !other.classList.contains('inner'))
        other.classList.add('hidden');
};
"""
