"""A litmus test as a cycle of edges: the thread, the location and the value of each access, and the test's name.

Each location is one run of the cycle: an edge to another location (PodWR, DpAddrdW ...) ends the run, and the last one
comes back to the first location. Along a run the writes are in coherence order, so a read has the value of the last
write before it. A cycle of one location would bite its own tail: its run begins behind its first edge within a
thread, which is the one that coherence must keep.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

from cycle_edges import STORE_HALF_ATOMS, Edge, parse_edge
from litmus_file import LitmusError

#: Names of cycles by the first and last accesses of their threads.
FAMILIES = {
    ("WR", "WR"): "SB", ("WW", "RR"): "MP", ("RW", "RW"): "LB", ("WW", "RW"): "S", ("WW", "WR"): "R",
    ("WW", "WW"): "2+2W",
    ("W", "RW", "RR"): "WRC", ("W", "RW", "RW"): "WWC", ("W", "RR", "WR"): "RWC", ("W", "RR", "WW"): "WRR+2W",
    ("W", "RW", "WR"): "WRW+WR", ("W", "RW", "WW"): "WRW+2W",
    ("WR", "WR", "WR"): "3.SB", ("RW", "RW", "RW"): "3.LB", ("WW", "WW", "WW"): "3.2W",
    ("WW", "RW", "RR"): "ISA2", ("WW", "RR", "WR"): "W+RWC", ("WW", "RW", "WR"): "Z6.0", ("WW", "RW", "WW"): "Z6.1",
    ("WW", "RW", "RW"): "Z6.2", ("WW", "WW", "RR"): "Z6.3", ("WW", "WR", "WR"): "Z6.4", ("WW", "WW", "WR"): "Z6.5",
    ("W", "RR", "W", "RR"): "IRIW", ("W", "RR", "W", "RW"): "IRRWIW", ("W", "RW", "W", "RW"): "IRWIW",
    ("WR", "WR", "WR", "WR"): "4.SB", ("RW", "RW", "RW", "RW"): "4.LB", ("WW", "WW", "WW", "WW"): "4.2W",
}  # fmt: skip
#: The same of cycles of one location.
COHERENCE_FAMILIES = {("W", "RR"): "CoRR", ("W", "RW"): "CoRW", ("WR", "W"): "CoWR", ("WW", "W"): "CoWW"}

LOCATIONS = "xyzabcdefghijklmnopqrstuvw"
MOST_THREADS = 8
#: Values that amoadd adds are multiples of this, so that no sum is the value of another write.
ADDEND = 16


@dataclass
class Access:
    """A read or a write of the cycle; `edge` leads on from it."""

    direction: str
    atom: str
    edge: Edge
    before: Edge
    thread: int = 0
    location: str = ""
    value: int = 0

    @property
    def is_read(self) -> bool:
        return self.direction == "R"


def _joined(edges: list[Edge]) -> list[Edge]:
    """Both edges of each access get its annotation. @raises LitmusError if they do not fit together."""
    atoms = []
    for before, edge in zip([edges[-1], *edges[:-1]], edges, strict=True):
        if before.ends[1] != edge.ends[0]:
            words = {"R": "read", "W": "write"}
            ends, begins = words[before.ends[1]], words[edge.ends[0]]
            raise LitmusError(f"{before} ends with a {ends}, and {edge} begins with a {begins}")
        marks = {before.atoms[1], edge.atoms[0]} - {""}
        if len(marks) > 1:
            raise LitmusError(f"{before} and {edge} give the access between them two annotations")
        atoms.append(marks.pop() if marks else "P")
    return [edge.with_atoms(a, b) for edge, a, b in zip(edges, atoms, [*atoms[1:], atoms[0]], strict=True)]


class Cycle:
    """A well-formed cycle, from the first access of its first thread on."""

    def __init__(self, edges: list[Edge]) -> None:
        """@raises LitmusError if the edges make no cycle of a test."""
        if not edges:
            raise LitmusError("a cycle has edges")
        edges = _joined(edges)
        threads = sum(edge.is_external for edge in edges)
        if not 2 <= threads <= MOST_THREADS:
            raise LitmusError(
                f"the cycle has {threads} edges between threads (Rfe, Fre, Wse): 2 to {MOST_THREADS} are right"
            )
        if sum(not edge.is_same for edge in edges) == 1:
            raise LitmusError(
                "one edge goes to another location, and none comes back: there must be none or two of them"
            )
        for edge in edges:
            if edge.is_pair and edge.atoms[1] not in STORE_HALF_ATOMS:
                raise LitmusError(f"the write of {edge.kind} is P, Rl or AR, not {edge.atoms[1]}")
        self.edges = self._by_name(edges)
        self.accesses = self._accesses()
        self._place()
        self._give_values()

    @property
    def segments(self) -> list[list[Edge]]:
        """The edges within each thread."""
        return _segments(self.edges)

    @property
    def threads(self) -> int:
        return sum(edge.is_external for edge in self.edges)

    def __str__(self) -> str:
        return " ".join(map(str, self.edges))

    # ---- The name, and with it the thread that is the first ----

    def _by_name(self, edges: list[Edge]) -> list[Edge]:
        """Rotated to where its name begins, which this finds: one for all rotations of a cycle."""
        is_of_one_location = all(edge.is_same for edge in edges)
        families = COHERENCE_FAMILIES if is_of_one_location else FAMILIES
        rotations = [edges[i:] + edges[:i] for i in range(len(edges)) if edges[i - 1].is_external]
        known = [r for r in rotations if _words(r) in families]
        widest = max(_words(r) for r in rotations)
        chosen = min(known or [r for r in rotations if _words(r) == widest], key=lambda r: (_parts(r), str(r)))
        family = families.get(_words(chosen), "+".join(_words(chosen)))
        if is_of_one_location and not known:
            family = f"Co.{family}"
        parts = _parts(chosen)
        if all(part == ("pos" if is_of_one_location else "po") for part in parts):
            self.name = family
        elif len(parts) > 1 and len(set(parts)) == 1:
            self.name = f"{family}+{parts[0]}s"
        else:
            self.name = "+".join([family, *parts])
        return chosen

    # ---- Threads, locations and values ----

    def _accesses(self) -> list[Access]:
        edges = self.edges
        accesses, thread = [], 0
        for before, edge in zip([edges[-1], *edges[:-1]], edges, strict=True):
            accesses.append(Access(edge.ends[0], edge.atoms[0], edge, before, thread))
            thread += edge.is_external
        return accesses

    def _runs(self) -> list[list[Access]]:
        """The accesses of each location, in the order of the cycle."""
        starts = [i for i, a in enumerate(self.accesses) if not a.before.is_same]
        if not starts:
            starts = [i for i, a in enumerate(self.accesses) if not a.before.is_communication and not a.before.is_pair]
            starts = starts or [i for i, a in enumerate(self.accesses) if a.before.kind in {"LxSx", "Amo.Swap"}]
            if not starts:
                raise LitmusError("a cycle of one location needs an edge like PosRR within a thread")
            starts = starts[:1]
        turned = self.accesses[starts[0] :] + self.accesses[: starts[0]]
        ends = [*(s - starts[0] for s in starts[1:]), len(turned)]
        return [turned[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]

    def _place(self) -> None:
        run_of = {id(a): n for n, run in enumerate(self._runs()) for a in run}
        names: dict[int, str] = {}
        for a in self.accesses:
            run = run_of[id(a)]
            if run not in names:
                if len(names) == len(LOCATIONS):
                    raise LitmusError(f"the cycle has more than {len(LOCATIONS)} locations")
                names[run] = LOCATIONS[len(names)]
            a.location = names[run]

    def _give_values(self) -> None:
        for run in self._runs():
            value = written = 0
            for a in run:
                if not a.is_read:
                    written += 1
                    value = value + ADDEND * written if a.before.kind == "Amo.Add" else written
                a.value = value

    def last_writes(self) -> dict[str, int]:
        """The last values of locations that more than one access writes."""
        last = {}
        for run in self._runs():
            values = [a.value for a in run if not a.is_read]
            if len(values) > 1:
                last[run[0].location] = values[-1]
        return last


def _segments(edges: list[Edge]) -> list[list[Edge]]:
    segments: list[list[Edge]] = [[]]
    for edge in edges:
        if edge.is_external:
            segments.append([])
        else:
            segments[-1].append(edge)
    return segments[:-1]


def _words(edges: list[Edge]) -> tuple[str, ...]:
    """The first and the last access of each thread, or its only one."""
    words, first = [], edges[0].ends[0]
    length = 0
    for edge, after in zip(edges, [*edges[1:], edges[0]], strict=True):
        if edge.is_external:
            words.append(first + edge.ends[0] if length else first)
            first, length = after.ends[0], 0
        else:
            length += 1
    return tuple(words)


def _parts(edges: list[Edge]) -> tuple[str, ...]:
    """What each thread that has edges adds to the name."""
    parts = []
    for segment in _segments(edges):
        labels = []
        for edge, after in zip(segment, [*segment[1:], None], strict=False):
            # Of two accesses in the middle of a thread that the labels do not tell apart, the write is marked.
            is_open = after is not None and not after.is_communication and not edge.is_communication
            labels.append(edge.label + (".w" if is_open and edge.ends[1] == "W" and not edge.is_pair else ""))
        if labels:
            parts.append("-".join(labels))
    return tuple(parts)


def parse_cycle(text: str) -> Cycle:
    """The cycle that a text such as "PodWW Rfe DpAddrdR Fre" is. @raises LitmusError."""
    return Cycle([parse_edge(word) for word in text.split()])
