"""Logins by SASL (-S): the binary protocol alone, the mechanism PLAIN, and nothing without a login."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from cached_server import LAST_RESORT, Running, free_port

Start = Callable[..., Running]
GET, SET, NOOP, VERSION, STAT, FLUSH, UNKNOWN = 0x00, 0x01, 0x0A, 0x0B, 0x10, 0x08, 0x55
LIST, AUTH, STEP = 0x20, 0x21, 0x22
OK, INVALID, AUTH_ERROR, CONTINUE, NO_COMMAND = 0, 4, 0x20, 0x21, 0x81


def packet(opcode: int, key: bytes = b"", value: bytes = b"", extras: bytes = b"") -> bytes:
    body = len(extras) + len(key) + len(value)
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, body, 7, 0) + extras + key + value


def store(key: bytes, value: bytes) -> bytes:
    return packet(SET, key, value, bytes(8))


def plain(user: bytes, password: bytes, acts_as: bytes = b"") -> bytes:
    return packet(AUTH, b"PLAIN", acts_as + b"\0" + user + b"\0" + password)


def answer(stream: BinaryIO) -> tuple[int, bytes] | None:
    """Status and body; None: the server has closed."""
    head = stream.read(24)
    if len(head) < 24:
        return None
    status, body = struct.unpack(">6xHI12x", head)
    return status, stream.read(body)


def ask(server: Running, *requests: bytes) -> list[tuple[int, bytes] | None]:
    with server.connect() as client:
        client.sendall(b"".join(requests))
        stream = client.makefile("rb")
        return [answer(stream) for _ in requests]


def statuses(server: Running, *requests: bytes) -> list[int | None]:
    return [said and said[0] for said in ask(server, *requests)]


@pytest.fixture
def users(tmp_path: Path) -> Path:
    file = tmp_path / "users"
    file.write_text("ada:secret\nbob@realm:pass:word\n")
    return file


@pytest.fixture
def server(start: Start, users: Path) -> Running:
    return start("-S", "-Y", str(users))


def test_a_login_opens_the_connection(server: Running) -> None:
    said = ask(server, plain(b"ada", b"secret"), store(b"a", b"x"), packet(GET, b"a"), packet(NOOP))
    assert said == [(OK, b"Authenticated"), (OK, b""), (OK, bytes(4) + b"x"), (OK, b"")]
    assert statuses(server, plain(b"bob@realm", b"pass:word", b"bob@realm"), packet(GET, b"a")) == [OK, OK]


@pytest.mark.parametrize("request_", [packet(GET, b"a"), packet(FLUSH), packet(NOOP), packet(STAT), packet(UNKNOWN),
                                      packet(GET, b"k" * 300), store(b"a", b"x")])  # fmt: skip
def test_without_a_login_a_request_ends_the_connection(server: Running, request_: bytes) -> None:
    assert ask(server, request_, packet(VERSION)) == [(AUTH_ERROR, b"Auth failure."), None]


def test_mechanisms_and_version_are_told_before_a_login(server: Running) -> None:
    version, mechanisms = ask(server, packet(VERSION), packet(LIST))
    assert version == (OK, b"1.6.18-rubato")
    assert mechanisms == (OK, b"PLAIN")


@pytest.mark.parametrize("wrong", [
    plain(b"ada", b"wrong"), plain(b"ada", b""), plain(b"eve", b"secret"), plain(b"", b""),
    plain(b"ada", b"secret", b"bob"), plain(b"ada", b"secret\0"), packet(AUTH, b"PLAIN", b"ada secret"),
    packet(AUTH, b"PLAIN", b"\0ada"), packet(AUTH, b"CRAM-MD5", b"\0ada\0secret"),
    packet(STEP, b"PLAIN", b"\0ada\0secret"),
])  # fmt: skip
def test_a_wrong_login_fails_and_another_may_follow(server: Running, wrong: bytes) -> None:
    assert statuses(server, wrong, plain(b"ada", b"secret"), packet(NOOP)) == [AUTH_ERROR, OK, OK]
    assert statuses(server, plain(b"ada", b"secret"), wrong, packet(NOOP)) == [OK, AUTH_ERROR, AUTH_ERROR]


def test_a_login_may_take_two_steps(server: Running) -> None:
    begins, step = packet(AUTH, b"PLAIN"), packet(STEP, b"PLAIN", b"\0ada\0secret")
    assert statuses(server, begins, step, packet(NOOP)) == [CONTINUE, OK, OK]
    assert statuses(server, begins, packet(STEP, b"PLAIN", b"\0ada\0no"), step) == [CONTINUE, AUTH_ERROR, AUTH_ERROR]
    assert statuses(server, begins, packet(NOOP), step) == [CONTINUE, AUTH_ERROR, None]


def test_a_name_of_a_mechanism_that_is_too_long_is_no_login(server: Running) -> None:
    assert statuses(server, packet(AUTH, b"X" * 40, b"\0ada\0secret"), plain(b"ada", b"secret")) == [INVALID, OK]


def test_logins_are_of_one_connection(server: Running) -> None:
    with server.connect() as one, server.connect() as other:
        one.sendall(plain(b"ada", b"secret"))
        assert answer(one.makefile("rb")) == (OK, b"Authenticated")
        other.sendall(packet(NOOP))
        assert answer(other.makefile("rb")) == (AUTH_ERROR, b"Auth failure.")


def test_logins_are_counted_and_shown(server: Running) -> None:
    wrong = plain(b"ada", b"wrong")
    with server.connect() as client:
        stream = client.makefile("rb")
        client.sendall(wrong + wrong + plain(b"ada", b"secret") + packet(STAT) + packet(STAT, b"settings"))
        assert [answer(stream) for _ in range(3)][-1] == (OK, b"Authenticated")
        lines = []
        while lines.count((OK, b"")) < 2:
            lines.append(answer(stream))
    for line in (b"auth_cmds3", b"auth_errors2", b"auth_enabled_saslyes", b"auth_enabled_asciino",
                 b"binding_protocolbinary"):  # fmt: skip
        assert (OK, line) in lines


def test_text_is_refused(server: Running) -> None:
    assert server.ask(b"version\r\nquit\r\n") == b""


def test_users_are_read_again(server: Running, users: Path) -> None:
    users.write_text("eve:new\n")
    server.process.send_signal(signal.SIGHUP)
    while statuses(server, plain(b"eve", b"new")) != [OK]:
        time.sleep(0.01)
    assert statuses(server, plain(b"ada", b"secret")) == [AUTH_ERROR]


def test_without_the_option_there_is_no_sasl(start: Start) -> None:
    server = start()
    for request in (packet(LIST), plain(b"ada", b"secret")):
        assert statuses(server, request, packet(NOOP)) == [NO_COMMAND, OK]


def test_users_come_from_memcacheds_variable(
    cached_program: Path, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCACHED_SASL_PWDB", str(users))
    port = free_port()
    server = Running([str(cached_program), "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-S"], port)
    assert statuses(server, plain(b"ada", b"secret"), packet(NOOP)) == [OK, OK]
    assert server.stop() == 0


@pytest.mark.parametrize(("options", "reason"), [
    (["-S"], "-S needs users: -Y FILE, or the variable MEMCACHED_SASL_PWDB, with lines user:password"),
    (["-S", "-B", "auto"], "-S needs the binary protocol alone; say -B binary, or leave -B out"),
    (["-S", "-B", "ascii"], "-S needs the binary protocol alone"),
    (["-B", "binary", "-S", "-B", "ascii"], "-S needs the binary protocol alone"),
    (["-S", "-Y", "/nonexistent"], "-Y: cannot read users from '/nonexistent'"),
])  # fmt: skip
def test_options_that_do_not_go_together_are_refused(cached_program: Path, options: list[str], reason: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MEMCACHED_SASL_PWDB"}
    command = [cached_program, "-u", "root", "-l", "127.0.0.1", "-p", str(free_port()), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LAST_RESORT, check=False)
    assert done.returncode == 64
    assert reason in done.stderr
