"""`watch`: a client that gets a line for each fetch, store, eviction or connection."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from typing import BinaryIO

import pytest

from cached_server import Running

Start = Callable[..., Running]


class Watch:
    """A client that watches, and its lines without time and number, which it checks."""

    def __init__(self, server: Running, kinds: str = ""):
        self.client = server.connect()
        self.stream: BinaryIO = self.client.makefile("rb")
        self.number = 0
        self.client.sendall(f"watch {kinds}".strip().encode() + b"\r\n")
        assert self.stream.readline() == b"OK\r\n"

    def line(self) -> str:
        found = re.fullmatch(r"ts=\d+\.\d+ gid=(\d+) (.*)\n", self.stream.readline().decode())
        assert found and int(found[1]) > self.number
        self.number = int(found[1])
        return found[2]

    def lines(self, number: int) -> list[str]:
        return [self.line() for _ in range(number)]

    def close(self) -> None:
        self.client.shutdown(socket.SHUT_RDWR)  # the stream has it, too
        self.stream.close()
        self.client.close()


def descriptor_of(server: Running, client: socket.socket) -> str:
    address = "tcp:{}:{}".format(*client.getsockname())
    [name] = [name for name, value in server.stats("conns").items() if value == address and name.endswith(":addr")]
    return name.split(":")[0]


def test_fetches_and_stores_are_told_as_memcached_tells_them(start: Start) -> None:
    server = start()
    with server.connect() as client:
        client.sendall(b"mn\r\n")
        assert client.recv(10) == b"MN\r\n"
        fd = descriptor_of(server, client)
        watch = Watch(server, "fetchers mutations")
        client.sendall(b"set f%o 0 100 4\r\nvbar\r\nget f%o none\r\nadd f%o 0 0 1\r\nx\r\nappend f%o 0 0 1\r\n!\r\n"
                       b"cas f%o 0 0 1 0\r\nx\r\ntouch f%o 0\r\nset big 0 0 2000000 noreply\r\n" + bytes(2_000_002)
                       + b"mg f%o\r\nms f%o 2 MR\r\nok\r\nmd f%o\r\nquit\r\n")  # fmt: skip
        assert watch.lines(15) == [
            f"type=item_get key=f%25o status=not_found clsid=0 cfd={fd} size=0",
            f"type=item_store key=f%25o status=stored cmd=set ttl=100 clsid=1 cfd={fd} size=4",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=4",
            f"type=item_get key=none status=not_found clsid=0 cfd={fd} size=0",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=4",
            f"type=item_store key=f%25o status=not_stored cmd=add ttl=0 clsid=1 cfd={fd} size=1",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=4",
            f"type=item_store key=f%25o status=stored cmd=append ttl=0 clsid=1 cfd={fd} size=1",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=5",
            f"type=item_store key=f%25o status=exists cmd=cas ttl=0 clsid=1 cfd={fd} size=1",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=5",
            f"type=item_store key=big status=too_large cmd=set ttl=0 clsid=0 cfd={fd} size=0",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=5",
            f"type=item_get key=f%25o status=found clsid=1 cfd={fd} size=5",
            f"type=item_store key=f%25o status=stored cmd=replace ttl=0 clsid=1 cfd={fd} size=2",
        ]
    watch.close()


def test_without_kinds_fetches_are_told_alone(start: Start) -> None:
    server = start()
    watch = Watch(server)
    server.ask(b"set a 0 0 1\r\nx\r\nget a\r\nget a b\r\nquit\r\n")
    statuses = [re.findall(r"type=(\S+) key=(\S+) status=(\S+)", line)[0] for line in watch.lines(4)]
    assert statuses == [("item_get", "a", "not_found")] + [("item_get", "a", "found")] * 2 + [
        ("item_get", "b", "not_found")
    ]
    watch.close()


@pytest.mark.parametrize("options", [(), ("-C",)])
def test_evictions_are_told_with_their_keys(start: Start, options: tuple[str, ...]) -> None:
    server = start("-m", "2", *options)
    watch = Watch(server, "evictions")
    value = b"v" * 50_000
    server.ask(b"".join(b"set key%d 0 0 50000\r\n%s\r\n" % (n, value) for n in range(100)) + b"quit\r\n")
    number = int(server.stat("evictions"))
    assert number > 50
    lines = watch.lines(number)
    told = [re.fullmatch(r"type=eviction key=key(\d+) fetch=no ttl=-1 la=\d+ clsid=(\d+) size=50000", line)
            for line in lines]  # fmt: skip
    assert all(told)
    assert len({line[1] for line in told if line}) == number
    watch.close()


def test_connections_are_told_as_they_come_and_go(start: Start) -> None:
    server = start("-o", "idle_timeout=1000,debugtime")
    watch = Watch(server, "connevents")

    def events(port: int) -> list[str]:
        """Its two lines: other connections, of `ask` and `stat`, come and go, too."""
        own: list[str] = []
        while len(own) < 2:
            own += [line for line in watch.lines(1) if f" rport={port} " in line]
        return own

    for data, reason in ((b"quit\r\n", "normal"), (b"", "normal"), (b"GET / HTTP/1.1\r\n", "error")):
        with server.connect() as client:
            host, port = client.getsockname()
            client.sendall(data or b"mn\r\n")
            if not data:
                assert client.recv(10) == b"MN\r\n"
                client.shutdown(socket.SHUT_WR)
            assert client.recv(10) == b""
        new, end = events(port)
        assert re.fullmatch(rf"type=conn_new rip={host} rport={port} transport=tcp cfd=\d+", new)
        assert re.fullmatch(rf"type=conn_close rip={host} rport={port} transport=tcp reason={reason} cfd=\d+", end)
    with server.connect() as client:
        client.sendall(b"mn\r\n")
        assert client.recv(10) == b"MN\r\n"
        server.ask(b"debugtime 1002\r\nquit\r\n")
        assert client.recv(10) == b""
        assert "reason=idle_timeout" in events(client.getsockname()[1])[1]
    watch.close()


def test_a_watcher_that_does_not_read_loses_lines_and_holds_up_nobody(start: Start) -> None:
    server = start("-o", "watcher_logbuf_size=8")
    watch = Watch(server)
    key = b"k" * 200
    requests = b"".join(b"get %s%d\r\n" % (key, n) for n in range(40_000))  # 11 MB of lines
    assert server.ask(requests + b"quit\r\n") == b"END\r\n" * 40_000
    skipped = int(server.stat("log_watcher_skipped"))
    assert skipped > 0
    # Lines that are not lost come. The count of lost ones is told as soon as there is room, the rest before the next
    # line.
    told, left = 0, int(server.stat("log_watcher_sent"))

    def until_line() -> bytes:
        nonlocal told
        while found := re.fullmatch(rb"skipped=(\d+)\n", line := watch.stream.readline()):
            told += int(found[1])
        return line

    for _ in range(left):
        assert b"type=item_get" in until_line()
    server.ask(b"get last\r\nquit\r\n")
    assert b"key=last" in until_line()
    assert told == skipped
    watch.close()


def test_watchers_are_counted_and_so_many_only(start: Start) -> None:
    server = start("-c", "100")
    watches = [Watch(server) for _ in range(20)]
    assert server.stat("log_watchers") == "20"
    with server.connect() as client:
        client.sendall(b"watch\r\n")
        assert client.recv(100) == b"WATCHER_TOO_MANY log watcher limit reached\r\n"
        client.sendall(b"mn\r\n")  # it has stayed a client
        assert client.recv(100) == b"MN\r\n"
    states = [value for name, value in server.stats("conns").items() if name.endswith(":state")]
    assert states.count("conn_watch") == 20
    for watch in watches:
        watch.client.sendall(b"get a\r\n")  # is not read as a request
        watch.close()
    while server.stat("log_watchers") != "0":
        time.sleep(0.01)
    assert server.stat("cmd_get") == "0"


@pytest.mark.parametrize("kind", ["rawcmds", "proxyreqs", "proxyevents", "proxyuser"])
def test_kinds_of_which_memcached_tells_nothing_are_taken(start: Start, kind: str) -> None:
    server = start()
    silent, both = Watch(server, kind), Watch(server, f"{kind} fetchers")
    with server.connect() as client:
        client.sendall(b"get a\r\nquit\r\n")
        assert both.line().startswith("type=item_get key=a ")
    both.close()
    silent.client.settimeout(0)
    with pytest.raises(BlockingIOError):  # the other watcher has its line, so this one would have it, too
        silent.client.recv(1)
    silent.close()


def test_what_cannot_be_watched_is_refused(start: Start) -> None:
    server = start()
    assert server.ask(b"watch foo\r\nquit\r\n") == b"ERROR\r\n"
    assert server.ask(b"watch fetchers sysevents\r\nquit\r\n") == b"ERROR\r\n"
    assert server.ask(b"mn\r\nwatch\r\nquit\r\n") == b"MN\r\nERROR cannot pipeline other commands before watch\r\n"
    forbidden = start("-W")
    assert forbidden.ask(b"watch\r\nwatch foo\r\nquit\r\n") == b"CLIENT_ERROR watch commands not allowed\r\n" * 2
