"""Background work of the cache server: the crawler, free pages, memory at its limit. Time is the server's own clock,
which the tests move (`-o debugtime`)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from cached_server import Running, run_discipline

Start = Callable[..., Running]


def fill(server: Running, prefix: str, number: int, size: int, expiry: int = 0) -> None:
    value = b"v" * size
    name = prefix.encode()
    requests = [b"set %s%d 0 %d %d noreply\r\n%s\r\n" % (name, n, expiry, size, value) for n in range(number)]
    assert server.ask(b"".join(requests) + b"mn\r\nquit\r\n") == b"MN\r\n"


def there(server: Running, prefix: str, number: int) -> int:
    requests = b"".join(b"mg %s%d\r\n" % (prefix.encode(), n) for n in range(number))
    return server.ask(requests + b"quit\r\n").count(b"HD\r\n")


def move_time(server: Running, seconds: int) -> None:
    assert server.ask(b"debugtime %d\r\nquit\r\n" % seconds) == b"OK\r\n"


def wait_for(server: Running, name: str, least: int) -> None:
    while int(server.stat(name)) < least:
        time.sleep(0.01)


def test_expired_items_behind_living_ones_go_before_the_living(start: Start) -> None:
    server = start("-m", "8", "-o", "debugtime")
    wait_for(server, "lru_crawler_starts", 1)  # the look at the start, after which the next one is in 65 seconds
    fill(server, "lives", 2000, 100)
    fill(server, "short", 30_000, 100, expiry=5)
    move_time(server, 70)
    while int(server.stat("curr_items")) > 2000:
        time.sleep(0.01)
    assert server.stat("curr_items") == "2000"
    assert int(server.stat("crawler_reclaimed")) == 30_000
    fill(server, "new", 15_000, 100)
    assert there(server, "lives", 2000) == 2000
    assert server.stat("evictions") == "0"


def test_a_crawl_that_was_accepted_is_running_until_it_is_over(start: Start) -> None:
    server = start("-m", "64", "-o", "debugtime,no_lru_maintainer,lru_crawler_sleep=1000")
    fill(server, "short", 10_000, 2, expiry=1)
    move_time(server, 3)
    # The answers follow each other: nothing comes between.
    answer = server.ask(b"lru_crawler crawl all\r\nstats\r\nquit\r\n")
    assert answer.startswith(b"OK\r\n") and b"STAT lru_crawler_running 1\r\n" in answer
    while server.stat("lru_crawler_running") == "1":
        time.sleep(0.01)
    assert server.stat("curr_items") == "0"
    assert server.stat("crawler_reclaimed") == "10000"


def test_a_crawler_that_a_command_has_enabled_is_in_the_statistics(start: Start) -> None:
    server = start("-o", "no_modern")
    assert "lru_crawler_running" not in server.stats()
    assert server.ask(b"lru_crawler enable\r\nquit\r\n") == b"OK\r\n"
    assert server.stat("lru_crawler_running") == "0"


def test_a_crawl_that_is_asked_for_ends_the_one_that_began_by_itself(start: Start) -> None:
    server = start("-o", "debugtime,lru_crawler_sleep=1000000")  # 16 pauses of a second
    wait_for(server, "lru_crawler_running", 1)
    answers = server.ask(b"lru_crawler crawl all\r\nlru_crawler crawl all\r\nlru_crawler sleep 0\r\nquit\r\n")
    assert answers == b"OK\r\nBUSY currently processing crawler request\r\nOK\r\n"


def test_a_crawl_with_a_limit_goes_on_where_it_stopped(start: Start) -> None:
    server = start("-o", "debugtime,no_lru_maintainer,lru_crawler_tocrawl=1000")
    fill(server, "short", 5000, 2, expiry=1)
    move_time(server, 3)
    left = [5000]
    while left[-1]:
        assert server.ask(b"lru_crawler crawl all\r\nquit\r\n") == b"OK\r\n"
        while server.stat("lru_crawler_running") == "1":
            time.sleep(0.01)
        left.append(int(server.stat("curr_items")))
        assert left[-1] < left[-2]
    # A slice of 64 buckets is looked at to its end.
    assert len(left) in (5, 6)


def test_pages_of_deleted_items_go_to_the_pool_and_serve_another_size(start: Start) -> None:
    server = start("-m", "64", "-o", "debugtime")
    fill(server, "large", 4000, 11_000)
    server.ask(b"".join(b"delete large%d noreply\r\n" % n for n in range(4000)) + b"mn\r\nquit\r\n")
    while int(server.stat("slab_global_page_pool")) < 38:  # 44 MB were there; a class keeps two to three pages
        move_time(server, 1)
        time.sleep(0.05)
    fill(server, "small", 100_000, 400)
    assert there(server, "small", 100_000) == 100_000
    assert server.stat("evictions") == "0"


def sizes_up_to(most: int) -> list[int]:
    sizes = [2]
    while sizes[-1] < most:
        sizes.append(-(-sizes[-1] * 12 // 10))
    return sizes[:-1]


def test_nothing_is_refused_while_all_can_be_evicted(start: Start) -> None:
    """Ten items of each of 68 sizes, twice; and, with `tasks`, where there are two shards."""
    for megabytes in (64, 128):
        server = start("-m", str(megabytes), "-o", "no_slab_automove")
        for n in range(2 * megabytes // 64):
            requests = []
            for size in sizes_up_to(900_000):
                requests += [b"set k%d:%d:%d 0 0 %d\r\n%s\r\n" % (n, size, j, size, b"x" * size) for j in range(10)]
            answers = server.ask(b"".join(requests) + b"quit\r\n")
            assert answers == b"STORED\r\n" * len(requests)


def test_tasks_keep_to_the_limit(cached_program: Path) -> None:
    """`locks` as well as memcached give each class a page beyond it; shards together must not do so each."""
    beyond = {}
    for name in ("locks", "tasks"):
        server = run_discipline(cached_program, name, "-m", "128", "-o", "no_slab_automove")
        try:
            fill(server, "first", 900_000, 100)
            for size in (500, 5000, 50_000, 400_000):
                fill(server, f"s{size}:", 40_000_000 // size, size)
            found = re.search(rb"STAT total_malloced (\d+)", server.ask(b"stats slabs\r\nquit\r\n"))
            assert found
            beyond[name] = (int(found[1]) - (128 << 20)) >> 20
        finally:
            server.stop()
    assert beyond["tasks"] <= max(beyond["locks"], 0)


def test_a_set_over_a_flushed_item_counts_as_reclaimed_without_segments(start: Start) -> None:
    server = start("-o", "no_modern,debugtime")
    server.ask(b"set k 0 0 1\r\nx\r\nquit\r\n")
    move_time(server, 2)
    server.ask(b"flush_all\r\nset k 0 0 1\r\ny\r\nquit\r\n")
    assert server.stat("reclaimed") == "1"
