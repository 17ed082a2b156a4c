"""rubato-load as its users see it: what it counts, what it notices, what it refuses."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cached_server import LAST_RESORT, Running


@pytest.fixture(scope="session")
def load(build: Path) -> Path:
    found = build / "bin" / "rubato-load"
    if not found.exists():
        pytest.skip("rubato-load is not built: libevent or libxxhash is absent")
    return found


def run(load: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([load, *options], capture_output=True, text=True, timeout=LAST_RESORT, check=False)


@pytest.mark.parametrize("protocol", ["text", "meta", "binary"])
@pytest.mark.parametrize("keys_a_get", [1, 7])
def test_every_request_is_counted_once_on_both_sides(
    load: Path, start: Callable[..., Running], protocol: str, keys_a_get: int
) -> None:
    server = start()
    result = run(load, f"127.0.0.1:{server.port}", "--protocol", protocol, "--multiget", str(keys_a_get), "--requests",
                 "3000", "--keys", "500", "--threads", "2", "--connections", "5", "--in-flight", "9",
                 "--value", "1-5000", "--zipf", "0.9", "--sets", "0.3", "--verify", "1", "--json")  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    gets, sets = found["latency_us"]["get"]["requests"], found["latency_us"]["set"]["requests"]
    assert gets + sets == found["requests"] == 3000
    assert found["hits"] == found["verified"] == gets * keys_a_get == int(server.stat("cmd_get"))
    assert int(server.stat("cmd_set")) == sets + 500
    assert found["misses"] == found["errors"] == found["wrong_values"] == 0


def test_misses_are_counted_without_fill(load: Path, start: Callable[..., Running]) -> None:
    server = start()
    result = run(load, f"127.0.0.1:{server.port}", "--no-fill", "--sets", "0", "--requests", "100", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["misses"] == 100


class FalseServer:
    """Answers each request with what `answer` says; stands still for `pause` seconds when the first has come."""

    def __init__(self, answer: Callable[[bytes], bytes], pause: float = 0):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, args=(answer, pause), daemon=True).start()

    def serve(self, answer: Callable[[bytes], bytes], pause: float) -> None:
        client, _ = self.listener.accept()
        with client:
            while line := client.recv(1 << 16):
                time.sleep(pause)
                pause = 0
                client.sendall(b"".join(answer(one) for one in line.splitlines()))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda line: b"VALUE %s 0 3\r\nabc\r\nEND\r\n" % line.split()[1], "wrong value"),
        (lambda line: b"VALUE k000000000000999 0 3\r\nabc\r\nEND\r\n", "answered key"),
        (lambda line: b"SERVER_ERROR broken\r\n", "SERVER_ERROR broken"),
        (lambda line: b"END\r\nEND\r\n", "not asked for"),
    ],
)
def test_a_server_that_answers_wrongly_is_found_out(
    load: Path, answer: Callable[[bytes], bytes], sentence: str
) -> None:
    server = FalseServer(answer)
    result = run(load, f"127.0.0.1:{server.port}", "--no-fill", "--sets", "0", "--requests", "5", "--verify", "1",
                 "--connections", "1")  # fmt: skip
    assert result.returncode == 1
    assert sentence in result.stderr and result.stderr.count("\n") == 1


def test_latency_counts_from_the_intended_moment(load: Path) -> None:
    """A server that stands still for a time delays all that should have been asked meanwhile, not one request."""
    server = FalseServer(lambda line: b"END\r\n", pause=0.5)
    result = run(load, f"127.0.0.1:{server.port}", "--no-fill", "--sets", "0", "--rate", "200", "--requests", "100",
                 "--connections", "1", "--json")  # fmt: skip
    assert result.returncode == 0, result.stderr
    latency = json.loads(result.stdout)["latency_us"]["get"]
    # 100 moments in 0.5 s; the last answer comes at 0.5 s at the earliest, so on the average one waits a quarter.
    assert latency["mean"] > 100_000
    assert latency["max"] > 400_000


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--value", "5-2"], "--value"), (["--value", "x"], "--value"), (["--protocol", "udp"], "text|meta|binary"),
        (["--key-size", "3"], "--key-size"), (["--threads", "4", "--connections", "2"], "connections"),
        (["--sets", "2"], "--sets"), (["nothing"], "HOST:PORT"), (["127.0.0.1:76747"], "65535"),
        (["--requests", "5", "--seconds", "1"], "--requests"),
        (["--nonsense"], "--nonsense"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_in_one_sentence(load: Path, options: list[str], word: str) -> None:
    result = run(load, *options)
    assert result.returncode == 2
    assert word in result.stderr and result.stderr.count("\n") == 1 and result.stdout == ""


def test_without_a_server_it_ends_with_71(load: Path) -> None:
    result = run(load, "127.0.0.1:1", "--requests", "1")
    assert result.returncode == 71 and "127.0.0.1:1" in result.stderr
