"""Warm restarts of the cache server (-e): items outlive a graceful stop, and nothing else does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cached_restarts import Restarts
from cached_server import DISCIPLINES, LAST_RESORT, Running, free_port, run_discipline

Start = Callable[..., Running]


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return tmp_path / "items"


def meta_of(items: Path) -> Path:
    return items.with_name(items.name + ".meta")


def end(server: Running, how: signal.Signals = signal.SIGUSR1) -> tuple[int, str]:
    """Exit code and standard error."""
    server.process.send_signal(how)
    code = server.process.wait(LAST_RESORT)
    assert server.process.stderr
    return code, server.process.stderr.read()


def fails(program: Path, *options: str) -> tuple[int, str]:
    """Exit code and standard error of a start that does not succeed."""
    command = [program, "-u", "root", "-l", "127.0.0.1", "-p", str(free_port()), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LAST_RESORT, check=False)
    return done.returncode, done.stderr


def holds(server: Running, key: str) -> bool:
    return server.ask(b"mg %s k\r\nquit\r\n" % key.encode()).startswith(b"HD")


def test_items_come_back_after_a_graceful_stop(start: Start, items: Path) -> None:
    options = ("-e", str(items), "-I", "2m")
    server = start(*options)
    assert server.stat("memory_file", "settings") == str(items)
    large = b"0123456789" * 150_000
    server.ask(b"set a 5 0 3\r\nabc\r\nset b 0 1000 1\r\nx\r\nset large 1 0 %d\r\n%s\r\nquit\r\n" % (len(large), large))
    requests = b"gets a b large\r\nmg a f s c\r\nquit\r\n"
    before = server.ask(requests)
    assert large in before
    assert items.read_bytes() == b""
    assert not meta_of(items).exists()
    code, said = end(server)
    assert code == 0
    assert f"3 items (1.4 MB) are written to '{items}'" in said
    assert meta_of(items).exists()
    server = start(*options)
    assert not meta_of(items).exists()
    assert server.ask(requests) == before
    assert server.stat("curr_items") == "3"
    assert server.stat("total_items") == "3"
    left = int(re.findall(rb"VA 1 t(\d+)", server.ask(b"mg b t v\r\nquit\r\n"))[0])
    assert 900 < left <= 1000
    assert "3 of 3 items (1.4 MB) are back" in end(server)[1]


def test_the_command_shutdown_graceful_keeps_items_and_shutdown_does_not(start: Start, items: Path) -> None:
    options = ("-e", str(items), "-A")
    server = start(*options)
    server.ask(b"set a 0 0 1\r\nx\r\nshutdown graceful\r\n")
    assert server.process.wait(LAST_RESORT) == 0
    server = start(*options)
    assert holds(server, "a")
    server.ask(b"shutdown\r\n")
    assert server.process.wait(LAST_RESORT) == 0
    server = start(*options)
    assert not holds(server, "a")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_any_other_end_leaves_nothing(start: Start, items: Path, how: signal.Signals) -> None:
    server = start("-e", str(items))
    server.ask(b"set a 0 0 3\r\nold\r\nquit\r\n")
    end(server)
    server = start("-e", str(items))
    server.ask(b"set a 0 0 3\r\nnew\r\nquit\r\n")
    end(server, how)
    server = start("-e", str(items))
    assert not holds(server, "a")
    assert f"the cache starts empty: there is no '{meta_of(items)}'" in end(server)[1]


def test_items_expire_while_the_server_is_down(start: Start, items: Path) -> None:
    server = start("-e", str(items))
    server.ask(b"set short 0 2 1\r\nx\r\nset long 0 100 1\r\nx\r\nquit\r\n")
    end(server)
    time.sleep(2.5)
    server = start("-e", str(items))
    assert not holds(server, "short")
    assert holds(server, "long")


def test_items_go_from_any_discipline_to_any_other(cached_program: Path, items: Path) -> None:
    keys = []
    for number in range(2):  # each follows each
        for discipline in [*DISCIPLINES, *DISCIPLINES[::-1]]:
            try:
                server = run_discipline(cached_program, discipline, "-e", str(items))
            except pytest.skip.Exception:
                continue
            for key in keys:
                assert server.ask(b"get %s\r\nquit\r\n" % key) == b"VALUE %s 7 6\r\nvalue-\r\nEND\r\n" % key
            keys.append(b"%d-%d" % (number, len(keys)))
            server.ask(b"set %s 7 0 6\r\nvalue-\r\nquit\r\n" % keys[-1])
            assert end(server)[0] == 0
    assert len(keys) >= 4


def test_clients_in_mid_request_lose_that_request_alone(start: Start, items: Path) -> None:
    server = start("-e", str(items), "-I", "8m")
    large = b"y" * (6 << 20)
    with server.connect() as half, server.connect() as slow, server.connect() as watcher, server.connect() as quick:
        half.sendall(b"set half 0 0 100000\r\nonly a part")
        watcher.sendall(b"watch fetchers mutations\r\n")
        assert watcher.recv(4) == b"OK\r\n"
        slow.sendall(b"set large 0 0 %d\r\n%s\r\n" % (len(large), large) + b"get large\r\n" * 10)
        assert slow.recv(8) == b"STORED\r\n"
        quick.sendall(b"".join(b"set quick%d 0 0 1\r\nx\r\n" % n for n in range(1000)) + b"mn\r\n")
        answers = b""
        while not answers.endswith(b"MN\r\n"):
            answers += quick.recv(1 << 16)
        code, said = end(server)
        assert code == 0, said
    server = start("-e", str(items), "-I", "8m")
    assert server.stat("curr_items") == "1001"
    assert not holds(server, "half")
    assert large in server.ask(b"get large\r\nquit\r\n")


def test_with_less_memory_the_newest_items_come_back(start: Start, items: Path) -> None:
    server = start("-e", str(items), "-m", "8")
    value = b"x" * 1000
    server.ask(b"".join(b"set k%d 0 0 1000 noreply\r\n%s\r\n" % (n, value) for n in range(5000)) + b"quit\r\n")
    end(server)
    server = start("-e", str(items), "-m", "2")
    assert holds(server, "k4999")
    assert not holds(server, "k0")
    assert 1000 < int(server.stat("curr_items")) < 4000
    assert re.search(r"\d+ of \d+ items .* are back .*; 0 had expired, [1-9]\d* found no room", end(server)[1])


def test_a_file_that_another_server_uses_is_refused(start: Start, cached_program: Path, items: Path) -> None:
    server = start("-e", str(items))
    server.ask(b"set a 0 0 1\r\nx\r\nquit\r\n")
    code, said = fails(cached_program, "-e", str(items))
    assert code == 71
    assert "another server uses" in said
    assert end(server)[0] == 0
    assert holds(start("-e", str(items)), "a")


def test_a_start_that_fails_leaves_the_items_to_the_next(start: Start, cached_program: Path, items: Path) -> None:
    server = start("-e", str(items))
    server.ask(b"set a 0 0 1\r\nx\r\nquit\r\n")
    end(server)
    other = start()
    assert fails(cached_program, "-p", str(other.port), "-e", str(items))[0] == 71
    assert fails(cached_program, "-l", "256.256.256.256", "-e", str(items))[0] == 71
    assert fails(cached_program, "-Y", "/nonexistent", "-e", str(items))[0] == 64
    assert holds(start("-e", str(items)), "a")


@pytest.mark.parametrize(("name", "reason"), [
    ("absent/items", "cannot open '{}' for reading and writing: No such file or directory"),
    ("", "cannot open"),
    ("thesis", "'{}' is not a file of rubato-cached, and would be overwritten; remove it, or name another file"),
    ("noted", "'{}.meta' is not a file of rubato-cached; remove it to start without items"),
])  # fmt: skip
def test_files_that_cannot_be_used_are_refused_and_stay(
    cached_program: Path, tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "thesis").write_text("years of work")
    (tmp_path / "noted.meta").write_text("")
    path = str(tmp_path / name) if name else str(tmp_path)
    code, said = fails(cached_program, "-e", path)
    assert code == 71
    assert reason.format(path) in said
    assert (tmp_path / "thesis").read_text() == "years of work"
    assert (tmp_path / "noted.meta").read_text() == ""
    assert fails(cached_program, "-e", "")[0] == 64


def test_a_full_disk_is_an_error_and_the_next_start_is_empty(start: Start, items: Path) -> None:
    other = items.with_name("other")
    other.write_text("stays")
    server = start("-e", str(items), "-m", "64")
    server.ask(b"set a 0 0 500000\r\n%s\r\nset b 0 0 800000\r\n%s\r\nquit\r\n" % (b"a" * 500_000, b"b" * 800_000))
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    code, said = end(server)
    assert code == 71
    assert f"rubato-cached: -e: cannot write '{items}': File too large; the items are lost\n" in said
    assert not meta_of(items).exists()
    assert items.stat().st_size == 0
    assert other.read_text() == "stays"
    server = start("-e", str(items))
    assert server.stat("curr_items") == "0"


def test_files_of_memcached_are_told_and_replaced(start: Start, items: Path) -> None:
    memcached = shutil.which("memcached")
    if not memcached:
        pytest.skip("memcached is not installed")
    theirs = Running([memcached, "-u", "root", "-l", "127.0.0.1", "-p", (port := str(free_port())), "-e", str(items)],
                     int(port))  # fmt: skip
    theirs.ask(b"set a 0 0 1\r\nx\r\nquit\r\n")
    end(theirs)
    server = start("-e", str(items))
    assert not holds(server, "a")
    server.ask(b"set b 0 0 1\r\nx\r\nquit\r\n")
    assert "is memcached's, whose items are not readable" in end(server)[1]
    assert holds(start("-e", str(items)), "b")


def test_it_works_without_privileges(start: Start, cached_program: Path, items: Path) -> None:
    if "no_drop_privileges" not in subprocess.run([cached_program, "-h"], capture_output=True, text=True).stdout:
        pytest.skip("rubato-cached is built without libseccomp")
    for turn in range(2):
        server = start("-e", str(items), "-o", "drop_privileges")
        assert holds(server, "a") == bool(turn)
        server.ask(b"set a 0 0 1\r\nx\r\nquit\r\n")
        code, said = end(server)
        assert code == 0, said
    server = start("-e", str(items), "-o", "drop_privileges")
    assert end(server, signal.SIGTERM)[0] == 0  # it removes what it had opened
    assert not items.with_name("items.meta.new").exists()


def test_a_socket_and_a_file_of_the_process_go_along(cached_program: Path, tmp_path: Path) -> None:
    files = ["-s", tmp_path / "socket", "-P", tmp_path / "pid", "-e", tmp_path / "items"]
    process = subprocess.Popen([cached_program, "-u", "root", *files], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "pid").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(LAST_RESORT) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items", "items.meta"]


def restarts(program: Path, discipline: str, items: Path, seconds: float) -> dict[str, int]:
    run_discipline(program, discipline).stop()  # skips where it is not built
    return Restarts(program, [discipline], items).run(seconds)


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_restarts_with_kills_bring_no_wrong_value(cached_program: Path, items: Path, discipline: str) -> None:
    counts = restarts(cached_program, discipline, items, 4)
    assert counts["values verified"] > 0


@pytest.mark.long
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_restarts_for_long(
    cached_program: Path, items: Path, discipline: str, pytestconfig: pytest.Config
) -> None:
    counts = restarts(cached_program, discipline, items, 60 * float(pytestconfig.getoption("minutes")))
    for what in ("values verified", "misses verified", "killed as it writes", "killed as it begins", "damaged files"):
        assert counts[what] > 0, counts


def test_an_older_file_ends_the_restarts(cached_program: Path, items: Path) -> None:
    checked = Restarts(cached_program, ["locks"], items)
    while not meta_of(items).exists():
        checked.one_life()
    old = {path: path.read_bytes() for path in (items, meta_of(items))}
    with pytest.raises(AssertionError, match="and may have"):
        for _ in range(20):
            checked.run(1)
            for path, content in old.items():
                path.write_bytes(content)
