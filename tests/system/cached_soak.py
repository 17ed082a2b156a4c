"""All faults at once, for as long as is asked: no crash, no hang, no leak, no wrong value (T90).

    cached_soak.py PROGRAM --discipline tm --minutes 60

Clients store and verify values, while the table grows, pages move, the crawler runs, limits change and all is flushed;
others send half requests and die, hold such open, read large values slowly, and send random bytes; the server is
stopped for seconds. Ends with 1 and says why at the first thing that is wrong.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import collections
import errno
import json
import os
import random
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from cached_fuzz import session
from cached_server import DISCIPLINES, LAST_RESORT, Running, receive_all, run_discipline

OPTIONS = ("-m", "16", "-c", "1000", "-o", "hashpower=12")
KEYS = 5000
LARGE = 1 << 19
#: Resident memory may grow by this after a fifth of the time: what -m varies by, and buffers of slow readers.
MOST_GROWTH = 48 << 20
STOP_SECONDS = 5.0
HALF_BINARY = b"\x80\x01\x00\x04\x08\x00\x00\x00\x00\x00\x10\x00"
HALVES = (b"set half 0 0 100000\r\nonly a part", b"get a", HALF_BINARY, b"ms x 9\r\n")


def value_of(key: int, length: int) -> bytes:
    """Value of that key: another key has another value, and a mixture is recognized."""
    unit = b"%d:" % key
    return (unit * (length // len(unit) + 1))[:length]


class Soak:
    """Faults against one server, each in a thread of its own, until the time is over or one of them fails."""

    def __init__(self, server: Running, minutes: float, seed: int = 1) -> None:
        self.server, self.seconds, self.seed = server, minutes * 60, seed
        self.end = time.monotonic() + self.seconds
        self.counts: collections.Counter[str] = collections.Counter()
        self.failure = ""
        self.turn = 0

    def going(self) -> bool:
        return not self.failure and time.monotonic() < self.end

    def run(self) -> dict[str, float]:
        """@raises AssertionError with what is wrong."""
        parts: list[Callable[[random.Random], None]] = [
            self.client, self.client, self.client, self.administrator, self.die, self.hold, self.read_slowly,
            self.send_anything, self.stop_it, self.watch_memory]  # fmt: skip
        self.works()
        files = self.open_files()
        threads = [threading.Thread(target=self.guarded, args=(part, n)) for n, part in enumerate(parts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.failure, self.failure
        self.works()
        patience = time.monotonic() + LAST_RESORT
        while self.open_files() > files:
            assert time.monotonic() < patience, f"{self.open_files() - files} descriptors are left open"
            time.sleep(0.01)
        return dict(self.counts)

    def guarded(self, part: Callable[[random.Random], None], number: int) -> None:
        try:
            part(random.Random(f"{self.seed}/{number}"))
        except Exception:
            code = self.server.process.poll()
            self.failure += f"{part.__name__}: {'' if code is None else f'the server ended with {code}; '}"
            self.failure += traceback.format_exc(limit=-2)

    def works(self) -> None:
        answer = self.server.ask(b"set works 0 0 3\r\nyes\r\nget works\r\nquit\r\n")
        assert answer.endswith(b"yes\r\nEND\r\n"), answer

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def resident(self) -> int:
        return int(Path(f"/proc/{self.server.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    # --- parts -----------------------------------------------------------------------------------------------
    def client(self, draw: random.Random) -> None:
        with self.server.connect() as connection:
            stream = connection.makefile("rb")
            while self.going():
                for _ in range(10):
                    self.store(connection, stream.readline, draw)
                keys = [draw.randrange(KEYS) for _ in range(20)]
                connection.sendall(b"get " + b" ".join(b"k%d" % k for k in keys) + b"\r\n")
                while (line := stream.readline()) != b"END\r\n":
                    assert line.startswith(b"VALUE k"), line
                    _, name, _, length = line.split()
                    data = stream.read(int(length) + 2)
                    assert data == value_of(int(name[1:]), int(length)) + b"\r\n", (name, data[:40])
                    self.counts["values verified"] += 1

    def store(self, connection: socket.socket, answer: Callable[[], bytes], draw: random.Random) -> None:
        key = draw.randrange(KEYS)
        if draw.random() < 0.1:
            connection.sendall(b"delete k%d\r\n" % key)
            assert answer() in (b"DELETED\r\n", b"NOT_FOUND\r\n")
            return
        large = draw.randrange(200_000) if draw.random() < 0.1 else 7
        data = value_of(key, draw.choice([1, 10, 100, 1000, 5000, large]))
        expiry = draw.choice([0, 0, 1, 100])
        connection.sendall(b"set k%d 0 %d %d\r\n%s\r\n" % (key, expiry, len(data), data))
        said = answer()
        # At its limit, and with all that could go being sent, it may have no room for a large value.
        full = said == b"SERVER_ERROR out of memory storing object\r\n"
        assert said == b"STORED\r\n" or full, said
        self.counts["refused for want of memory" if full else "values stored"] += 1

    def administrator(self, draw: random.Random) -> None:
        while self.going():
            self.turn += 1
            commands = [b"slabs reassign 0 %d" % draw.randrange(1, 40), b"lru_crawler crawl all", b"stats",
                        b"stats slabs", b"stats items", b"cache_memlimit %d" % draw.choice([12, 16, 24]),
                        b"lru mode %s" % draw.choice([b"flat", b"segmented"]), b"slabs automove %d" % draw.randrange(3),
                        b"lru tune %d 20 0.1 2" % draw.choice([10, 30])]  # fmt: skip
            if self.turn % 20 == 0:
                commands.append(b"flush_all %d" % draw.randrange(2))
            draw.shuffle(commands)
            commands += [b"lru_crawler metadump all"]
            assert b"END" in self.server.ask(b"\r\n".join([*commands, b"quit\r\n"]))
            self.counts["turns of the administrator"] += 1
            time.sleep(0.02)

    def die(self, draw: random.Random) -> None:
        while self.going():
            client = self.server.connect()
            client.sendall(draw.choice(HALVES))
            if draw.random() < 0.5:  # with a reset
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
            self.counts["clients that died"] += 1
            time.sleep(0.005)

    def hold(self, draw: random.Random) -> None:
        while self.going():
            clients = [self.server.connect() for _ in range(200)]
            for n, client in enumerate(clients):
                client.sendall(b"set held%d 0 0 10\r\n01234" % n)
            time.sleep(draw.random())
            for client in clients:
                client.sendall(b"56789\r\n")
            for client in clients:
                said = client.recv(100)
                assert said.startswith((b"STORED", b"SERVER_ERROR out of memory")), said
                client.close()
            self.counts["half requests finished"] += len(clients)

    def read_slowly(self, draw: random.Random) -> None:
        value = value_of(KEYS, LARGE)
        while self.going():
            with self.server.connect() as client:
                client.sendall(b"set large 0 0 %d\r\n%s\r\n" % (LARGE, value) + b"get large\r\n" * 5 + b"quit\r\n")
                time.sleep(draw.random())
                head, _, rest = receive_all(client).partition(b"\r\n")
            # Each either is whole, or the item is gone.
            for part in rest.split(b"END\r\n")[:-1]:
                assert part in (b"", b"VALUE large 0 %d\r\n%s\r\n" % (LARGE, value)), part[:40]
            assert head.startswith((b"STORED", b"SERVER_ERROR out of memory")), head
            self.counts["large values read slowly"] += 1

    def send_anything(self, draw: random.Random) -> None:
        while self.going():
            protocol = draw.choice(["text", "meta", "binary"])
            requests = session(draw.randrange(1 << 30), protocol, wild=True)
            with self.server.connect() as client:
                try:
                    for request in requests:
                        client.sendall(request)
                    client.shutdown(socket.SHUT_WR)
                    receive_all(client)
                except OSError as closed:  # it may close what it does not understand
                    if closed.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                        raise
            self.counts["random requests"] += len(requests)

    def stop_it(self, draw: random.Random) -> None:
        while self.going():
            pause = min(STOP_SECONDS, self.seconds / 20)
            self.server.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            self.server.process.send_signal(signal.SIGCONT)
            self.counts["stops"] += 1
            resume = time.monotonic() + pause * (8 + 4 * draw.random())
            while self.going() and time.monotonic() < resume:
                time.sleep(0.05)

    def watch_memory(self, _: random.Random) -> None:
        settled = time.monotonic() + self.seconds / 5
        first = 0
        while self.going():
            time.sleep(0.1)
            if time.monotonic() > settled:
                first = first or self.resident()
                self.counts["most resident bytes"] = max(self.counts["most resident bytes"], self.resident())
                assert self.resident() < first + MOST_GROWTH, f"resident memory grew from {first} to {self.resident()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--discipline", choices=DISCIPLINES, default="locks")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    server = run_discipline(arguments.program, arguments.discipline, *OPTIONS)
    try:
        print(json.dumps(Soak(server, arguments.minutes, arguments.seed).run()))
    except AssertionError as wrong:
        print(f"cached_soak: {wrong}", file=sys.stderr)
        return 1
    finally:
        code = server.stop()
    if code != 0:
        print(f"cached_soak: the server ended with {code}", file=sys.stderr)
    return min(code & 0xFF, 1)


if __name__ == "__main__":
    sys.exit(main())
