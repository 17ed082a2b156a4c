"""Edges of a litmus test's cycle, in diy's words: PodWR, Rfe, Fence.rw.rwdWW, DpAddrdR, LxSx, PodRRAqP, RfiAmoP.

An edge goes from one access to the next. Its ends are a read or a write each, and may have an annotation:

    P    a plain lw or sw
    Aq   lr.w.aq, amoswap.w.aq: an acquire
    Rl   amoswap.w.rl: a release
    AR   lr.w.aqrl, amoswap.w.aqrl: both
    X    of a write: lr.w and sc.w
    Amo  of a write: amoswap.w without bits

An edge without annotations takes those of its neighbours in the cycle, or else P.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from litmus_file import LitmusError

#: Annotations of reads and of writes, and of the two halves of an atomic pair.
READ_ATOMS = {"P", "Aq", "AR"}
WRITE_ATOMS = {"P", "Aq", "Rl", "AR", "X", "Amo"}
STORE_HALF_ATOMS = {"P", "Rl", "AR"}

_ATOM = "(?:P|Aq|Rl|AR|X|Amo)"
_ATOMS = rf"(?:(?P<first>{_ATOM})(?P<second>{_ATOM}))?"
_SET = "(?:rw|r|w)"
_COMMUNICATION = re.compile(rf"(?P<kind>Rf|Fr|Ws|Co)(?P<reach>[ei]){_ATOMS}")
_ORDER = re.compile(rf"(?:Po|Fence\.(?P<fence>tso|{_SET}\.{_SET}))(?P<place>[sd])(?P<from>[RW])(?P<to>[RW]){_ATOMS}")
_DEPENDENCE = re.compile(rf"Dp(?P<kind>Addr|Data|CtrlFenceI|Ctrl)(?P<place>[sd])(?P<to>[RW]){_ATOMS}")
_PAIR = re.compile(rf"(?P<kind>LxSx|Amo\.Swap|Amo\.Add){_ATOMS}")

#: Ends of the communications.
_ENDS = {"Rf": ("W", "R"), "Fr": ("R", "W"), "Ws": ("W", "W")}


@dataclass(frozen=True)
class Edge:
    """An edge; `atoms` are the annotations of its ends, empty where it leaves them open."""

    kind: str  #: Po, Fence.A.B, DpAddr, Rf, Fr, Ws, LxSx, Amo.Swap ...: without places, ends and annotations
    ends: tuple[str, str]  #: R or W
    is_external: bool = False  #: between threads
    is_same: bool = True  #: both ends are at one location
    atoms: tuple[str, str] = ("", "")

    @property
    def is_communication(self) -> bool:
        """A read or a write meets another access's value."""
        return self.kind in _ENDS

    @property
    def is_pair(self) -> bool:
        """Its ends are one atomic operation."""
        return self.kind in {"LxSx", "Amo.Swap", "Amo.Add"}

    @property
    def is_dependence(self) -> bool:
        """The second access needs the first one's value."""
        return self.kind.startswith("Dp")

    def __str__(self) -> str:
        marks = "".join(self.atoms) if set(self.atoms) - {"", "P"} else ""
        if self.is_communication:
            return self.kind + ("e" if self.is_external else "i") + marks
        if self.is_pair:
            return self.kind + marks
        ends = self.ends[1] if self.is_dependence else "".join(self.ends)
        return self.kind + ("s" if self.is_same else "d") + ends + marks

    @property
    def label(self) -> str:
        """The edge's part of a test's name: po, fence.rw.rw, addr, rfi, poaqp ..."""
        marks = "".join(self.atoms).lower() if set(self.atoms) - {"", "P"} else ""
        word = self.kind.removeprefix("Dp").lower()
        if self.is_communication:
            return word + "i" + marks
        if self.is_same and not self.is_pair:
            word += "s" if self.kind == "Po" else ".s"
        return word + marks

    def with_atoms(self, first: str, second: str) -> Edge:
        """The same edge between accesses of these annotations."""
        return replace(self, atoms=(first, second))


def _atoms_of(match: re.Match[str]) -> tuple[str, str]:
    return match["first"] or "", match["second"] or ""


def _read(word: str) -> Edge | None:
    if match := _COMMUNICATION.fullmatch(word):
        kind = "Ws" if match["kind"] == "Co" else match["kind"]
        return Edge(kind, _ENDS[kind], match["reach"] == "e", True, _atoms_of(match))
    if match := _ORDER.fullmatch(word):
        kind = f"Fence.{match['fence']}" if match["fence"] else "Po"
        return Edge(kind, (match["from"], match["to"]), False, match["place"] == "s", _atoms_of(match))
    if match := _DEPENDENCE.fullmatch(word):
        return Edge(f"Dp{match['kind']}", ("R", match["to"]), False, match["place"] == "s", _atoms_of(match))
    if match := _PAIR.fullmatch(word):
        return Edge(match["kind"], ("R", "W"), False, True, _atoms_of(match))
    return None


def parse_edge(word: str) -> Edge:
    """The edge that a word of a cycle names. @raises LitmusError."""
    edge = _read(word)
    if edge is None:
        raise LitmusError(f"'{word}' is no edge: they are like PodWR, Rfe, Fence.rw.rwdWW, DpAddrdR, LxSx, PodRRAqP")
    if edge.kind == "DpData" and edge.ends[1] == "R":
        raise LitmusError(f"'{word}': data goes to a write, so the edge is DpData{'s' if edge.is_same else 'd'}W")
    for end, atom in zip(edge.ends, edge.atoms, strict=True):
        if atom and atom not in (READ_ATOMS if end == "R" else WRITE_ATOMS):
            raise LitmusError(f"'{word}': a {'read' if end == 'R' else 'write'} has no annotation {atom}")
    return edge
