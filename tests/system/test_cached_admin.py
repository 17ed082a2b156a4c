"""Commands of administration that need options, and requests that end a connection: each answer beside memcached's."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cached_server import Running, run_on_free_port
from cached_sessions import encode

Start = Callable[..., Running]

#: Options, commands separated by `|`, memcached's answer.
ANSWERS = [
    (["-A"], "shutdown graceful extra|mn", "CLIENT_ERROR invalid shutdown mode|MN|"),
    (["-A"], "shutdown gracefully|mn", "CLIENT_ERROR invalid shutdown mode|MN|"),
    (["-A"], "shutdown graceful|mn", ""),
    ([], "lru_crawler enable|mn", "ERROR failed to start lru crawler thread|MN|"),
    (["-o", "no_lru_crawler"], "lru_crawler enable|lru_crawler enable",
     "OK|ERROR failed to start lru crawler thread|"),
    (["-o", "no_lru_crawler"], "lru_crawler disable|mn", "OK|MN|"),
    ([], "stats sizes_enable|mn|stats sizes_disable|mn|stats sizes",
     "STAT sizes_status enabled|MN|STAT sizes_status disabled|MN|STAT sizes_status disabled|END|"),
    (["-X"], "lru_crawler metadump all|mn", "ERROR metadump not allowed|MN|"),
]  # fmt: skip


def closing(session: str) -> bytes:
    return encode(session) + b"quit\r\n"


@pytest.mark.parametrize(("options", "session", "answer"), ANSWERS)
def test_administration_is_answered_as_by_memcached(
    start: Start, options: list[str], session: str, answer: str
) -> None:
    assert start(*options).ask(closing(session)).decode().replace("\r\n", "|") == answer


def test_a_crawler_can_be_enabled_again(start: Start) -> None:
    answer = start().ask(closing("lru_crawler disable|lru_crawler crawl all|lru_crawler enable|lru_crawler crawl all"))
    assert answer == b"OK\r\nCLIENT_ERROR lru crawler disabled\r\nOK\r\nOK\r\n"


def test_a_dump_for_mg_is_refused_as_by_later_versions(start: Start) -> None:
    """1.6.18 has no mgdump."""
    assert start("-X").ask(closing("lru_crawler mgdump all")) == b"ERROR key dump not allowed\r\n"
    answer = start().ask(closing("mn|lru_crawler mgdump all"))
    assert answer == b"MN\r\nERROR cannot pipeline other commands before mgdump\r\n"


def binary(opcode: int, key: bytes = b"", extras: bytes = b"", value: bytes = b"") -> bytes:
    length = len(key) + len(extras) + len(value)
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, length, 7, 0) + extras + key + value


def parts(answer: bytes) -> list[tuple[int, int, bytes]]:
    """Opcode, status and body of each answer."""
    found = []
    while answer:
        opcode, status, length = struct.unpack(">xB4xHI", answer[:12])
        found.append((opcode, status, answer[24 : 24 + length]))
        answer = answer[24 + length :]
    return found


UNKNOWN, INVALID = (0x81, b"Unknown command"), (4, b"Invalid arguments")
QUIT = binary(7)

#: Requests, and memcached's answers: of the opcode, and whether the connection lives.
LOGINS = [
    (binary(0x20), UNKNOWN, True), (binary(0x20, b"PLAIN"), INVALID, False),
    (binary(0x20, value=b"x"), INVALID, False), (binary(0x21), INVALID, False),
    (binary(0x21, b"PLAIN", b"1234"), INVALID, False), (binary(0x21, value=b"x"), INVALID, False),
    (binary(0x21, b"PLAIN", value=b"\0user\0word"), UNKNOWN, True), (binary(0x22, b"PLAIN"), UNKNOWN, True),
    (binary(0x22), INVALID, False), (binary(0x1f), UNKNOWN, True), (binary(0x50, value=b"x" * 100), UNKNOWN, True),
]  # fmt: skip


def expected(request: bytes, answer: tuple[int, bytes], lives: bool) -> list[tuple[int, int, bytes]]:
    return [(request[1], *answer)] + ([(7, 0, b"")] if lives else [])


@pytest.mark.parametrize(("request_", "answer", "lives"), LOGINS)
def test_logins_and_unknown_opcodes_are_answered_as_by_memcached(
    start: Start, request_: bytes, answer: tuple[int, bytes], lives: bool
) -> None:
    assert parts(start().ask(request_ + QUIT)) == expected(request_, answer, lives)


@pytest.mark.parametrize(("key", "extras"), [(b"key", b""), (b"", b"12345678"), (b"k", b"1234")])
def test_requests_behind_an_unknown_one_are_answered(start: Start, key: bytes, extras: bytes) -> None:
    """memcached loses its place in the stream there: it leaves out key and extras twice."""
    request = binary(0x50, key, extras, b"v" * 30)
    assert parts(start().ask(request + QUIT)) == expected(request, UNKNOWN, True)


def test_switches_of_sizes_have_one_answer_in_the_binary_protocol(start: Start) -> None:
    server = start()
    for word in (b"enable", b"disable"):
        answer = parts(server.ask(binary(0x10, b"sizes_" + word) + QUIT))
        assert answer == [(0x10, 0, b"sizes_status" + word + b"d"), (7, 0, b"")]


def test_these_answers_are_those_of_the_memcached_that_is_here() -> None:
    memcached = shutil.which("memcached")
    version = subprocess.run([memcached, "-V"], capture_output=True, text=True, check=True).stdout if memcached else ""
    if not memcached or "1.6.18" not in version:
        pytest.skip("memcached 1.6.18 is not installed; the answers in this file stand in")

    def ask(options: list[str], data: bytes) -> bytes:
        server = run_on_free_port(Path(memcached), "-U", "0", *options)
        try:
            return server.ask(data)
        finally:
            server.stop()

    for options, session, answer in ANSWERS:
        assert ask(options, closing(session)).decode().replace("\r\n", "|") == answer, session
    for request, answer, lives in LOGINS:
        assert parts(ask([], request + QUIT)) == expected(request, answer, lives), request
    for word in (b"enable", b"disable"):
        answer = parts(ask([], binary(0x10, b"sizes_" + word) + QUIT))
        assert answer == [(0x10, 0, b"sizes_status" + word + b"d"), (7, 0, b"")]
