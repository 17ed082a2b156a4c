"""Faults that the cache server survives with every discipline (T90): no crash, no hang, no wrong value."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cached_server import Running, receive_all, run_discipline
from cached_soak import KEYS, OPTIONS, Soak

Start = Callable[..., Running]


def open_files(server: Running) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def works(server: Running) -> None:
    assert server.ask(b"set works 0 0 3\r\nyes\r\nget works\r\nquit\r\n").endswith(b"yes\r\nEND\r\n")


def test_a_thousand_clients_that_die_in_mid_request_leave_nothing(start: Start) -> None:
    server = start("-c", "2000")
    works(server)
    before = open_files(server)
    binary = b"\x80\x01\x00\x04\x08\x00\x00\x00\x00\x00\x10\x00"
    half = [b"set half 0 0 100000\r\nonly a part", b"get a", binary, b"ms x 9\r\n"]
    for n in range(1000):
        client = server.connect()
        client.sendall(half[n % len(half)])
        if n % 2:  # half of them with a reset
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    while int(server.stat("curr_connections")) > 1 or open_files(server) > before:
        time.sleep(0.01)
    assert server.stat("curr_items") == "1"


def test_half_requests_that_are_held_open_are_finished_later(start: Start) -> None:
    server = start("-c", "2000")
    clients = [server.connect() for _ in range(500)]
    for n, client in enumerate(clients):
        client.sendall(b"set held%d 0 0 10\r\n01234" % n)
    works(server)
    for client in clients:
        client.sendall(b"56789\r\n")
    for client in clients:
        assert client.recv(100) == b"STORED\r\n"
        client.close()
    assert server.ask(b"".join(b"get held%d\r\n" % n for n in range(500)) + b"quit\r\n").count(b"0123456789") == 500


def test_slow_readers_of_large_values_get_them_whole_and_hold_up_nobody(start: Start) -> None:
    server = start("-m", "64", "-I", "2m")
    value = bytes(random.Random(1).choices(b"abcdefgh", k=1 << 20))
    server.ask(b"set large 0 0 %d\r\n%s\r\nquit\r\n" % (len(value), value))
    slow = []
    for _ in range(5):
        client = server.connect()
        client.sendall(b"get large\r\n" * 10 + b"quit\r\n")  # more than the kernel's buffers take
        slow.append(client)
    for n in range(50):  # the value that they are being sent is replaced and its memory used again
        server.ask(b"set large 0 0 %d\r\n%s\r\nset other%d 0 0 500000\r\n%s\r\nquit\r\n"
                   % (len(value), value, n, bytes(500_000)))  # fmt: skip
    works(server)
    expected = (b"VALUE large 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)) * 10
    for client in slow:
        assert receive_all(client) == expected
        client.close()


def test_without_descriptors_left_it_accepts_again_when_there_are_some(start: Start) -> None:
    server = start("-c", "4000")
    limit = open_files(server) + 10
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    clients = [server.connect() for _ in range(30)]  # the kernel accepts them
    clients[0].sendall(b"mn\r\n")
    assert clients[0].recv(10) == b"MN\r\n"
    for client in clients[:20]:
        client.close()
    clients[-1].sendall(b"mn\r\n")
    assert clients[-1].recv(10) == b"MN\r\n"
    for client in clients[20:]:
        client.close()
    works(server)


def test_a_stopped_server_goes_on(start: Start) -> None:
    server = start()
    with server.connect() as client:
        server.process.send_signal(signal.SIGSTOP)
        client.sendall(b"set a 0 0 1\r\nx\r\n" * 1000 + b"get a\r\nquit\r\n")
        time.sleep(0.3)
        server.process.send_signal(signal.SIGCONT)
        assert receive_all(client) == b"STORED\r\n" * 1000 + b"VALUE a 0 1\r\nx\r\nEND\r\n"


def under_everything(server: Running, rounds: int) -> None:
    """Four clients store and get, while the table grows, pages move, the crawler runs and all is flushed."""
    wrong: list[str] = []

    def client(number: int) -> None:
        draw = random.Random(number)
        with server.connect() as connection:
            stream = connection.makefile("rb")
            for n in range(rounds):
                keys = [draw.randrange(5000) for _ in range(20)]
                # The key is in the value, so that a value of another key shows.
                for k in keys[:10]:
                    data = b"%d:" % k * draw.choice([1, 10, 200, 2000])
                    connection.sendall(b"set k%d 0 %d %d\r\n%s\r\n" % (k, draw.choice([0, 0, 1, 100]), len(data), data))
                    if stream.readline() != b"STORED\r\n":
                        wrong.append(f"k{k} was not stored")
                connection.sendall(b"get " + b" ".join(b"k%d" % k for k in keys) + b"\r\n")
                while (line := stream.readline()) != b"END\r\n":
                    _, name, _, length = line.split()
                    data = stream.read(int(length) + 2)
                    if data != b"%s:" % name[1:] * (int(length) // (len(name))) + b"\r\n":
                        wrong.append(f"{name!r} has {data[:40]!r}")
                if number == 0 and n % 20 == 19:
                    connection.sendall(b"flush_all\r\n")
                    assert stream.readline() == b"OK\r\n"

    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    turn = 0
    while any(thread.is_alive() for thread in threads):
        turn += 1
        answers = server.ask(b"slabs reassign 0 %d\r\nlru_crawler crawl all\r\nstats\r\nstats slabs\r\nstats items\r\n"
                             b"lru_crawler metadump all\r\nquit\r\n" % (turn % 30 + 1))  # fmt: skip
        assert b"END" in answers
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert wrong == []
    works(server)


def test_growth_moves_crawls_and_flushes_at_once(start: Start) -> None:
    under_everything(start("-m", "16", "-o", "hashpower=12"), 40)


@pytest.mark.long
def test_all_faults_at_once(start: Start, pytestconfig: pytest.Config) -> None:
    """A minute each; `--minutes 60` is the hour that is promised."""
    found = Soak(start(*OPTIONS), float(pytestconfig.getoption("minutes"))).run()
    for what in ("values verified", "clients that died", "half requests finished", "random requests", "stops"):
        assert found[what] > 0


def test_a_wrong_value_ends_the_soak(start: Start) -> None:
    server = start("-m", "16")
    server.ask(b"".join(b"set k%d 0 0 2\r\nno\r\n" % n for n in range(KEYS)) + b"quit\r\n")
    with pytest.raises(AssertionError, match="b'no"):
        Soak(server, 1).run()


def test_memory_is_given_back_when_sessions_end(start: Start) -> None:
    """Resident memory after a thousand sessions with large answers is not more than after a hundred."""
    server = start("-m", "64")
    server.ask(b"".join(b"set k%d 0 0 1000\r\n%s\r\n" % (n, b"v" * 1000) for n in range(100)) + b"quit\r\n")
    request = b"get " + b" ".join(b"k%d" % n for n in range(100)) + b"\r\nquit\r\n"

    def resident(sessions: int) -> int:
        for _ in range(sessions):
            assert server.ask(request).count(b"VALUE") == 100
        return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])

    first = resident(100)
    assert resident(1000) - first < 1000  # pages of 4 KiB; a leak of one answer a session would be 25,000


def test_a_connection_that_does_nothing_takes_little_memory(cached_program: Path) -> None:
    server = run_discipline(cached_program, "locks")
    try:

        def resident() -> int:
            return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()

        works(server)
        before = resident()
        clients = [server.connect() for _ in range(900)]
        for client in clients:
            client.sendall(b"mn\r\n")
            assert client.recv(10) == b"MN\r\n"
        assert resident() - before < 900 * 2000  # with memory for answers it would be 3000 each
        for client in clients:
            client.close()
    finally:
        server.stop()
