"""The cycles of the litmus suite, each once: all joins of the threads below, as far as a budget allows.

A thread is one write, or the edges between its first and its last access. Two neighbours decide the communication
between them: write and read are joined by Rfe, read and write by Fre, two writes by Wse. Threads have levels, plain
order and full fences 0, rarer ones more. The levels of a cycle's different threads sum up to its budget at most: the
more threads a cycle has, the plainer they are. So the size of the suite grows with the size of the cycles, and does
not explode.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from cycle_edges import Edge, parse_edge
from litmus_cycle import Cycle

#: Edges of a cycle, if the command line does not say how many. Larger ones are cycles of four threads.
UP_TO = 6
MOST_EDGES = 8

#: Threads between two locations, and their level; those of several edges are in parentheses.
_LEVELS = {
    # Plain program order and full fences.
    0: "PodRR PodRW PodWR PodWW Fence.rw.rwdRR Fence.rw.rwdRW Fence.rw.rwdWR Fence.rw.rwdWW",
    # The weakest usual order of each kind of access.
    1: "DpAddrdR DpDatadW PodWRRlAq Fence.w.wdWW",
    # Others that each order something: weaker fences, dependences, acquires and releases.
    2: "Fence.r.rdRR PodRRAqP DpAddrdW DpCtrldW PodRWAqP PodRWPRl PodWWPRl Fence.w.rdWR",
    # The rest, some of which orders nothing.
    4: "Fence.r.rwdRR Fence.rw.rdRR Fence.tsodRR Fence.w.wdRR DpCtrldR DpCtrlFenceIdR PodRRAqAq PodRRPAq PodRRARP "
    "DpAddrdRPAq "
    "Fence.r.wdRW Fence.r.rwdRW Fence.rw.wdRW Fence.tsodRW DpCtrlFenceIdW PodRWAqRl PodRWPAmo PodRWPX DpDatadWPAmo "
    "Fence.w.rwdWW Fence.rw.wdWW Fence.tsodWW Fence.r.rdWW PodWWRlP PodWWRlRl PodWWAqP PodWWPAR PodWWAmoAmo PodWWXP "
    "Fence.w.rwdWR Fence.rw.rdWR Fence.tsodWR Fence.r.rwdWR PodWRRlP PodWRPAq PodWRARP PodWRARAR PodWRAmoP PodWRXP",
    # Threads of several edges: own stores read early, orders through another access, atomic pairs.
    5: "(PosRR DpAddrdR) (DpAddrdR PosRR) (DpAddrdR PosRR DpAddrdR) (DpAddrdW Rfi DpAddrdR) (DpDatadW Rfi DpAddrdR) "
    "(DpCtrldW Rfi DpAddrdR) (Fri Rfi DpAddrdR) (Amo.Swap PodWR) (LxSx PodWR) (LxSxAqP PodWR) "
    "(DpAddrdR PodRW) (DpAddrdW PodWW) (DpDatadW PodWW) (PosRR DpDatadW) (Fri PodWW) (LxSx PodWW) (Amo.Add PodWW) "
    "(Amo.SwapAqRl PodWW) "
    "(Rfi DpDatadW) (Rfi DpAddrdW) (Rfi DpCtrldW) (RfiAmoP DpDatadW) (RfiXP DpDatadW) (Wsi PodWW) (PodWW Wsi) "
    "(Rfi DpAddrdR) (Rfi Fence.r.rdRR) (RfiAmoP DpAddrdR) (RfiXP DpAddrdR) (Wsi PodWR) (PodWR PosRR) "
    "(Wsi Rfi DpAddrdR)",
}  # fmt: skip
#: The same of threads that are one atomic pair, in the middle of a release sequence.
_PAIRS = {1: "Amo.Swap", 3: "LxSx Amo.Add"}
#: Threads of the cycles of one location: each keeps coherence, so they are told apart by no level.
_COHERENT = "PosRR PosRW PosWR PosWW PosRRAqP PosWRAmoP PosWRXP PosRRPAq LxSx Amo.Swap"

#: The budget of a cycle of two threads, and of others by the number of their threads between two locations.
_BUDGET_OF_TWO = 8
_BUDGETS = {2: 5, 3: 3, 4: 1}


@dataclass(frozen=True, eq=False)
class Thread:
    """What a cycle does in one thread; without edges it is a write."""

    edges: tuple[Edge, ...]
    level: int = 0

    @property
    def first(self) -> str:
        return self.edges[0].ends[0] if self.edges else "W"

    @property
    def last(self) -> str:
        return self.edges[-1].ends[1] if self.edges else "W"

    @property
    def is_short(self) -> bool:
        """One write, or one atomic pair: no order of two locations."""
        return all(edge.is_pair for edge in self.edges)


WRITE = Thread(())


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Pieces of a list: what stands before a parenthesis, and what is in it."""
    for piece in text.split(")"):
        outside, _, inside = piece.partition("(")
        yield outside, inside


def _threads(text: str, level: int) -> list[Thread]:
    threads = []
    for outside, inside in _pieces(text):
        words = [[word] for word in outside.split()] + ([inside.split()] if inside else [])
        threads += [Thread(tuple(map(parse_edge, edges)), level) for edges in words]
    return threads


def _communication(before: Thread, after: Thread) -> Edge | None:
    """The edge between two threads; two reads have none."""
    kind = {"WR": "Rfe", "RW": "Fre", "WW": "Wse", "RR": ""}[before.last + after.first]
    return parse_edge(kind) if kind else None


def _joined(threads: tuple[Thread, ...]) -> list[Edge] | None:
    """The edges of the cycle, or None: no communication, or one that is part of another."""
    edges: list[Edge] = []
    for thread, after in zip(threads, [*threads[1:], threads[0]], strict=True):
        edge = _communication(thread, after)
        if edge is None or thread.is_short and edge.kind != "Rf":
            return None
        edges += [*thread.edges, edge]
    return edges


def _between_locations(count: int, up_to: int) -> Iterator[list[Edge]]:
    """Cycles of `count` threads whose threads order accesses to several locations."""
    tables = [*_PAIRS.items(), *_LEVELS.items()]
    known = [WRITE, *(thread for level, text in tables for thread in _threads(text, level))]
    most = _BUDGET_OF_TWO if count == 2 else max(_BUDGETS.values())

    def extend(chosen: tuple[Thread, ...], room: int) -> Iterator[tuple[Thread, ...]]:
        if len(chosen) == count:
            yield chosen
            return
        for thread in known:
            if len(thread.edges) <= room and _cost((*chosen, thread)) <= most:
                yield from extend((*chosen, thread), room - len(thread.edges))

    for threads in extend((), up_to - count):
        long = sum(not thread.is_short for thread in threads)
        budget = _BUDGET_OF_TWO if count == 2 else _BUDGETS.get(long, 0)
        if long >= 2 and _cost(threads) <= budget and (edges := _joined(threads)):
            yield edges


def _cost(threads: tuple[Thread, ...]) -> int:
    return sum(thread.level for thread in set(threads))


def _of_one_location(up_to: int) -> Iterator[list[Edge]]:
    """Cycles that coherence forbids, of two threads."""
    known = [WRITE, *_threads(_COHERENT, 0)]
    for threads in product(known, known):
        edges = []
        for thread, after in zip(threads, threads[::-1], strict=True):
            edge = _communication(thread, after)
            edges += [*thread.edges, edge]
        if len(edges) > 2 and len(edges) <= up_to and None not in edges:
            yield [edge for edge in edges if edge is not None]


def cycles(up_to: int = UP_TO) -> list[Cycle]:
    """The suite's cycles of up to so many edges: small ones first, then by name."""
    found: dict[str, Cycle] = {}
    for edges in _of_one_location(up_to):
        cycle = Cycle(edges)
        found.setdefault(str(cycle), cycle)
    for count in (2, 3, 4):
        for edges in _between_locations(count, up_to):
            cycle = Cycle(edges)
            found.setdefault(str(cycle), cycle)
    return sorted(found.values(), key=lambda c: (len(c.edges), c.threads, c.name))
