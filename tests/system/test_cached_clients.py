"""Real clients against the cache server: pymemcache, pylibmc, the tools of libmemcached."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cached_server import LAST_RESORT, Running

Start = Callable[..., Running]
LARGE = bytes(n * 37 % 256 for n in range(256)) * 3000  # more than one chunk


def test_pymemcache_gets_what_it_asks_for(start: Start) -> None:
    base = pytest.importorskip("pymemcache.client.base")
    server = start()
    client = base.Client(("127.0.0.1", server.port), default_noreply=False, timeout=LAST_RESORT)
    assert client.set("a", b"1", flags=7) and client.get("a") == b"1"
    assert client.add("a", b"2") is False and client.replace("a", b"3") is True
    assert client.append("a", b"4") and client.prepend("a", b"2") and client.get("a") == b"234"
    value, unique = client.gets("a")
    assert value == b"234" and client.cas("a", b"5", unique) is True and client.cas("a", b"6", unique) is False
    assert client.cas("none", b"6", unique) is None
    assert client.incr("a", 10) == 15 and client.decr("a", 20) == 0 and client.incr("none", 1) is None
    assert client.touch("a", 100) and client.get("a") == b"0 " and not client.touch("none", 1)
    assert client.set_many({f"k{n}": str(n).encode() for n in range(200)}) == []
    found = client.get_many([f"k{n}" for n in range(0, 400, 2)])
    assert found == {f"k{n}": str(n).encode() for n in range(0, 200, 2)}
    assert client.set("large", LARGE) and client.get("large") == LARGE
    assert client.delete("a") and not client.delete("a") and client.get("a") is None
    assert b"1.6.18" in client.version() and client.stats()[b"curr_items"] == 201
    assert client.flush_all() and client.get("k1") is None
    with pytest.raises(base.MemcacheIllegalInputError):
        client.set("k" * 251, b"")
    client.close()


def test_a_pool_of_pymemcache_counts_from_many_threads(start: Start) -> None:
    base = pytest.importorskip("pymemcache.client.base")
    server = start()
    client = base.PooledClient(("127.0.0.1", server.port), max_pool_size=8, default_noreply=False)
    client.set("n", b"0")
    threads = [threading.Thread(target=lambda: [client.incr("n", 1) for _ in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.get("n") == b"1600"
    client.close()


def test_pymemcache_spreads_keys_over_two_servers(start: Start) -> None:
    hashing = pytest.importorskip("pymemcache.client.hash")
    servers = [start(), start()]
    client = hashing.HashClient([("127.0.0.1", server.port) for server in servers], default_noreply=False)
    assert client.set_many({f"k{n}": b"v" for n in range(100)}) == []
    assert len(client.get_many([f"k{n}" for n in range(100)])) == 100
    assert sorted(int(server.stat("curr_items")) for server in servers)[0] > 0
    client.close()


@pytest.mark.parametrize("binary", [False, True])
def test_pylibmc_gets_what_it_asks_for(start: Start, binary: bool) -> None:
    pylibmc = pytest.importorskip("pylibmc")
    server = start()
    behaviors = {"cas": True, "tcp_nodelay": True}
    client = pylibmc.Client([f"127.0.0.1:{server.port}"], binary=binary, behaviors=behaviors)
    assert client.set("a", "text") and client.get("a") == "text"
    assert client.set("n", 5) and client.incr("n", 3) == 8 and client.decr("n", 9) == 0
    assert not client.add("n", 1) and client.replace("n", 7) and client.get("n") == 7
    client.set("s", "b")
    assert client.append("s", "c") and client.prepend("s", "a") and client.get("s") == "abc"
    value, unique = client.gets("s")
    assert value == "abc" and client.cas("s", "new", unique) and not client.cas("s", "newer", unique)
    assert client.set_multi({f"k{n}": {"number": n} for n in range(100)}) == []
    assert client.get_multi([f"k{n}" for n in range(0, 200, 2)]) == {f"k{n}": {"number": n} for n in range(0, 100, 2)}
    assert client.set("large", LARGE) and client.get("large") == LARGE
    assert client.set("packed", "x" * 500_000, min_compress_len=1000) and client.get("packed") == "x" * 500_000
    # Over the binary protocol libmemcached waits five seconds after a touch, for memcached as well.
    assert binary or client.touch("a", 100)
    assert client.delete("a") and not client.delete("a") and client.get("a") is None
    [(_, statistics)] = client.get_stats()
    assert statistics["version" if isinstance(next(iter(statistics)), str) else b"version"]
    assert client.flush_all() and client.get("n") is None
    client.disconnect_all()


@pytest.mark.parametrize("protocol", [[], ["--binary"]])
def test_the_tools_of_libmemcached_work(start: Start, tmp_path: Path, protocol: list[str]) -> None:
    if not shutil.which("memccp"):
        pytest.skip("libmemcached-tools is not installed")
    server = start()

    def tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        chosen = [] if name in ("memcping", "memcstat") else protocol  # those have no choice
        command = [name, f"--servers=127.0.0.1:{server.port}", *chosen, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=LAST_RESORT, check=False)

    (tmp_path / "letter").write_text("dear cache\n" * 2000)
    assert tool("memccp", tmp_path / "letter").returncode == 0
    assert "dear cache\n" * 2000 in tool("memccat", "letter").stdout
    assert tool("memcexist", "letter").returncode == 0 and tool("memcexist", "none").returncode != 0
    assert tool("memctouch", "--expire=100", "letter").returncode == 0
    assert tool("memcping").returncode == 0
    assert "curr_items" in tool("memcstat").stdout
    assert tool("memcrm", "letter").returncode == 0 and tool("memcexist", "letter").returncode != 0
    slap = tool("memcslap", "--concurrency=4", "--execute-number=200", "--test=set")
    assert slap.returncode == 0 and int(server.stat("cmd_set")) >= 800, slap.stderr
    assert tool("memcflush").returncode == 0
