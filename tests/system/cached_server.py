"""A cache server that a test started, and what to ask it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

#: What `-o discipline=` takes.
DISCIPLINES = ["locks", "locks14", "tm", "tm-it", "tasks"]

#: Seconds. A hang is found by this, and a busy machine, which may stop a process for minutes, must not look like one.
LAST_RESORT = 1800


class PortTaken(Exception):
    """Another process took the port between its choice and its use."""


class Running:
    """A server on a port that the system chose, and what to ask it."""

    def __init__(self, command: list[str], port: int):
        self.port = port
        self.tls: ssl.SSLContext | None = None  #: with which `connect` goes by TLS
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for _ in range(3000):
            try:
                self.connect().close()
                return
            except OSError:
                if self.process.poll() == 71:
                    raise PortTaken from None
                assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
                time.sleep(0.01)
        raise AssertionError("the server does not listen")

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=LAST_RESORT)
        client.settimeout(LAST_RESORT)
        return self.tls.wrap_socket(client, server_hostname="127.0.0.1") if self.tls else client

    def ask(self, data: bytes) -> bytes:
        """All that is answered until the server closes; `data` must end with a quit."""
        with self.connect() as client:
            client.sendall(data)
            return receive_all(client)

    def stats(self, group: str = "") -> dict[str, str]:
        answer = self.ask(f"stats {group}".strip().encode() + b"\r\nquit\r\n").decode()
        return dict(re.findall(r"STAT (\S+) ([^\r]*)\r\n", answer))

    def stat(self, name: str, group: str = "") -> str:
        return self.stats(group)[name]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LAST_RESORT)


def receive_all(client: socket.socket) -> bytes:
    parts = []
    while part := client.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_discipline(program: Path, name: str, *options: str) -> Running:
    text = subprocess.run([program, "-h"], capture_output=True, text=True, check=True).stdout
    if name not in re.findall(r"[\w-]+", text.splitlines()[-1]):
        pytest.skip(f"rubato-cached is built without discipline {name}")
    return run_on_free_port(program, "-o", f"discipline={name}", *options)


def run_on_free_port(program: Path, *options: str) -> Running:
    for _ in range(20):
        port = free_port()
        try:
            return Running([str(program), "-u", "root", "-l", "127.0.0.1", "-p", str(port), *options], port)
        except PortTaken:
            continue
    raise AssertionError("the server ends with 71, no memory or no port, on 20 ports")
