"""Numbers that are too large, have a wrong sign or are none: one error, and nothing is lost. Under each discipline."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from cached_server import DISCIPLINES, Running, run_discipline

OK, NOT_FOUND = 0, 1


@pytest.fixture(scope="module", params=DISCIPLINES)
def server(cached_program: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    one = run_discipline(cached_program, request.param)
    yield one
    assert one.stop() == 0


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        # Each pair has a sum below 81, if it is taken modulo 2^32.
        ("lru tune 4294967295 2 0.2 2", "ERROR hot and warm pcts must not exceed 80"),
        ("lru tune 2147483648 2147483658 0.2 2", "ERROR hot and warm pcts must not exceed 80"),
        ("lru tune 4294967306 10 0.2 2", "ERROR"), ("lru tune 10 -4294967286 0.2 2", "ERROR"),
        ("lru tune 10 10 nan 2", "ERROR"), ("lru tune 10 10 0.2 inf", "ERROR"), ("lru tune 10 10 0.2 1e400", "ERROR"),
        ("lru temp_ttl +-1", "ERROR"), ("lru temp_ttl 4294967296", "ERROR"),
        ("slabs automove ratio nan", "ERROR"), ("slabs automove 4294967297", "CLIENT_ERROR bad command line format"),
        ("slabs reassign 4294967297 2", "CLIENT_ERROR bad command line format"),
        ("cache_memlimit 4294967360", "ERROR"),
        ("cache_memlimit 1000000001", "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes"),
        ("verbosity 4294967297", "CLIENT_ERROR bad command line format"),
        ("lru_crawler sleep 4294967297", "CLIENT_ERROR bad command line format"),
        ("lru_crawler crawl 4294967297", "BADCLASS invalid class id"),
    ],
)  # fmt: skip
def test_maintenance_with_a_number_that_is_none_changes_no_setting(server: Running, command: str, answer: str) -> None:
    before = server.stats("settings")
    assert server.ask(f"{command}\r\nmn\r\nquit\r\n".encode()).decode() == f"{answer}\r\nMN\r\n"
    assert server.stats("settings") == before


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("flush_all +-1", "CLIENT_ERROR invalid exptime argument"), ("flush_all 100 now", "OK"),
        ("flush_all x now", "CLIENT_ERROR invalid exptime argument"),
        ("flush_all 4294967296", "CLIENT_ERROR invalid exptime argument"),
        ("touch kept +-1", "CLIENT_ERROR invalid exptime argument"),
        ("gat +-1 kept", "CLIENT_ERROR invalid exptime argument"),
        ("mg kept T+-1", "CLIENT_ERROR bad token in command line format"),
        ("md kept I T+-1", "CLIENT_ERROR invalid or duplicate flag"),
        ("incr kept +-1", "CLIENT_ERROR invalid numeric delta argument"),
        ("incr kept 18446744073709551616", "CLIENT_ERROR invalid numeric delta argument"),
        ("decr kept -1", "CLIENT_ERROR invalid numeric delta argument"),
        ("ma kept D18446744073709551616", "CLIENT_ERROR invalid or duplicate flag"),
    ],
)  # fmt: skip
def test_an_item_outlives_a_request_with_a_number_that_is_none(server: Running, command: str, answer: str) -> None:
    request = f"set kept 0 0 1\r\n7\r\n{command}\r\nmg kept v t\r\nquit\r\n"
    assert server.ask(request.encode()).decode() == f"STORED\r\n{answer}\r\nVA 1 t-1\r\n7\r\n"


@pytest.mark.parametrize("command", ["set big 0 0", "ms big"])
def test_set_and_ms_announce_the_same_longest_value(server: Running, command: str) -> None:
    """What is too large for the cache is skipped; what is longer than memcached counts is a wrong line."""
    with server.connect() as client:
        client.sendall(f"{command} {0x7FFFFFFF - 2}\r\nflush_all\r\n".encode())
        assert client.recv(100) == b"SERVER_ERROR object too large for cache\r\n"
    request = f"{command} {0x7FFFFFFF - 1}\r\nquit\r\n"
    assert server.ask(request.encode()) == b"CLIENT_ERROR bad command line format\r\n"


def binary(opcode: int, name: bytes = b"", extras: bytes = b"", data: bytes = b"") -> bytes:
    length = len(extras) + len(name) + len(data)
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(name), len(extras), 0, 0, length, 0, 0) + extras + name + data


def statuses(answer: bytes) -> list[int]:
    found = []
    while answer:
        found.append(int.from_bytes(answer[6:8], "big"))
        answer = answer[24 + int.from_bytes(answer[8:12], "big") :]
    return found


@pytest.mark.parametrize("when", [0x7FFFFFFF, 0x80000000, 0xFFFFFFFE])
def test_binary_times_after_2038_are_in_the_future(server: Running, when: int) -> None:
    """As in memcached: the binary protocol's times have no sign."""
    time, get, end = struct.pack(">I", when), binary(0x00, b"k"), binary(0x07)
    set_plain = binary(0x01, b"k", bytes(8), b"1")
    ways = {
        "set": binary(0x01, b"k", bytes(4) + time, b"1"),
        "touch": set_plain + binary(0x1C, b"k", time),
        "gat": set_plain + binary(0x1D, b"k", time),
        "increment": binary(0x04, b"k") + binary(0x05, b"k", bytes(16) + time),
        "flush": set_plain + binary(0x08, b"", time),
    }
    for name, requests in ways.items():
        assert statuses(server.ask(requests + get + end))[-2:] == [OK, OK], name
    server.ask(b"flush_all\r\nquit\r\n")  # ends the one that is to come


@pytest.mark.parametrize(("kind", "last"), [("metadump", b"END\r\n"), ("mgdump", b"EN\r\n")])
def test_requests_behind_a_dump_are_answered_behind_it(server: Running, kind: str, last: bytes) -> None:
    """With more items than the connection's buffers hold, so that the dump is sent in parts."""
    names = [b"key%05d" % n for n in range(20_000)]
    server.ask(b"flush_all\r\n" + b"".join(b"set %s 0 0 1 noreply\r\nx\r\n" % name for name in names) + b"quit\r\n")
    dump = f"lru_crawler {kind} all\r\n".encode()
    answer = server.ask(dump + b"mn\r\nset after 0 0 1\r\ny\r\nget after\r\nquit\r\n")
    dumped, between, behind = answer.partition(last)
    assert between and behind == b"MN\r\nSTORED\r\nVALUE after 0 1\r\ny\r\nEND\r\n"
    assert (dumped.count(b"key0"), dumped.count(b"key1"), dumped.count(b"after")) == (10_000, 10_000, 0)
