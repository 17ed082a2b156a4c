"""Limits of the cache server that end connections: idle time, and the number of connections."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

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
