"""Restarts of a cache server with a file of items (-e), for as long as is asked: no wrong value, and nothing is lost
that a graceful stop has kept.

    cached_restarts.py PROGRAM --discipline tm --minutes 60

Clients store values with a number that grows, and verify what they read. Meanwhile the server is stopped gracefully,
ended, or killed at any moment: while it serves, while it writes its file, while it reads it. Now and then the file is
damaged. A value that was replaced, deleted, or stored before a loss must not come back. Ends with 1 and says why at the
first thing that is wrong.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import BinaryIO

from cached_server import DISCIPLINES, LAST_RESORT, Running, free_port, run_discipline

OPTIONS = ("-c", "100", "-A")
#: Megabytes that are enough for all values, so that none is evicted, and megabytes that are not.
ENOUGH, TOO_LITTLE = "256", "4"
#: Signals that end a server while it reads or writes its file. The last one changes nothing in a graceful stop.
ENDS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
CLIENTS = 3
KEYS = 400  #: of a client
SIZES = (10, 100, 1000, 5000, 50_000, 600_000)
WEIGHTS = (30, 30, 30, 10, 3, 1)


class Model:
    """Values that a client may find, by key. None stands for a miss."""

    def __init__(self, number: int) -> None:
        self.number, self.version = number, 0
        self.evicts = False  #: the server may drop a value at any time
        self.may_be: dict[int, set[bytes | None]] = {key: {None} for key in range(KEYS)}

    def value(self, key: int, size: int) -> bytes:
        self.version += 1
        head = b"%d/%d/%d:" % (self.number, key, self.version)
        return head + b"x" * max(0, size - len(head))

    def settle(self, key: int, value: bytes | None) -> None:
        self.may_be[key] = {value, None} if self.evicts else {value}

    def lose_all(self) -> None:
        self.may_be = {key: {None} for key in range(KEYS)}

    def doubt_all(self) -> None:
        for values in self.may_be.values():
            values.add(None)


class Restarts:
    def __init__(self, program: Path, disciplines: list[str], file: Path, seed: int = 1) -> None:
        self.program, self.disciplines, self.file, self.draw = program, disciplines, file, random.Random(seed)
        self.meta = file.with_name(file.name + ".meta")
        self.models = [Model(n) for n in range(CLIENTS)]
        self.counts: collections.Counter[str] = collections.Counter()
        self.failure = ""

    def run(self, seconds: float) -> dict[str, int]:
        """@raises AssertionError with what is wrong."""
        end = time.monotonic() + seconds
        while not self.failure and time.monotonic() < end:
            self.one_life()
        assert not self.failure, self.failure
        return dict(self.counts)

    def one_life(self) -> None:
        if not self.meta.exists():
            for model in self.models:
                model.lose_all()
        elif self.draw.random() < 0.1:
            self.damage()
        server = self.start()
        if not server:
            return
        threads = [threading.Thread(target=self.client, args=(server.port, model, self.draw.random()))
                   for model in self.models]  # fmt: skip
        for thread in threads:
            thread.start()
        time.sleep(self.draw.random() ** 2 * 2)
        code = self.stop(server)
        for thread in threads:
            thread.join()
        self.check_end(code, server)

    def start(self) -> Running | None:
        """A server that serves, or none if it was killed before that."""
        discipline = self.draw.choice(self.disciplines)
        memory = TOO_LITTLE if self.draw.random() < 0.15 else ENOUGH
        for model in self.models:
            model.evicts = memory == TOO_LITTLE
            if model.evicts:
                model.doubt_all()
        options = [*OPTIONS, "-m", memory, "-e", str(self.file), "-t", str(self.draw.choice([1, 2, 4]))]
        self.counts["lives with too little memory"] += memory == TOO_LITTLE
        if self.meta.exists() and self.draw.random() < 0.2:
            command = [self.program, "-u", "root", "-l", "127.0.0.1", "-p", str(free_port()),
                       "-o", f"discipline={discipline}", *options]  # fmt: skip
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            time.sleep(self.draw.random() * 0.1)
            process.send_signal(self.draw.choice(ENDS))
            process.wait(LAST_RESORT)
            self.counts["killed as it begins"] += 1
            return None
        return run_discipline(self.program, discipline, *options)

    def stop(self, server: Running) -> int:
        way = self.draw.choices(["graceful", "command", "killed as it writes", "killed", "ended"], [5, 2, 3, 2, 1])[0]
        self.counts[way] += 1
        if way == "command":
            with contextlib.suppress(OSError), server.connect() as client:
                client.sendall(b"shutdown graceful\r\n")
                client.recv(1)
        else:
            first = {"killed": signal.SIGKILL, "ended": signal.SIGTERM}.get(way, signal.SIGUSR1)
            server.process.send_signal(first)
        if way == "killed as it writes":
            time.sleep(self.draw.random() * 0.1)
            server.process.send_signal(self.draw.choice(ENDS))
        return server.process.wait(LAST_RESORT)

    def check_end(self, code: int, server: Running) -> None:
        assert server.process.stderr
        said = server.process.stderr.read()
        if code not in (0, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT):
            self.failure += f"the server ended with {code}: {said}"

    def damage(self) -> None:
        data = bytearray(self.file.read_bytes())
        if self.draw.random() < 0.3:
            data = data[: self.draw.randrange(len(data))]
        elif data:
            data[self.draw.randrange(len(data))] ^= 1 << self.draw.randrange(8)
        self.file.write_bytes(data)
        for model in self.models:
            model.doubt_all()
        self.counts["damaged files"] += 1

    # --- a client ----------------------------------------------------------------------------------------------
    def client(self, port: int, model: Model, seed: float) -> None:
        draw = random.Random(seed)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT) as connection:
                stream = connection.makefile("rb")
                for key in draw.sample(range(KEYS), KEYS // 4):  # at first: what came back
                    self.get(connection, stream, model, key)
                while True:
                    self.turn(connection, stream, model, draw)
        except (OSError, EOFError):
            pass  # the server has ended
        except Exception:
            self.failure += traceback.format_exc(limit=-2)

    def turn(self, connection: socket.socket, stream: BinaryIO, model: Model, draw: random.Random) -> None:
        key = draw.randrange(KEYS)
        if draw.random() < 0.5:
            return self.get(connection, stream, model, key)
        if draw.random() < 0.1:
            model.may_be[key] |= {None}
            connection.sendall(b"delete %s\r\n" % self.name(model, key))
            assert self.line(stream) in (b"DELETED\r\n", b"NOT_FOUND\r\n")
            model.may_be[key] = {None}
            return None
        data = model.value(key, draw.choices(SIZES, WEIGHTS)[0])
        model.may_be[key] |= {data}  # until it is answered either may be there
        connection.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (self.name(model, key), len(data), data))
        answer = self.line(stream)
        if model.evicts and answer == b"SERVER_ERROR out of memory storing object\r\n":
            model.may_be[key] = (model.may_be[key] - {data}) | {None}
            return None
        assert answer == b"STORED\r\n", answer
        model.settle(key, data)
        self.counts["values stored"] += 1
        return None

    def get(self, connection: socket.socket, stream: BinaryIO, model: Model, key: int) -> None:
        connection.sendall(b"get %s\r\n" % self.name(model, key))
        line, found = self.line(stream), None
        if line != b"END\r\n":
            found = self.take(stream, int(line.split()[3]) + 2)[:-2]
            assert self.line(stream) == b"END\r\n"
        allowed = model.may_be[key]
        if found not in allowed:
            shown = [value and value[:30] for value in allowed]
            raise AssertionError(f"key {key} has {found and found[:30]!r}, and may have {shown}")
        model.settle(key, found)
        self.counts["values verified" if found else "misses verified"] += 1

    def name(self, model: Model, key: int) -> bytes:
        return b"client%d-%d" % (model.number, key)

    def line(self, stream: BinaryIO) -> bytes:
        line = stream.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line

    def take(self, stream: BinaryIO, length: int) -> bytes:
        data = stream.read(length)
        if len(data) < length:
            raise EOFError
        return data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--discipline", choices=[*DISCIPLINES, "any"], default="locks",
                        help="any: another one at each start")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    disciplines = DISCIPLINES if given.discipline == "any" else [given.discipline]
    with tempfile.TemporaryDirectory() as folder:
        try:
            restarts = Restarts(given.program, disciplines, Path(folder) / "items", given.seed)
            print(json.dumps(restarts.run(given.minutes * 60)))
        except AssertionError as wrong:
            print(f"cached_restarts: {wrong}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
