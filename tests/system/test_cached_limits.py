"""Limits of the cache server that end connections: idle time, and the number of connections."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable

import pytest

from cached_server import LAST_RESORT, Running

Start = Callable[..., Running]
IDLE = ("-o", "idle_timeout=5,debugtime")


def later(server: Running, seconds: int) -> None:
    assert server.ask(b"debugtime %d\r\nquit\r\n" % seconds) == b"OK\r\n"


def wait_for_kicks(server: Running, number: int) -> None:
    while int(server.stat("idle_kicks")) < number:
        time.sleep(0.01)
    assert server.stat("idle_kicks") == str(number)


@pytest.mark.parametrize("part", [b"get a", b"ms a 5", b"\x80\x01\x00\x01\x08", b"x"])
def test_a_request_line_that_does_not_end_is_idle(start: Start, part: bytes) -> None:
    """Also if bytes of it go on coming: else such clients could take all connections."""
    server = start(*IDLE)
    with server.connect() as client:
        client.sendall(part)
        server.ask(b"mn\r\nquit\r\n")
        later(server, 4)
        client.sendall(b"z" if part != b"ms a 5" else b" ")
        later(server, 4)
        assert client.recv(1) == b""
    wait_for_kicks(server, 1)


@pytest.mark.parametrize("size", [10, 100_000, 2_000_000])
def test_a_value_that_arrives_slowly_is_not_idle(start: Start, size: int) -> None:
    """Not even one that is too large and only swallowed; nor is its client as soon as all is there."""
    server = start(*IDLE)
    answer = b"STORED\r\n" if size < 1_000_000 else b"SERVER_ERROR object too large for cache\r\n"
    with server.connect() as slow, server.connect() as silent:
        slow.sendall(b"set a 0 0 %d\r\nabc" % size)
        while size < 1_000_000 and "conn_nread" not in server.stats("conns").values():
            time.sleep(0.01)
        if size > 1_000_000:
            assert receive(slow, len(answer)) == answer
        later(server, 10)
        assert silent.recv(1) == b""
        wait_for_kicks(server, 1)
        with server.connect() as other:
            other.sendall(b"mn\r\n")
            assert other.recv(4) == b"MN\r\n"
            later(server, 4)
            slow.sendall(b"v" * (size - 3) + b"\r\n")
            if size < 1_000_000:
                assert receive(slow, len(answer)) == answer
                later(server, 3)
                assert other.recv(1) == b""
                wait_for_kicks(server, 2)
        slow.sendall(b"mn\r\n")
        assert receive(slow, 4) == b"MN\r\n"


def receive(client: socket.socket, n: int) -> bytes:
    client.settimeout(LAST_RESORT)
    parts = b""
    while len(parts) < n:
        part = client.recv(n - len(parts))
        assert part, f"closed after {parts!r}"
        parts += part
    return parts


def statistics(client: socket.socket) -> dict[str, str]:
    """By a connection that is there: another one would be beyond the limit."""
    client.sendall(b"stats\r\n")
    answer = b""
    while not answer.endswith(b"END\r\n"):
        answer += client.recv(1 << 16)
    return dict(re.findall(r"STAT (\S+) ([^\r]*)\r\n", answer.decode()))


def connect_and_ask(server: Running) -> socket.socket:
    client = server.connect()
    client.sendall(b"mn\r\n")
    return client


def served(server: Running) -> socket.socket:
    """A connection that the server has taken; those that have just been closed may still count."""
    while True:
        client = connect_and_ask(server)
        try:
            if client.recv(100) == b"MN\r\n":
                return client
        except ConnectionResetError:
            pass
        client.close()
        time.sleep(0.01)


def test_connections_beyond_the_limit_are_told_so(start: Start) -> None:
    server = start("-c", "5")
    clients = [served(server) for _ in range(5)]
    before = int(statistics(clients[0])["rejected_connections"])
    for _ in range(3):
        with server.connect() as beyond:  # it has sent nothing, whose loss would reset the connection
            assert beyond.recv(100) == b"ERROR Too many open connections\r\n"
            assert beyond.recv(1) == b""
    now = statistics(clients[0])
    assert int(now["rejected_connections"]) == before + 3
    assert now["curr_connections"] == "5" and now["accepting_conns"] == "1"
    clients.pop().close()
    clients.append(served(server))
    for client in clients:
        client.close()
    assert server.stop() == 0


def test_connections_beyond_the_limit_wait_for_their_turn(start: Start) -> None:
    server = start("-c", "5", "-o", "no_maxconns_fast")
    clients = [served(server) for _ in range(6)]  # with the sixth the server stops to accept
    waiting = [connect_and_ask(server) for _ in range(3)]
    now = statistics(clients[0])
    assert now["curr_connections"] == "6" and now["accepting_conns"] == "0" and int(now["listen_disabled_num"]) >= 1
    assert "rejected_connections" not in now  # as in memcached
    for client in clients[:4]:
        client.close()
    for client in waiting:
        assert receive(client, 4) == b"MN\r\n"
    for client in clients + waiting:
        client.close()
    assert server.stop() == 0
