"""Why a program of threads took as long as it did: the reasons, each as a share of cores times cycles.

Every reason has the same denominator, all core cycles in detailed simulation, so the largest is the one to tell.
Reasons do not overlap: a core cycle is idle for a wait, idle without one, spinning in a library's wait, or running.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rubato.names import plural
from rubato.results.contention import name_of, why_unnamed
from rubato.results.summary import CYCLE_CLASSES
from rubato.results.threads import HARMLESS

if TYPE_CHECKING:
    from rubato.results.contention import Contended
    from rubato.results.run import Run
    from rubato.results.threads import Place, Wait

#: A share of all core cycles from which on a reason is worth a sentence.
NOTABLE = 0.2
#: From this part of a whole on a sentence names the one thing that makes it up.
MOST = 0.5
_PLURALS = {"condition": "condition variables", "futex": "futexes"}
#: Loops of the program's own that wait, by kind of contention.
_OWN_WAITS = {
    "lock": "spin for the program's own lock",
    "barrier": "spin at the program's own barrier",
    "flag": "spin until another core writes",
}
_NAMES = {"condition": "condition variable"}
#: Requests of one slice of the LLC are many from this multiple of its fair share on.
_SKEWED = 3


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


@dataclass(frozen=True)
class Reason:
    share: float
    sentence: str


@dataclass
class _Waited:
    """What threads wait for: one variable of the program, whatever the places."""

    kind: str
    what: str
    idle: float = 0
    rows: list[Wait] = field(default_factory=list)


def reasons(run: Run) -> list[Reason]:
    """The largest first. Empty if nothing ran in detail, or the run is of a version that did not count idle cores."""
    total = sum(run.stats.whole_run.total(f"chip.core_cycles.{c}") for c in CYCLE_CLASSES)
    if not total or "idle" not in run.stats_document:
        return []
    contended = _contended(run, total)
    # The cycles for lines of other cores are those of these lines; what remains is no reason beside them.
    memory = [] if any(reason.share >= NOTABLE for reason in contended) else _memory(run, total)
    found = [*_waits(run, total), *_idle(run, total), *contended, *memory]
    return sorted(found, key=lambda reason: -reason.share)


def running(run: Run) -> str:
    """The sentence where no reason is notable."""
    total = sum(run.stats.whole_run.total(f"chip.core_cycles.{c}") for c in CYCLE_CLASSES)
    cycles = sum(sum(thread.running.values()) for thread in run.threads)
    if not cycles:
        return ""
    text = f"Cores run threads for {percent(cycles / total)} of their cycles"
    hot = next((hot for hot in run.profile if hot.at.is_users), None)
    if hot is not None:
        text += f", most often in {hot.at} ({percent(hot.share)} of samples)"
    ready = sum(thread.ready for thread in run.threads) / sum(thread.cycles for thread in run.threads)
    if ready >= NOTABLE:
        text += f"; {len(run.threads)} threads share {plural(run.summary.cores, 'core')}"
    return text + "."


# ---- waits, blocked or spinning ----


def _waits(run: Run, total: float) -> list[Reason]:
    spun = _spinning(run, total)
    waited: dict[tuple[str, str], _Waited] = {}
    for wait in run.waits:
        if wait.kind in HARMLESS:
            continue
        one = waited.setdefault((wait.kind, wait.what), _Waited(wait.kind, wait.what))
        one.idle += wait.idle
        one.rows.append(wait)
    found = []
    for kind in sorted({kind for kind, _ in waited} | set(spun)):
        of_kind = sorted((w for w in waited.values() if w.kind == kind), key=lambda w: -w.idle)
        share = sum(w.idle for w in of_kind) / total + spun.get(kind, 0)
        largest = of_kind[0] if of_kind else None
        if largest is not None and largest.idle / total >= MOST * share:
            found.append(Reason(largest.idle / total, _on_one(run, largest, total)))
        else:
            found.append(Reason(share, _on_many(run, kind, of_kind, share)))
    return found


def _spinning(run: Run, total: float) -> dict[str, float]:
    """By kind, the share of core cycles that pass in a library's wait that spins."""
    cycles = sum(sum(thread.running.values()) for thread in run.threads)
    shares: dict[str, float] = {}
    for hot in run.profile:
        if hot.spins_for:
            shares[hot.spins_for] = shares.get(hot.spins_for, 0) + hot.share * cycles / total
    return shares


def _on_one(run: Run, waited: _Waited, total: float) -> str:
    share = waited.idle / total
    name = waited.what if not waited.what.startswith("0x") else f"at {waited.what}"
    text = f"{percent(share)} of core cycles wait for the {_NAMES.get(waited.kind, waited.kind)} {name}".rstrip()
    text += _where(waited.rows)
    threads, held = Counter[int](), Counter[int]()
    for row in waited.rows:
        threads.update(row.threads)
        held.update(row.held_by)
    if len(threads) == 1:
        text += f", all of them in thread {next(iter(threads))}"
    if held and held.most_common(1)[0][1] > MOST * held.total():
        text += f"; thread {held.most_common(1)[0][0]} held it most often"
    return text + _meanwhile(run, share) + "."


def _on_many(run: Run, kind: str, of_kind: list[_Waited], share: float) -> str:
    """Spinning has no address, so waits of a kind that spins are told together."""
    many = _PLURALS.get(kind, f"{kind}s" if not kind.endswith("s") else kind)
    places_of = {row.at for w in of_kind for row in w.rows}
    if kind == "futex" and len(places_of) == 1 and not next(iter(places_of)).is_users:
        many = f"work in {str(next(iter(places_of))).strip('()')}"  # its threads that have nothing to do
    text = f"{percent(share)} of core cycles wait for {many}"
    named = [w.what for w in of_kind if not w.what.startswith("0x")]
    if len(named) > 1:
        text += f", {len(named)} of them, most for {named[0]}"
    places = Counter[str]()
    for hot in run.profile:
        if hot.spins_for == kind and hot.at.is_users:
            places[str(hot.at)] += hot.threads.total()
    if places:
        text += f", most often in {places.most_common(1)[0][0]}"
    elif of_kind:
        text += _where([row for w in of_kind for row in w.rows])
    return text + _meanwhile(run, share) + "."


def _where(rows: list[Wait]) -> str:
    """ " in deposit (bank.c:6)", or the place of most of the waits and how many others there are."""
    cycles: dict[Place, float] = {}
    for row in rows:
        if row.at.is_users:
            cycles[row.at] = cycles.get(row.at, 0) + row.idle
    if not cycles:
        return ""
    most = max(cycles, key=cycles.__getitem__)
    if len(cycles) == 1:
        return f" in {most}"
    return f", at {len(cycles)} places, most in {most}"


def _meanwhile(run: Run, share: float) -> str:
    """The thread that works while the others wait: the only one that did not wait when cores were looked at. It is
    named if it was so for most of the time that the sentence speaks of."""
    period = run.stats_document.get("profile", {}).get("cycles", 0)
    cycles = run.stats.whole_run.get("chip.cycles", 0)
    thread, samples = _most_alone(run)
    if not period or not cycles or samples * period < MOST * share * cycles:
        return ""
    where = _place_alone(run, thread)
    return f"; meanwhile thread {thread} works alone{f', most often in {where}' if where else ''}"


def _most_alone(run: Run) -> tuple[int, int]:
    alone = Counter[int]()
    for hot in run.profile:
        alone.update(hot.alone)
    return alone.most_common(1)[0] if alone else (0, 0)


def _place_alone(run: Run, thread: int) -> Place | None:
    """Where this thread was most often while it worked alone."""
    places = [hot for hot in run.profile if hot.alone[thread] and hot.at.is_users]
    return max(places, key=lambda hot: hot.alone[thread]).at if places else None


# ---- idle cores that no wait explains ----


def _idle(run: Run, total: float) -> list[Reason]:
    idle = run.stats_document["idle"]
    none = idle["none"] / total
    asleep = f"{percent(none)} of core cycles are idle while all threads sleep, or wait for files, signals or an end."
    found = [Reason(none, asleep)]
    alone = Counter({int(thread): cycles for thread, cycles in idle["alone"].items()})
    few = Counter({int(threads): cycles for threads, cycles in idle["few"].items()})
    unexplained = alone.total() + few.total()
    if not unexplained:
        return found
    thread, by_one = alone.most_common(1)[0] if alone else (0, 0)
    threads, by_few = few.most_common(1)[0] if few else (0, 0)
    cores = plural(run.summary.cores, "core")
    if by_one >= MOST * unexplained:
        return [*found, Reason(by_one / total, _alone(run, thread, by_one / total))]
    share = unexplained / total
    begin = f"{percent(share)} of core cycles are idle: "
    if by_few >= MOST * unexplained:
        return [*found, Reason(share, f"{begin}the program has {threads} threads for {cores} most of that time.")]
    longest = max(run.threads, key=lambda thread: sum(thread.running.values())).number
    text = f"{begin}fewer threads are there than cores; thread {longest} runs longest"
    places = [hot for hot in run.profile if hot.at.is_users and not hot.spins_for and hot.threads[longest]]
    if places:
        text += f", most often in {max(places, key=lambda hot: hot.threads[longest]).at}"
    return [*found, Reason(share, text + ".")]


def _alone(run: Run, thread: int, share: float) -> str:
    begin = f"{percent(share)} of core cycles are idle: "
    if len(run.threads) == 1:
        return f"{begin}the program has one thread for {plural(run.summary.cores, 'core')}."
    where = _place_alone(run, thread)
    return f"{begin}thread {thread} works alone{f', most often in {where}' if where else ''}."


# ---- lines that cores take from one another ----


def _contended(run: Run, total: float) -> list[Reason]:
    """By kind and object of the program, which may lie in several lines."""
    costs: dict[tuple[str, str], float] = {}
    rows: dict[tuple[str, str], list[Contended]] = {}
    for line in run.contention:
        key = (line.kind, line.object)
        costs[key] = costs.get(key, 0) + line.cost
        rows.setdefault(key, []).append(line)
    found = []
    in_libraries = sum(_spinning(run, total).values())  # told by _waits()
    for key, cost in costs.items():
        share = cost / total - (in_libraries if key[0] in _OWN_WAITS else 0)
        if share > 0:
            found.append(Reason(share, _on_lines(run, rows[key], share)))
    return found


def _object(run: Run, rows: list[Contended]) -> str:
    blocks = [row.block for row in rows if row.block is not None]
    if blocks:
        return name_of(blocks)
    if not rows[0].is_unnamed_heap:
        return rows[0].object
    why = why_unnamed(run)
    return f"the {rows[0].object}{f' ({why})' if why else ''}"


def _on_lines(run: Run, rows: list[Contended], share: float) -> str:
    top = rows[0]
    cores = len({user.core for row in rows for user in row.users if user.transfers})
    hot = next((hot for hot in run.profile if hot.at.is_users and not hot.spins_for), None)
    where = f", most often in {hot.at}" if hot is not None else ""
    name = _object(run, rows)
    of = f"at {name}" if name.startswith("0x") else f"of {name}"
    begin = f"{percent(share)} of core cycles "
    if top.kind in _OWN_WAITS:
        word = f"in {name}" if top.block is not None or top.is_unnamed_heap else top.word
        return f"{begin}{_OWN_WAITS[top.kind]} {word}{where}{_meanwhile(run, share)}."
    if top.kind == "atomic":
        return f"{begin}wait for the line {of}, which {cores} cores update by atomics in turn{where}."
    many = plural(len(rows), "line") if len(rows) > 1 else "the line"
    how = ("though each uses other bytes of it (false sharing)" if top.kind == "false"
           else "and use the same bytes (true sharing)")  # fmt: skip
    return f"{begin}wait for {many} {of}, which {cores} cores take from one another {how}{where}."


# ---- memory ----


def _memory(run: Run, total: float) -> list[Reason]:
    """What threads wait for in the memory system beyond their tile. What passes in spinning is not counted twice."""
    parts: dict[str, int] = {}
    for thread in run.threads:
        for part, cycles in thread.running.items():
            parts[part] = parts.get(part, 0) + cycles
    works = 1 - sum(hot.share for hot in run.profile if hot.spins_for)
    hot = next((hot for hot in run.profile if hot.at.is_users and not hot.spins_for), None)
    where = f", most often in {hot.at}" if hot is not None else ""
    memory = works * parts.get("memory", 0) / total
    beyond = works * (parts.get("llc", 0) + parts.get("network", 0)) / total
    return [
        Reason(memory, f"{percent(memory)} of core cycles wait for memory{where}{_of_memory(run)}."),
        Reason(beyond, f"{percent(beyond)} of core cycles wait for the LLC and the caches of other tiles{where}"
                       f"{_of_slices(run)}."),  # fmt: skip
    ]


def _of_memory(run: Run) -> str:
    """Whether bandwidth or latency is what its requests take."""
    stats = run.stats.whole_run
    queued = stats.total("mem.*.queue_cycles", optional=True)
    latency = stats.total("mem.*.reads", optional=True) * int(run.configuration.get("mem.latency", 0))
    if not queued + latency:
        return ""
    if queued >= MOST * (queued + latency):
        return "; its controllers are busy, so that bandwidth is what is missing"
    return "; its controllers are mostly free, so that latency is what counts"


def _of_slices(run: Run) -> str:
    """Whether it is lines that other tiles have, or one slice that all ask."""
    stats = run.stats.whole_run
    requests = stats.matching("tile.*.llc.lookups", optional=True)
    if not requests or not sum(requests.values()):
        return ""
    handed = stats.total("tile.*.llc.forwards", optional=True) + stats.total("tile.*.llc.invalidations", optional=True)
    if handed >= MOST * sum(requests.values()):
        return "; most requests are for lines that another tile has"
    path, most = max(requests.items(), key=lambda one: one[1])
    share = most / sum(requests.values())
    if share >= MOST and share * len(requests) >= _SKEWED:
        return f"; {percent(share)} of the requests are for the slice of tile {path.split('.')[1]}"
    return ""

