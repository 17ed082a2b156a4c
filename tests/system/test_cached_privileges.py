"""The cache server after it has dropped privileges (-o drop_privileges): it serves as before, and does nothing else."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from cached_server import LAST_RESORT, Running, free_port, receive_all
from cached_sessions import RECORDED, SESSIONS, session
from cached_tls import client_context, make_certificates

Start = Callable[..., Running]
DROPPED = "drop_privileges,misbehave"


@pytest.fixture(scope="session", autouse=True)
def _is_built(cached_program: Path) -> None:
    if "\n     drop_privileges" not in subprocess.run([cached_program, "-h"], capture_output=True, text=True).stdout:
        pytest.skip("rubato-cached is built without libseccomp")


def end_of(server: Running) -> tuple[int, str]:
    """Exit code and standard error."""
    code = server.process.wait(LAST_RESORT)
    assert server.process.stderr
    return code, server.process.stderr.read()


def test_a_server_that_misbehaves_ends_with_a_sentence(start: Start) -> None:
    server = start("-o", DROPPED)
    assert server.stat("drop_privileges", "settings") == "yes"
    with server.connect() as client:
        client.sendall(b"misbehave\r\n")
        assert receive_all(client) == b""
    code, said = end_of(server)
    assert code == 1
    assert re.fullmatch(r"rubato-cached: -o drop_privileges does not allow system call \d+, so it ends\n", said)


def test_without_the_option_it_may_misbehave(start: Start) -> None:
    server = start("-o", "drop_privileges,no_drop_privileges,misbehave")
    assert server.stat("drop_privileges", "settings") == "no"
    assert server.ask(b"misbehave\r\nmn\r\nquit\r\n") == b"ERROR\r\nMN\r\n"  # memcached's word for: it was possible
    assert server.stop() == 0


def test_the_command_is_there_only_if_it_is_asked_for(start: Start) -> None:
    server = start("-o", "drop_privileges")
    assert server.ask(b"misbehave\r\nmn\r\nquit\r\n") == b"ERROR\r\nMN\r\n"
    assert server.stop() == 0


def test_sessions_of_all_commands_are_answered_as_before(start: Start) -> None:
    server = start("-o", DROPPED)
    recorded = json.loads(RECORDED.read_text())
    assert {name: session(server, name) for name in SESSIONS} == {name: recorded[name] for name in SESSIONS}
    if shutil.which("memccapable"):
        command = ["memccapable", "-h", "127.0.0.1", "-p", str(server.port)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=LAST_RESORT, check=False).stdout
        assert said.count("[pass]") == 54, said
    assert server.stop() == 0


def test_maintenance_and_reports_work_as_before(start: Start) -> None:
    page = free_port()
    server = start("-m", "64", "-vv", "-o", f"{DROPPED},hashpower=12,track_sizes,metrics={page},idle_timeout=1000")
    with server.connect() as watcher:
        watcher.sendall(b"watch fetchers mutations evictions connevents\r\n")
        assert watcher.recv(4) == b"OK\r\n"
        # The table grows, memory is taken up to its limit, items are evicted.
        small = b"".join(b"set key%d 0 0 10 noreply\r\n0123456789\r\n" % n for n in range(20_000))
        large = b"".join(b"set large%d 0 0 500000 noreply\r\n%s\r\n" % (n, b"v" * 500_000) for n in range(150))
        assert server.ask(small + large + b"mn\r\nquit\r\n") == b"MN\r\n"
        assert watcher.recv(100)
    assert int(server.stat("evictions")) > 0
    wait_until(lambda: server.stat("hash_is_expanding") == "0" and int(server.stat("hash_power_level")) > 12)
    for group in ("", "settings", "items", "slabs", "sizes", "conns", "transactions", "reset"):
        answer = server.ask(f"stats {group}".strip().encode() + b"\r\nquit\r\n")
        assert answer.endswith((b"END\r\n", b"RESET\r\n")), group
    dump = server.ask(b"lru_crawler metadump all\r\nquit\r\n")
    assert dump.count(b"key=") > 100 and dump.endswith(b"END\r\n")
    crawls = int(server.stat("lru_crawler_starts"))
    assert server.ask(b"lru_crawler crawl all\r\nquit\r\n") == b"OK\r\n"
    wait_until(lambda: int(server.stat("lru_crawler_starts")) > crawls)
    assert server.ask(b"slabs reassign -1 1\r\ncache_memlimit 128\r\nquit\r\n").endswith(b"OK\r\n")
    assert server.ask(b"verbosity 2\r\nlru tune 10 25 0.1 2.0\r\nflush_all\r\nquit\r\n") == b"OK\r\n" * 3
    with urllib.request.urlopen(f"http://127.0.0.1:{page}/", timeout=LAST_RESORT) as answer:
        assert b"rubato_cached_curr_items" in answer.read()
    assert server.stop() == 0


def wait_until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.01)


def test_certificates_and_users_are_read_again(start: Start, tmp_path: Path) -> None:
    """By TLS, with a login."""
    if not shutil.which("openssl"):
        pytest.skip("the program openssl, which makes certificates for tests, is not installed")
    certificates = make_certificates(tmp_path)
    crt, key, users = tmp_path / "server.crt", tmp_path / "server.key", tmp_path / "users"

    def use(own: str, line: str) -> None:
        shutil.copy(getattr(certificates, f"{own}_crt"), crt)
        shutil.copy(getattr(certificates, f"{own}_key"), key)
        users.write_text(line + "\n")

    def log_in(word: bytes) -> bytes:
        return server.ask(b"set a 0 0 %d\r\n%s\r\n" % (len(word), word) + b"refresh_certs\r\nquit\r\n")

    use("first", "user:old")
    server = start("-Z", "-Y", str(users), "-o", f"ssl_chain_cert={crt},ssl_key={key},ssl_session_cache,{DROPPED}")
    server.tls = client_context(certificates)
    assert log_in(b"user old") == b"STORED\r\nOK\r\n"
    use("second", "user:new")
    assert log_in(b"user old") == b"STORED\r\nOK\r\n"
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: log_in_without_end(server, b"user new"))
    with server.connect() as client:
        peer = client.getpeercert()  # type: ignore[attr-defined]
    assert ("commonName", "second") in [pair[0] for pair in peer["subject"]]
    assert server.stop() == 0


def log_in_without_end(server: Running, word: bytes) -> bool:
    with server.connect() as client:
        client.sendall(b"set a 0 0 %d\r\n%s\r\n" % (len(word), word))
        return client.recv(100) == b"STORED\r\n"


def test_it_ends_cleanly_and_leaves_no_file(start: Start, cached_program: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    server = start("-A", "-P", str(pid_file), "-o", DROPPED)
    assert int(pid_file.read_text()) == server.process.pid
    assert server.ask(b"shutdown\r\n") == b""
    assert end_of(server) == (0, "")
    assert not pid_file.exists()
    path = tmp_path / "socket"
    command = [str(cached_program), "-u", "root", "-s", str(path), "-o", DROPPED]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: path.exists() or process.poll() is not None)
        with socket.socket(socket.AF_UNIX) as client:
            wait_until(lambda: client.connect_ex(str(path)) == 0 or process.poll() is not None)
            client.sendall(b"mn\r\n")
            assert client.recv(10) == b"MN\r\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(LAST_RESORT) == 0
    assert not path.exists()


def test_in_the_background_it_drops_them_too(cached_program: Path, tmp_path: Path) -> None:
    pid_file, port = tmp_path / "pid", free_port()
    command = [str(cached_program), "-d", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-A", "-P", str(pid_file)]
    assert subprocess.run([*command, "-o", DROPPED], timeout=LAST_RESORT, check=False).returncode == 0
    wait_until(lambda: pid_file.exists() and bool(pid_file.read_text().strip()))
    status = Path(f"/proc/{pid_file.read_text().strip()}/status")
    wait_until(lambda: re.search(r"^Seccomp:\t2$", status.read_text(), re.M) is not None)
    with socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT) as client:
        client.sendall(b"set a 0 0 1\r\nx\r\nget a\r\nshutdown\r\n")
        assert receive_all(client) == b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n"
    wait_until(lambda: not pid_file.exists())


def test_every_thread_has_dropped_them(start: Start) -> None:
    server = start("-o", "drop_privileges")
    server.ask(b"mn\r\nquit\r\n")  # the first request is read after they are gone
    tasks = list(Path(f"/proc/{server.process.pid}/task").iterdir())
    assert len(tasks) >= 5
    for task in tasks:
        assert re.search(r"^Seccomp:\t2$", (task / "status").read_text(), re.M), task
    assert server.stop() == 0
