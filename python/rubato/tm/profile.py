"""Reads a profile of transactions: why they ran alone, and why they were undone (T61 to T63).

The file is written in place by the running program; tm/profile/layout.hpp has its layout.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import collections
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rubato.errors import UsageError
from rubato.tm import symbols as tm_symbols
from rubato.tm.symbols import Frame, symbols_of

MAGIC = b"RBTMPRO4"
PATH, FRAMES, ACCESS_FRAMES = 232, 26, 10
#: Of a segment, before its rows.
SEGMENT_BYTES = 64
MODULE_BYTES, SITE_WORDS, STACK_WORDS, CONFLICT_WORDS = 256, 160, 32, 16
MOST_THREADS = 1 << 22  # of Linux
#: Kinds of segments.
OF_MODULES, OF_SITES, OF_STACKS, OF_CONFLICTS = 1, 2, 3, 4
#: The cancel of a nested transaction: the attempt goes on.
NESTED = "nested"
ABORTS = (
    "load locked", "store locked", "invalid at load", "invalid at commit", "retry", "mode change", "memory", NESTED,
)  # fmt: skip
SERIALIZATIONS = ("start serial", "in-flight switch", "abort serial", "memory serial", "chosen serial")
CHOSEN = "chosen serial"
SAME = "same word"
#: Of stripes, unless the file says another one: memory of which one record is locked.
STRIPE = 32
HARDWARE = ("conflict", "capacity", "kept out", "needs software", "other")
SIZES, TIMES = 16, 24
#: Where a site's histograms begin, and how many ranges they have; those of ns are of ticks.
HISTOGRAMS = {"reads": (32, SIZES), "writes": (48, SIZES), "retries": (64, SIZES), "ns_of_committed": (80, TIMES),
              "ns_of_aborted": (104, TIMES), "loads": (128, SIZES), "stores": (144, SIZES)}  # fmt: skip

#: (least value, how many) of each range that has any; a range ends where the next power of two begins.
Histogram = list[tuple[int, int]]

Place = int


@dataclass
class Site:
    """The transactions that begin at one place."""

    function: str
    line: str
    committed: int = 0
    read_only: int = 0
    cancelled: int = 0
    aborted: dict[str, int] = field(default_factory=dict)
    serialized: dict[str, int] = field(default_factory=dict)
    ns_committed: int | None = None
    ns_aborted: int | None = None
    ns_gate: int | None = None
    ns_hourglass: int | None = None
    ns_quiescence: int | None = None
    ns_manager: int | None = None
    hardware: dict[str, int] = field(default_factory=dict)
    reads: Histogram = field(default_factory=list)
    writes: Histogram = field(default_factory=list)
    retries: Histogram = field(default_factory=list)
    ns_of_committed: Histogram = field(default_factory=list)
    ns_of_aborted: Histogram = field(default_factory=list)
    loads: Histogram = field(default_factory=list)
    stores: Histogram = field(default_factory=list)

    def attempts_aborted(self) -> int:
        return sum(n for cause, n in self.aborted.items() if cause != NESTED)

    def waits(self) -> dict[str, int] | None:
        """Nanoseconds, by what for; None if times are not known."""
        found = {name: getattr(self, f"ns_{name}") for name in WAITS}
        return None if None in found.values() else found


#: What a thread waits for: to be let in, for a holder of the hourglass, after a commit, and what its manager says.
WAITS = ("gate", "hourglass", "quiescence", "manager")


@dataclass
class Load:
    """What a thread did, or one after another that had the same descriptor."""

    committed: int
    aborted: int
    ns_committed: int | None
    ns_aborted: int | None
    ns_waited: int | None


@dataclass
class Serialization:
    """`what`: the function that has no transactional form, if it is known. `stack`: innermost frame first."""

    cause: str
    count: int
    what: str
    site: Frame
    stack: list[Frame]


@dataclass
class Conflict:
    """`other`: where the transaction began that had locked the address, if one had. `kind`: see `_kinds`."""

    cause: str
    count: int
    address: str
    site: Frame
    other: Frame | None
    stack: list[Frame]
    kind: str = ""


@dataclass
class Profile:
    """All of one process, the most frequent first."""

    process: int
    threads: int
    stacks_every: int
    ns_elapsed: int
    committed: int
    read_only: int
    cancelled: int
    aborted: dict[str, int]
    serialized: dict[str, int]
    loads: list[Load]
    sites: list[Site]
    serializations: list[Serialization]
    conflicts: list[Conflict]
    lost: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def read(file: Path) -> Profile:
    """@raises UsageError if it is no profile, or a damaged one."""
    try:
        content = file.read_bytes()
    except OSError as e:
        raise UsageError(f"{file} cannot be read: {e.strerror}.") from None
    if not content.startswith(MAGIC):
        raise UsageError(f"{file} is not a profile of transactions; `rubato tm run` writes one.")
    try:
        return _Reader(content).read()
    except (struct.error, IndexError):
        raise UsageError(f"{file} is damaged: it ends too early.") from None


@dataclass
class _Tables:
    """All rows of the file that count."""

    modules: list[str]
    sites: list[list[tuple[int, ...]]]  #: by thread
    stacks: list[tuple[int, ...]] = field(default_factory=list)
    conflicts: list[tuple[int, ...]] = field(default_factory=list)
    lost: list[int] = field(default_factory=lambda: [0, 0, 0])


def _tables(content: bytes) -> _Tables:
    """@raises struct.error or IndexError if the file ends too early or has no such form."""
    at, end, threads, modules = struct.unpack_from("<4Q", content, 16)
    if threads > MOST_THREADS:
        raise IndexError
    found = _Tables([], [[] for _ in range(threads)])
    while at < end:
        kind, thread, size, *lost = struct.unpack_from("<6Q", content, at)
        body = content[at + SEGMENT_BYTES : at + size]
        if size <= SEGMENT_BYTES or len(body) != size - SEGMENT_BYTES:
            raise IndexError
        found.lost = [a + b for a, b in zip(found.lost, lost, strict=True)]
        if kind == OF_MODULES:
            paths = (body[i + 24 : i + 24 + PATH] for i in range(0, len(body) - MODULE_BYTES + 1, MODULE_BYTES))
            found.modules += [path.split(b"\0")[0].decode(errors="replace") for path in paths]
        elif kind == OF_SITES:
            found.sites[thread] += _rows(body, SITE_WORDS)
        elif kind == OF_STACKS:
            found.stacks += _rows(body, STACK_WORDS)
        elif kind == OF_CONFLICTS:
            found.conflicts += _rows(body, CONFLICT_WORDS)
        else:
            raise IndexError
        at += size
    found.modules = found.modules[:modules]
    return found


def _rows(body: bytes, words: int) -> list[tuple[int, ...]]:
    whole = len(body) // (8 * words) * (8 * words)
    return [row for row in struct.iter_unpack(f"<{words}Q", body[:whole]) if row[0] != 0]


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.tables = _tables(content)
        (self.process,) = struct.unpack_from("<Q", content, 8)
        start_ns, start_ticks, last_ns, last_ticks, self.stacks_every = struct.unpack_from("<5Q", content, 48)
        (stripe,) = struct.unpack_from("<Q", content, 88)
        self.stripe = stripe or STRIPE
        ticks, self.ns_elapsed = last_ticks - start_ticks, last_ns - start_ns
        self.ns_per_tick = (last_ns - start_ns) / ticks if ticks > 0 else None
        self.modules = dict(enumerate(self.tables.modules, 1))
        self.called: dict[Place, str] = {}
        self.code: dict[tuple[int, int], list[Frame]] = {}

    def read(self) -> Profile:
        sites: dict[Place, list[int]] = {}
        stacks: collections.Counter[tuple[int, ...]] = collections.Counter()
        conflicts: collections.Counter[tuple[int, ...]] = collections.Counter()
        for rows in self.tables.sites:
            for row in rows:
                old = sites.setdefault(row[1], [0] * (SITE_WORDS - 2))
                sites[row[1]] = [a + b for a, b in zip(old, row[2:], strict=True)]
        for row in self.tables.stacks:
            stacks[row[1:4] + row[6 : 6 + min(row[5], FRAMES)]] += row[4]
        for row in self.tables.conflicts:
            frames = tuple(frame for frame in row[6 : 6 + ACCESS_FRAMES] if frame)
            conflicts[row[1:5] + frames] += row[5]
        self._symbolize(sites, stacks, conflicts)
        loads = [self._load(rows) for rows in self.tables.sites]
        return self._profile(sites, stacks, conflicts, loads)

    def _ns(self, ticks: int) -> int | None:
        return round(ticks * self.ns_per_tick) if self.ns_per_tick is not None else None

    def _load(self, rows: list[tuple[int, ...]]) -> Load:
        sums = [sum(column) for column in zip(*rows, strict=True)] or [0] * SITE_WORDS
        return Load(sums[2], sum(sums[5:12]), self._ns(sums[18]), self._ns(sums[19]), self._ns(sum(sums[20:24])))

    def _profile(
        self,
        sites: dict[Place, list[int]],
        stacks: collections.Counter[tuple[int, ...]],
        conflicts: collections.Counter[tuple[int, ...]],
        loads: list[Load],
    ) -> Profile:
        shown = sorted((self._site(place, row) for place, row in sites.items()), key=lambda s: -s.committed)
        aborted: collections.Counter[str] = collections.Counter()
        serialized: collections.Counter[str] = collections.Counter(dict.fromkeys(SERIALIZATIONS, 0))
        for site in shown:
            aborted.update(site.aborted)
            serialized.update(site.serialized)
        return Profile(
            process=self.process,
            threads=len(loads),
            stacks_every=self.stacks_every,
            ns_elapsed=self.ns_elapsed,
            committed=sum(site.committed for site in shown),
            read_only=sum(site.read_only for site in shown),
            cancelled=sum(site.cancelled for site in shown),
            aborted=dict(aborted),
            serialized=dict(serialized),
            loads=loads,
            sites=shown,
            serializations=self._serializations(stacks),
            conflicts=self._conflicts(conflicts),
            lost=dict(zip(("sites", "serializations", "conflicts"), self.tables.lost, strict=True)),
        )

    # Stacks that differ in the library's own frames, or in addresses of one line, are one.
    def _serializations(self, stacks: collections.Counter[tuple[int, ...]]) -> list[Serialization]:
        sums: collections.Counter[tuple[str, str, Frame, tuple[Frame, ...]]] = collections.Counter()
        for key, count in stacks.items():
            stack = tuple(self._stack(key[3:]))
            what = self._name(key[2]) or self._called(SERIALIZATIONS[key[0]], key[3:])
            sums[SERIALIZATIONS[key[0]], what, self._frame(key[1]), stack] += count
        return [
            Serialization(cause, count, what, site, list(stack))
            for (cause, what, site, stack), count in sums.most_common()
        ]

    def _conflicts(self, conflicts: collections.Counter[tuple[int, ...]]) -> list[Conflict]:
        kinds = self._kinds(conflicts)
        sums: collections.Counter[tuple[str, str, Frame, Frame | None, str, tuple[Frame, ...]]] = collections.Counter()
        for key, count in conflicts.items():
            other = self._frame(key[2]) if key[2] else None
            stack = tuple(self._stack(key[4:]))
            kind = kinds.get(key[1:4], "")
            sums[ABORTS[key[0]], self._name(key[3]), self._frame(key[1]), other, kind, stack] += count
        return [
            Conflict(cause, count, address, site, other, list(stack), kind)
            for (cause, address, site, other, kind, stack), count in sums.most_common()
        ]

    def _kinds(self, conflicts: collections.Counter[tuple[int, ...]]) -> dict[tuple[int, ...], str]:
        """By (site, other site, address): `same word`, or the words of the stripe at which the other one conflicts.
        These are known if the other transaction has lost a conflict in this stripe itself."""
        stripe, word = ~(self.stripe - 1), ~7
        words: dict[tuple[Place, int], set[int]] = collections.defaultdict(set)
        for _, site, _, address, *_ in conflicts:
            words[site, address & stripe].add(address & word)
        kinds = {}
        for _, site, other, address, *_ in conflicts:
            theirs = words.get((other, address & stripe), set()) if other and address else set()
            if theirs:
                names = ", ".join(self._name(one) for one in sorted(theirs))
                kinds[site, other, address] = SAME if address & word in theirs else f"another word: {names}"
        return kinds

    # `row`: a site's words without its key and place.
    def _site(self, place: Place, row: list[int]) -> Site:
        frame = self._frame(place)
        committed, read_only, cancelled = row[:3]
        aborted = {name: n for name, n in zip(ABORTS, row[3:], strict=False) if n}
        serialized = {name: n for name, n in zip(SERIALIZATIONS, row[11:], strict=False) if n}
        times = [self._ns(n) for n in row[16:22]]
        hardware = {name: n for name, n in zip(HARDWARE, row[22:], strict=False) if n}
        histograms = {
            name: self._histogram(row[at - 2 : at - 2 + buckets], name.startswith("ns_"))
            for name, (at, buckets) in HISTOGRAMS.items()
        }
        return Site(frame.function, frame.line, committed, read_only, cancelled, aborted, serialized, *times, hardware,
                    **histograms)  # fmt: skip

    def _histogram(self, counts: list[int], is_time: bool) -> Histogram:
        scale = self.ns_per_tick if is_time else 1
        if scale is None:
            return []
        return [(round((1 << i >> 1) * scale), n) for i, n in enumerate(counts) if n]

    # A frame's address is where it goes on: the call is before it.
    def _symbolize(self, sites: Any, stacks: Any, conflicts: Any) -> None:
        places = set(sites)
        for key in stacks:
            places.update((key[1], *key[3:]))
        for key in conflicts:
            places.update((key[1], key[2], *key[4:]))
        self.code = tm_symbols.code(self.modules, ((p >> 48, (p & (1 << 48) - 1) - 1) for p in places if p >> 48))

    def _frames(self, place: Place) -> list[Frame]:
        module, offset = place >> 48, (place & (1 << 48) - 1)
        return self.code.get((module, offset - 1)) or [Frame(f"{offset:#x}", f"{offset:#x}", "")]

    def _frame(self, place: Place) -> Frame:
        return self._frames(place)[0]

    def _stack(self, places: tuple[Place, ...]) -> list[Frame]:
        frames = [frame for place in places for frame in self._frames(place)]
        own = 0
        while own < len(frames) and _is_library(frames[own]):
            own += 1
        return frames[own:]

    def _called(self, cause: str, places: tuple[Place, ...]) -> str:
        """The direct call for which a transaction becomes serial: it is behind the library's."""
        if cause not in ("in-flight switch", "start serial"):
            return ""
        for place in places:
            if not _is_library(self._frame(place)):
                if place not in self.called:
                    module, offset = place >> 48, place & (1 << 48) - 1
                    self.called[place] = tm_symbols.called_behind(self.modules.get(module, ""), offset)
                return self.called[place]
        return ""

    def _name(self, place: Place) -> str:
        module, offset = place >> 48, place & (1 << 48) - 1
        if not module:
            return f"{offset:#x}" if offset else ""
        path = self.modules.get(module, "")
        return symbols_of(path).at(offset) or f"{Path(path).name}+{offset:#x}"


def _is_library(frame: Frame) -> bool:
    module = Path(frame.module).name
    return module.startswith(("libitm.so", "librubato_itm.so")) or frame.function.startswith(
        ("rubato::tm::", "_ITM_", "rubato_tm_")
    )
