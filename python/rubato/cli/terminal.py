"""What a person sees on a terminal: the summary of a run with its bars, progress lines, numbers with units."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rubato.names import plural, short_name
from rubato.results import metrics
from rubato.results.summary import SHOWN_CLASSES, TRAFFIC_CLASSES, Lagging, LongTasks, Summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rubato.results.regions import Region
    from rubato.results.run import Run

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

#: Wider than any table: what is piped or kept is never cut or folded.
_WIDEST = 100_000


def print_table(table: Table) -> None:
    """On a terminal as wide as that is, elsewhere as wide as the table."""
    console = out if out.is_terminal else Console(highlight=False, width=_WIDEST)
    console.print(table)


CLASS_NAMES = {
    "nonspeculative": "non-speculative", "committed": "speculative, committed", "aborted": "speculative, aborted",
    "spill": "spilling", "stall": "stalled, queue full", "idle": "no task",
    "held_back": "held back (throttle)",
}  # fmt: skip
#: The same of programs without tasks.
THREAD_CLASS_NAMES = CLASS_NAMES | {"nonspeculative": "running", "idle": "idle"}
TRAFFIC_NAMES = {
    "memory": "memory accesses", "abort": "aborts", "task": "tasks", "virtual_time": "virtual time",
    "coherence": "coherence control",
}  # fmt: skip
_COLOURS = {
    "nonspeculative": "blue", "committed": "cyan", "aborted": "red", "spill": "magenta", "stall": "yellow",
    "idle": "bright_black", "held_back": "white", "memory": "blue", "abort": "red", "task": "cyan",
    "virtual_time": "yellow", "coherence": "magenta",
}  # fmt: skip
_BAR = 28


def number(value: float) -> str:
    """1,234 up to seven digits, then 12.3 M."""
    if abs(value) < 10_000_000:
        return f"{value:,.0f}"
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:,.0f}"


def byte_count(value: float) -> str:
    for factor, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= factor:
            return f"{value / factor:.1f} {unit}"
    return f"{value:.0f} B"


def seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:g} s"


def wall_clock(value: float) -> str:
    value = round(value)
    if value < 60:
        return f"{value} s"
    if value < 3600:
        return f"{value // 60} min {value % 60:02d} s"
    return f"{value // 3600} h {value % 3600 // 60:02d} min"


def check_text(check: str) -> Text:
    style = {"passed": "bold green", "failed": "bold red"}.get(check, "dim")
    return Text({"none": "none printed"}.get(check, check), style=style)


def summary(run: Summary, directory: str, rates: Iterable[tuple[str, str]] = ()) -> RenderableType:
    """The table under a run: what ran, what it came to, where core cycles and network bytes went; `rates` are rows
    of rates()."""
    if run.engine != "chip":
        return _native_summary(run, directory)
    mode = f"{_mode(run)}, " if run.mode else ""  # a mode is one of tasks
    where = f" on {plural(run.cores, 'simulated core')}, {mode}seed {run.seed}"
    title = Text.assemble((run.name, "bold"), where)
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("check", check_text(run.check))
    facts.add_row("cycles", f"{number(run.cycles)}  ({seconds(run.seconds)} simulated)")
    ipc = f"  ({run.instructions / run.cycles:.2f} a cycle)" if run.cycles else ""
    facts.add_row("instructions", number(run.instructions) + ipc)
    for row in rates:
        facts.add_row(*row)
    t = run.tasks
    if t.created or t.committed:
        text = f"{number(t.committed)} committed, {number(t.aborted)} aborted, {number(t.spilled)} spilled"
        if t.promoted:
            text += f", {number(t.promoted)} promoted"
        facts.add_row("tasks", text)
    h = run.host
    took = wall_clock(h.seconds) if h.seconds >= 10 else f"{h.seconds:.2g} s"
    what = " in detail" if run.instructions else ""
    facts.add_row("this host", f"{took}, {h.mips:.3g} M instructions/s{what}, {h.peak_mb:.0f} MB")
    facts.add_row("results", Text(directory))
    shares = run.cycle_shares
    parts: list[RenderableType] = [title, facts]
    if any(shares.values()):  # nothing in detail, no shares
        names = CLASS_NAMES if t.created else THREAD_CLASS_NAMES
        parts += [Text(), _bars("core cycles", shares, SHOWN_CLASSES, names)]
    traffic = run.network_bytes.model_dump()
    total = sum(traffic[c] for c in TRAFFIC_CLASSES)
    if total:
        fractions = {c: traffic[c] / total for c in TRAFFIC_CLASSES}
        parts += [Text(), _bars(f"network, {byte_count(total)}", fractions, TRAFFIC_CLASSES, TRAFFIC_NAMES)]
    return Group(*parts)


def rates(run: Run) -> list[tuple[str, str]]:
    """Rows of a summary: misses of the caches, and bandwidth. Empty for runs without such statistics."""
    found = {m.name: (m, v) for m in metrics.BUILT_IN if (v := metrics.value(m, run)) is not None}
    caches = [
        f"{cache.upper()} {found[rate][0].said(found[rate][1])} ({found[mpki][0].said(found[mpki][1])} MPKI)"
        for cache in ("l1d", "l2", "llc")
        for rate, mpki in [(f"{cache}.miss_rate", f"{cache}.mpki")]
        if rate in found and mpki in found
    ]
    moved = [
        f"{m.title} {m.said(v)} {m.unit}" for name, (m, v) in found.items() if name.endswith("gb_per_second") and v
    ]
    prefetches = [
        f"{m.said(v)} {m.title.removeprefix('prefetch ')}"
        for name, (m, v) in found.items() if name.startswith("l1d.prefetch_")
    ]  # fmt: skip
    rows = [("cache misses", ", ".join(caches)), ("prefetches", ", ".join(prefetches)), ("bandwidth", ", ".join(moved))]
    return [row for row in rows if row[1]]


def regions(marked: list[Region]) -> Table:
    """A row for each region that the program marked."""
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    table.add_column("region", overflow="fold")
    for name in ("times", "cycles", "instructions", "a cycle"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in marked:
        rate = f"{r.instructions / r.cycles:.2f}" if r.cycles else ""
        table.add_row(Text(r.name), number(r.times), number(r.cycles), number(r.instructions), rate)
    return table


def _mode(run: Summary) -> str:
    return {None: "no tasks", "serial": "serial code"}.get(run.mode, run.mode)


def _long_tasks(tasks: LongTasks, most: int = 3) -> str:
    """`3 of over 10 ms: visit (2, the longest 14.1 ms), load (11 ms)`."""
    named = []
    for f in tasks.functions[:most]:
        longest = seconds(f.longest_seconds)
        named.append(f"{short_name(f.function)} ({longest if f.count == 1 else f'{f.count:,}, the longest {longest}'})")
    rest = tasks.count - sum(f.count for f in tasks.functions[:most])
    if named and rest > 0:
        named.append(f"others ({rest:,})")
    return f"{tasks.count:,} of over 10 ms" + (f": {', '.join(named)}" if named else "")


def _lagging(lagging: Lagging) -> str:
    """`3.1 % of the workers' time, 82 % hits, C 21.4 us`; C of what has waited: a sleep, a switch of turns, or both."""
    costs = [f"{seconds(lagging.switch_ns / 1e9)} of a sleep"] if lagging.waits else []
    if lagging.turn_waits:
        costs.append(f"{seconds(lagging.turn_switch_ns / 1e9)} of a turn")
    return (f"{100 * lagging.time_share:.1f} % of the workers' time, {100 * lagging.hit_share:.0f} % hits, "
            f"C {' and '.join(costs)}")


def _native_summary(run: Summary, directory: str) -> RenderableType:
    """Of a run on this machine: what was measured, and what the engine counted."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("check", check_text(run.check))
    t = run.tasks
    where = {"serial": "in the serial code", "threads": "in the threads"}.get(run.mode or "", "in run()")
    measured = f"{seconds(run.seconds)} {where}, " if run.cores else ""
    facts.add_row("time", f"{measured}{seconds(run.host.seconds)} the whole program")
    if t.created:
        rate = f"  ({number(t.committed / run.seconds)} a second)" if run.seconds else ""
        facts.add_row("tasks", f"{number(t.committed)}{rate}")
    if t.aborted or t.promoted:
        facts.add_row("", f"{number(t.aborted)} reads repeated, {number(t.promoted)} run alone")
    if run.long_tasks and run.long_tasks.count:
        facts.add_row("long tasks", Text(_long_tasks(run.long_tasks)))
    if run.actors:
        a = run.actors
        lost = f", {plural(a.dead_letters, 'dead letter')}" if a.dead_letters else ""
        facts.add_row("actors", f"{number(a.spawned)} spawned, {plural(a.messages, 'message')} handled{lost}")
    if run.lagging:
        facts.add_row("lagging", _lagging(run.lagging))
    facts.add_row("memory", f"{run.host.peak_mb:.0f} MB at most")
    facts.add_row("results", Text(directory))
    place = " on this machine"
    if run.engine == "serial":
        place = f" on the serial engine, seed {run.seed}"
    elif t.created:
        place = f" on {plural(run.cores, 'worker')} of this machine"
    title = Text.assemble((run.name, "bold"), place)
    if run.mode or not t.created:
        title.append(f", {_mode(run)}")
    return Group(title, facts)


def _bars(heading: str, fractions: dict[str, float], order: tuple[str, ...], names: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True, width=24)
    table.add_column(width=_BAR, no_wrap=True)
    table.add_column(justify="right")
    table.add_row(Text(heading, style="bold not dim", overflow="fold"), "", "")
    for key in order:
        fraction = fractions[key]
        if fraction <= 0:
            continue
        table.add_row(names[key], _bar(fraction, _COLOURS[key]), f"{fraction:6.1%}")
    return table


def _bar(fraction: float, colour: str) -> Text:
    if not out.encoding.lower().startswith("utf"):
        return Text("#" * max(1, round(fraction * _BAR)), style=colour)
    eighths = round(fraction * _BAR * 8)
    text = "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
    return Text(text or "▏", style=colour)


def shown(progress: Progress) -> contextlib.AbstractContextManager[object]:
    """Starts a progress display that is to be seen; a disabled one would still print an empty line in older rich."""
    return contextlib.nullcontext() if progress.disable else progress


def run_progress() -> Progress:
    """A line that lives while a run does; silent when the terminal is not one."""
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[state]}"), TimeElapsedColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip


def progress_state(p: dict) -> str:
    """One line of progress.json for a person."""
    if not p:
        return "starting"
    if p.get("native"):
        return "running"
    if p.get("fast_forward"):
        return f"fast-forward, {number(p.get('instructions', 0))} instructions"
    parts = [f"{number(p.get('cycles', 0))} cycles"]
    if p.get("committed"):
        parts.append(f"{number(p['committed'])} tasks")
    if p.get("mips"):
        parts.append(f"{p['mips']:.3g} M instr/s")
    if p.get("gvt") is not None:
        parts.append(f"GVT {p['gvt']:,}" if isinstance(p["gvt"], int) else f"GVT {p['gvt']}")
    return ", ".join(parts)


def sweep_progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
        TextColumn("{task.fields[state]}"), TimeElapsedColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip
