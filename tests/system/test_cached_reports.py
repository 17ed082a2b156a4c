"""Reports of the cache server to its operators: connections, prefixes, ports, versions, metrics."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from cached_server import LAST_RESORT, Running, free_port, receive_all

Start = Callable[..., Running]


def connections(server: Running) -> dict[str, dict[str, str]]:
    """By their descriptors."""
    found: dict[str, dict[str, str]] = {}
    for name, value in server.stats("conns").items():
        descriptor, field = name.split(":", 1)
        found.setdefault(descriptor, {})[field] = value
    return found


def wait_for_state(server: Running, client: socket.socket, state: str) -> dict[str, str]:
    address = "tcp:{}:{}".format(*client.getsockname())
    while True:
        for one in connections(server).values():
            if one["addr"] == address and one["state"] == state:
                return one
        time.sleep(0.01)


def test_each_connection_is_shown_with_what_it_does(start: Start) -> None:
    server = start("-o", "debugtime")
    with server.connect() as idle, server.connect() as half, server.connect() as refused, server.connect() as slow:
        idle.sendall(b"mn\r\n")
        assert idle.recv(10) == b"MN\r\n"
        half.sendall(b"set a 0 0 10\r\nonly")
        refused.sendall(b"set a 0 0 2000000 noreply\r\nonly")
        server.ask(b"set large 0 0 1000000\r\n%s\r\nquit\r\n" % (b"v" * 1_000_000))
        slow.sendall(b"get large\r\n" * 20)  # more than the kernel's buffers take
        server.ask(b"debugtime 100\r\nquit\r\n")
        one = wait_for_state(server, idle, "conn_read")
        assert one["listen_addr"] == f"tcp:127.0.0.1:{server.port}"
        assert int(one["secs_since_last_cmd"]) >= 100
        wait_for_state(server, half, "conn_nread")
        wait_for_state(server, refused, "conn_swallow")
        wait_for_state(server, slow, "conn_mwrite")
        half.sendall(b"567890\r\nmn\r\n")
        assert half.recv(20).startswith(b"STORED\r\n")
        wait_for_state(server, half, "conn_read")
        states = [one["state"] for one in connections(server).values()]
        assert sorted(states) == ["conn_listening", "conn_mwrite", "conn_parse_cmd", "conn_read", "conn_read",
                                  "conn_swallow"]  # fmt: skip
        [listening] = [one for one in connections(server).values() if one["state"] == "conn_listening"]
        assert listening["addr"] == f"tcp:127.0.0.1:{server.port}" and "listen_addr" not in listening


def test_a_socket_in_the_file_system_is_shown_by_its_name(cached_program: Path, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    process = subprocess.Popen([cached_program, "-u", "root", "-s", str(path)])
    try:
        with socket.socket(socket.AF_UNIX) as client:
            while True:
                try:
                    client.connect(str(path))
                    break
                except OSError:
                    assert process.poll() is None
                    time.sleep(0.01)
            client.sendall(b"stats conns\r\nquit\r\n")
            answer = receive_all(client).decode()
    finally:
        process.terminate()
        process.wait(LAST_RESORT)
    assert re.search(rf"STAT \d+:addr unix:{path}\r", answer)
    assert re.search(rf"STAT \d+:listen_addr unix:{path}\r", answer)


def test_connections_that_were_closed_for_idleness_are_counted(start: Start) -> None:
    server = start("-o", "idle_timeout=5,debugtime")
    assert server.stat("idle_kicks") == "0"
    with server.connect() as client, server.connect() as silent:
        client.sendall(b"mn\r\n")
        assert client.recv(10) == b"MN\r\n"
        while int(server.stat("curr_connections")) < 3:
            time.sleep(0.01)
        # A connection that has not asked for anything is as old as it is, no older.
        assert server.stat("idle_kicks") == "0"
        server.ask(b"debugtime 10\r\nquit\r\n")
        assert client.recv(10) == b"" and silent.recv(10) == b""
    assert server.stat("idle_kicks") == "2"


def binary(opcode: int, key: bytes, extras: bytes = b"", value: bytes = b"") -> bytes:
    length = len(key) + len(extras) + len(value)
    header = struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, length, 0, 0)
    return header + extras + key + value


def test_prefixes_are_counted_while_that_is_asked_for(start: Start) -> None:
    server = start()
    dump = b"stats detail dump\r\n"
    requests = [b"set a:0 0 0 1\r\nx\r\n", dump, b"stats detail on\r\n", b"set a:1 0 0 1\r\nx\r\nget a:1 a:2\r\n",
                b"gat 0 a:1\r\ndelete a:3\r\nset b 0 0 1\r\nx\r\nincr a:1 1\r\n", b"append b:x:y 0 0 1\r\nx\r\n", dump,
                b"stats detail off\r\nget a:1\r\n", dump, b"stats reset\r\n", dump, b"quit\r\n"]  # fmt: skip
    answers = server.ask(b"".join(requests)).decode().split("\r\n")
    counts = [line for line in answers if line.startswith("PREFIX")]
    assert counts == ["PREFIX a get 3 hit 2 set 1 del 1", "PREFIX b get 0 hit 0 set 1 del 0"] * 2
    assert answers[1] == "END" and answers[-3:] == ["RESET", "END", ""]


def test_prefixes_are_counted_over_the_binary_protocol(start: Start) -> None:
    server = start("-D", "/")  # which switches it on
    requests = [binary(0x01, b"p/1", bytes(8), b"x"), binary(0x00, b"p/1"), binary(0x04, b"p/2")]
    requests += [binary(0x10, b"detail off"), binary(0x00, b"p/1"), binary(0x10, b"detail dump")]
    requests += [binary(0x10, b"detail on"), binary(0x10, b"detail"), binary(0x07, b"")]
    answer = server.ask(b"".join(requests))
    statuses, values = [], []
    while answer:
        status, length = struct.unpack(">6xHI", answer[:12])
        statuses.append(status)
        values.append(answer[24 : 24 + length])
        answer = answer[24 + length :]
    # A dump is a statistic and the end of them.
    assert statuses == [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert b"detailed" + b"PREFIX p get 1 hit 1 set 1 del 1\r\nEND\r\n" in values


def test_a_port_that_the_system_chose_is_told(cached_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "ports"
    command = [cached_program, "-u", "root", "-l", "127.0.0.1", "-p", "-1", "-v"]
    environment = os.environ | {"MEMCACHED_PORT_FILENAME": str(file)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        while not file.exists():
            assert process.poll() is None
            time.sleep(0.01)
        said = re.fullmatch(r"TCP INET: (\d+)\n", file.read_text())
        assert said
        with socket.create_connection(("127.0.0.1", int(said[1]))) as client:
            client.sendall(b"mn\r\nquit\r\n")
            assert receive_all(client) == b"MN\r\n"
        assert process.stderr
        assert process.stderr.readline() == f"rubato-cached: listens on tcp:127.0.0.1:{said[1]}\n"
    finally:
        process.terminate()
        process.wait(LAST_RESORT)
    assert not (tmp_path / "ports.lck").exists()


def test_the_last_three_numbers_of_the_version_are_memcacheds(start: Start, cached_program: Path) -> None:
    """Clients compare them to learn what a server has; some take the last three that they find."""
    server = start()
    version = server.ask(b"version\r\nquit\r\n").decode().strip()
    assert re.findall(r"\d+", version)[-3:] == ["1", "6", "18"]
    ours = server.stat("rubato_version", "settings")
    assert ours != "1.6.18" and re.fullmatch(r"\d+\.\d+\.\d+", ours)
    said = subprocess.run([cached_program, "-V"], capture_output=True, text=True, check=True).stdout
    assert said == f"rubato-cached {ours} (1.6.18-rubato)\n"


def test_metrics_are_a_page_for_prometheus(start: Start) -> None:
    port = free_port()
    start("-o", f"metrics=127.0.0.1:{port}")
    with socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        page = receive_all(client).decode()
    assert page.startswith("HTTP/1.0 200 OK")
    assert "\n# TYPE rubato_cached_limit_maxbytes gauge\nrubato_cached_limit_maxbytes 67108864\n" in page
    assert "\n# TYPE rubato_cached_cmd_get counter\nrubato_cached_cmd_get 0\n" in page
