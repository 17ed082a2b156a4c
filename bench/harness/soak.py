"""A week of a cache beside memcached, on clocks that run fast (`bench/cached --soak`).

Each day has sizes and lifetimes of its own. In a step both servers get the same requests, and what a server does not
have is stored there. Then both clocks move on: rubato-cached's by its command debugtime, memcached's by a library that
is preloaded (bench/moved_clock.cpp). Background work gets real time only: each step leaves both the same.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools
import math
import mmap
import random
import re
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rubato.errors import UsageError

MINUTE, HOUR, DAY = 60, 3600, 86400
#: A day's hits may be this part of memcached's, as for the other rows of hits: below is lower.
LEAST = 0.995
#: Seconds that a step leaves to background work, and after which a clock that does not move is an error.
PAUSE, LONGEST = 0.01, 60
#: Sizes and lifetimes repeat after so many keys.
PERIOD = 997


@dataclass(frozen=True)
class Kind:
    """Keys of a kind. A key's size (bytes) and lifetime (seconds; 0: for ever) are between two ends, evenly in their
    logarithms. `fresh`: how many keys an hour take the place of as many others."""

    name: str
    keys: int
    size: tuple[int, int]
    lifetime: tuple[int, int]
    zipf: float = 0.9
    fresh: int = 0


@dataclass(frozen=True)
class Day:
    """`kinds`: with their shares of the requests. `turns`: hours after which the next kind is asked alone; 0: all are
    asked at once."""

    name: str
    kinds: tuple[tuple[Kind, float], ...]
    turns: int = 0


PAGES = Kind("page", 100_000, (500, 3500), (6 * HOUR, 6 * HOUR))
LASTING = Kind("lasting", 15_000, (600, 800), (0, 0), zipf=0.5)
SESSIONS = Kind("session", 12_000, (600, 800), (10 * MINUTE, 10 * MINUTE), zipf=0.3, fresh=12_000)
LARGER = Kind("page", 100_000, (1000, 7000), (6 * HOUR, 6 * HOUR))
LARGE = Kind("large", 8_000, (9_000, 13_000), (20 * MINUTE, 20 * MINUTE), zipf=0.6)
SMALL = Kind("small", 200_000, (300, 500), (4 * HOUR, 4 * HOUR), zipf=0.7)
TINY = Kind("tiny", 400_000, (20, 300), (DAY, DAY), zipf=0.8)
ANY = Kind("any", 100_000, (50, 20_000), (10 * MINUTE, DAY))
WEEK = (
    Day("pages of 0.5 to 3.5 KB for 6 h", ((PAGES, 1.0),)),
    Day("sessions of 10 min beside items of the same size for ever", ((LASTING, 0.4), (SESSIONS, 0.6))),
    Day("the pages, twice as large", ((LARGER, 1.0),)),
    Day("two hours of 11 KB for 20 min, two of 400 B for 4 h", ((LARGE, 1.0), (SMALL, 1.0)), turns=2),
    Day("20 to 300 B for a day", ((TINY, 1.0),)),
    Day("50 B to 20 KB, 10 min to a day", ((ANY, 1.0),)),
    Day("the pages of the first day, with sessions", ((PAGES, 0.7), (SESSIONS, 0.3))),
)


@dataclass(frozen=True)
class Request:
    key: bytes
    size: int
    lifetime: int


class Requests:
    """What the clients of the week ask, the same for one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._weights: dict[Kind, list[float]] = {}
        self._forms: dict[Kind, list[tuple[int, int]]] = {}

    def at(self, second: int, number: int) -> list[Request]:
        day = WEEK[second // DAY % len(WEEK)]
        kinds = day.kinds
        if day.turns:
            kinds = (kinds[second // (day.turns * HOUR) % len(kinds)],)
        whole = sum(share for _, share in kinds)
        found = [r for kind, share in kinds for r in self._of(kind, second, round(number * share / whole))]
        self._random.shuffle(found)
        return found

    def _of(self, kind: Kind, second: int, number: int) -> list[Request]:
        if kind not in self._weights:
            ranks = range(1, kind.keys + 1)
            self._weights[kind] = list(itertools.accumulate(rank**-kind.zipf for rank in ranks))
            self._forms[kind] = [(self._between(kind.size), self._between(kind.lifetime)) for _ in range(PERIOD)]
        forms, first, name = self._forms[kind], kind.fresh * second // HOUR, kind.name.encode()
        drawn = self._random.choices(range(first, first + kind.keys), cum_weights=self._weights[kind], k=number)
        return [Request(b"%s:%d" % (name, n), *forms[n % PERIOD]) for n in drawn]

    def _between(self, ends: tuple[int, int]) -> int:
        low, high = ends
        return low if low == high else round(math.exp(self._random.uniform(math.log(low), math.log(high))))


class Client:
    """A connection by the meta commands."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LONGEST)
        self._value = memoryview(b"v" * max(kind.size[1] for day in WEEK for kind, _ in day.kinds))

    def close(self) -> None:
        self._socket.close()

    def missing(self, wanted: Sequence[Request]) -> list[Request]:
        self._socket.sendall(b"".join(b"mg %s\r\n" % request.key for request in wanted) + b"mn\r\n")
        answers = self._until(b"MN\r\n").split(b"\r\n")
        if len(answers) != len(wanted) or not set(answers) <= {b"HD", b"EN"}:
            raise UsageError(f"{len(wanted)} gets have {len(answers)} answers, {answers[-1]!r} at last.")
        return [request for request, answer in zip(wanted, answers, strict=True) if answer == b"EN"]

    def store(self, requests: Sequence[Request]) -> int:
        """@returns how many were refused."""
        parts: list[bytes | memoryview] = []
        for request in requests:
            parts.append(b"ms %s %d T%d q\r\n" % (request.key, request.size, request.lifetime))
            parts += [self._value[: request.size], b"\r\n"]
        self._socket.sendall(b"".join([*parts, b"mn\r\n"]))
        refused = self._until(b"MN\r\n")
        return refused.count(b"\r\n") + 1 if refused else 0

    def ask(self, command: bytes, end: bytes) -> bytes:
        self._socket.sendall(command + b"\r\n")
        return self._until(end)

    def stats(self) -> dict[str, int]:
        found = re.findall(rb"STAT (\w+) (\d+)(?=\r\n|$)", self.ask(b"stats", b"END\r\n"))
        return {name.decode(): int(value) for name, value in found}

    def _until(self, end: bytes) -> bytes:
        """What was answered before `end`, without its last line's end."""
        parts = bytearray()
        while not parts.endswith(end):
            try:
                part = self._socket.recv(1 << 20)
            except OSError as e:
                raise UsageError(f"a server does not answer: {e}.") from None
            if not part:
                raise UsageError("a server has closed its connection.")
            parts += part
        return bytes(parts[: -len(end)]).removesuffix(b"\r\n")


class MovedClock:
    """The file that bench/moved_clock.cpp reads, and how a memcached is started that follows it. `library`: by a path
    that LD_PRELOAD can name."""

    def __init__(self, file: Path, library: Path) -> None:
        file.write_bytes(bytes(8))
        with file.open("r+b") as opened:
            self._seconds = mmap.mmap(opened.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(library), "RUBATO_MOVED_CLOCK": str(file)}

    def move_to(self, seconds: int) -> None:
        self._seconds[:] = struct.pack("<q", seconds)


@dataclass
class Count:
    asked: int = 0
    hits: int = 0
    refused: int = 0
    evictions: int = 0

    @property
    def share(self) -> float:
        return self.hits / self.asked if self.asked else 0.0


@dataclass
class DayResult:
    name: str
    ours: Count = field(default_factory=Count)
    theirs: Count = field(default_factory=Count)

    @property
    def ratio(self) -> float | None:
        return self.ours.share / self.theirs.share if self.theirs.hits else None

    @property
    def is_lower(self) -> bool:
        return self.ours.share < LEAST * self.theirs.share

    def as_dict(self) -> dict[str, object]:
        return {"day": self.name, "rubato-cached": vars(self.ours), "memcached": vars(self.theirs),
                "ratio": self.ratio, "is_lower": self.is_lower}  # fmt: skip


class Soak:
    """`ours` and `theirs`: connections; `clock`: that of theirs."""

    def __init__(self, ours: Client, theirs: Client, clock: MovedClock) -> None:
        self._ours, self._theirs, self._clock = ours, theirs, clock
        self._started = {client: client.stats()["uptime"] for client in (ours, theirs)}
        self._evictions = {ours: 0, theirs: 0}

    def run(self, days: int, step: int, number: int, seed: int = 1) -> list[DayResult]:
        """`step`: seconds by which the clocks move after `number` requests."""
        requests, results = Requests(seed), []
        for day in range(days):
            result = DayResult(WEEK[day % len(WEEK)].name)
            for second in range(day * DAY, (day + 1) * DAY, step):
                wanted = requests.at(second, number)
                pairs = [(self._ours, result.ours), (self._theirs, result.theirs)]
                for client, count in pairs if second // step % 2 else reversed(pairs):
                    self._serve(client, wanted, count)
                self._move_to(second + step, step)
            for client, count in ((self._ours, result.ours), (self._theirs, result.theirs)):
                before, self._evictions[client] = self._evictions[client], client.stats()["evictions"]
                count.evictions = self._evictions[client] - before
            results.append(result)
        return results

    @staticmethod
    def _serve(client: Client, wanted: list[Request], count: Count) -> None:
        missing = client.missing(wanted)
        count.asked += len(wanted)
        count.hits += len(wanted) - len(missing)
        count.refused += client.store(missing)

    def _move_to(self, second: int, step: int) -> None:
        self._clock.move_to(second)
        self._ours.ask(b"debugtime %d" % step, b"OK\r\n")
        latest = time.monotonic() + LONGEST
        for client, started in self._started.items():
            while client.stats()["uptime"] < started + second:
                if time.monotonic() > latest:
                    raise UsageError("the clock of a server does not move.")
                time.sleep(0.002)
        time.sleep(PAUSE)
