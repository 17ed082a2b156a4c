"""The cache server as clients see it: sessions beside memcached's answers, real clients, options, signals, faults."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cached_fuzz import first_difference
from cached_server import DISCIPLINES, LAST_RESORT, Running, free_port, receive_all, run_discipline, run_on_free_port
from cached_sessions import RECORDED, SESSIONS, encode, masked, session
from rubato.tm import check as tm_check


def run(cached_program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(cached_program), "-u", "root", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=LAST_RESORT, check=False)


@pytest.fixture(scope="module", params=DISCIPLINES)
def one_server(cached_program: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    server = run_discipline(cached_program, request.param)
    yield server
    server.stop()


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_answered_as_memcached_1_6_18_did(one_server: Running, name: str) -> None:
    assert session(one_server, name) == json.loads(RECORDED.read_text())[name]


def test_the_recorded_answers_are_those_of_the_memcached_that_is_here() -> None:
    memcached = shutil.which("memcached")
    version = subprocess.run([memcached, "-V"], capture_output=True, text=True, check=True).stdout if memcached else ""
    if not memcached or "1.6.18" not in version:
        pytest.skip("memcached 1.6.18 is not installed; its recorded answers stand in")
    port = free_port()
    server = Running([memcached, "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0"], port)
    try:
        recorded = json.loads(RECORDED.read_text())
        assert {name: session(server, name) for name in SESSIONS} == {name: recorded[name] for name in SESSIONS}
    finally:
        server.stop()


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_requests_that_arrive_in_pieces_are_the_same_requests(one_server: Running, pieces: int) -> None:
    data = encode(SESSIONS["modes"]) + encode(SESSIONS["meta set"]) + b"mn\r\nquit\r\n"
    one_server.ask(b"flush_all\r\nquit\r\n")
    whole = masked(one_server.ask(data))
    one_server.ask(b"flush_all\r\nquit\r\n")
    with one_server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), pieces):
            client.sendall(data[at : at + pieces])
        assert masked(receive_all(client)) == whole


def binary(opcode: int, name: bytes, extras: bytes, data: bytes, unique: int) -> bytes:
    length = len(extras) + len(name) + len(data)
    header = struct.pack(">BBHBBHIIQ", 0x80, opcode, len(name), len(extras), 0, 0, length, 0, unique)
    return header + extras + name + data


@pytest.mark.parametrize(
    ("name", "opcode", "extras", "status"),
    [
        (b"none", 0x02, bytes(8), 1), (b"none", 0x03, bytes(8), 1), (b"empty", 0x02, bytes(8), 2),
        (b"empty", 0x05, bytes(20), 6), (b"number", 0x05, bytes(20), 2),
    ],
)  # fmt: skip
def test_a_unique_that_is_wrong_is_answered_as_by_memcached(
    one_server: Running, name: bytes, opcode: int, extras: bytes, status: int
) -> None:
    """Add, replace and increment with a unique: add needs an item then, and what is no number says so first."""
    one_server.ask(b"flush_all\r\ndelete none\r\nset empty 0 0 0\r\n\r\nset number 0 0 1\r\n5\r\nquit\r\n")
    answer = one_server.ask(binary(opcode, name, extras, b"", 999_999_999) + binary(7, b"", b"", b"", 0))
    assert int.from_bytes(answer[6:8], "big") == status


@pytest.mark.parametrize(("key", "extras", "body", "status"), [(3, 0, 2, 0x81), (1, 8, 8, 0x81), (251, 0, 251, 4)])
def test_a_header_with_wrong_lengths_is_answered_as_by_memcached(
    one_server: Running, key: int, extras: int, body: int, status: int
) -> None:
    """And the connection ends, since nothing tells where the next request begins."""
    header = struct.pack(">BBHBBHIIQ", 0x80, 0, key, extras, 0, 0, body, 0, 0)
    answer = one_server.ask(header + bytes(body) + binary(10, b"", b"", b"", 0))
    assert int.from_bytes(answer[6:8], "big") == status
    assert len(answer) == 24 + int.from_bytes(answer[8:12], "big")


def answers_in_turn(server: Running, expected: list[tuple[str, str]]) -> None:
    server.ask(b"flush_all\r\nquit\r\n")
    for request, answer in expected:
        assert server.ask(encode(request) + b"quit\r\n") == encode(answer), request


def test_a_client_may_choose_the_unique(one_server: Running) -> None:
    """The flag E of later versions of memcached, wherever an item gets a unique: above those of flushes before."""
    wrong = "CLIENT_ERROR bad token in command line format"
    expected = [
        ("ms a 1 E100 c|x", "HD c100"), ("mg a c", "HD c100"), ("ms a 1 C99 E200|y", "EX"),
        ("ms a 1 C100 E200 c|y", "HD c200"), ("ms a 1 MA E205 c|z", "HD c205"), ("mg a c v", "VA 2 c205|yz"),
        ("ma n N0 J5 E7 c", "HD c7"), ("ma n E9 c", "HD c9"), ("ma n C9 E11 D100 c", "HD c11"), ("ma n C9 E12", "EX"),
        ("mg n c v", "VA 3 c11|106"), ("mg v N30 E55 c", "HD c55 W"), ("mg v N30 E56 c", "HD c55 Z"),
        ("md a I C1 E300", "EX"), ("md a I E300", "HD"), ("mg a c", "HD c300 X W"), ("ms a 1 Ex|0", wrong),
        ("ms a 1 E|0", wrong), ("mg a Ex", wrong), ("mg a c", "HD c300 Z X"),
    ]  # fmt: skip

    def raised(text: str) -> str:
        return re.sub(r"(?<= [ECc])\d+", lambda unique: str(10**12 + int(unique[0])), text)

    answers_in_turn(one_server, [(raised(request), raised(answer)) for request, answer in expected])
    unique = one_server.ask(b"ms a 1 E0 c\r\nx\r\nquit\r\n")  # 0 is no unique, so it chooses none
    assert int(unique.removeprefix(b"HD c")) > 0


def test_a_meta_set_answers_the_size_of_what_is_stored(one_server: Running) -> None:
    """The flag s of later versions of memcached."""
    answers_in_turn(one_server, [
        ("ms a 3 s|abc", "HD s3"), ("ms a 2 MA s k|de", "HD s5 ka"), ("ms a 1 MP k s|-", "HD ka s6"),
        ("ms a 1 ME s|x", "NS"), ("ms b 0 s|", "HD s0"), ("ms a 2000 s|BIG(2000)", "HD s2000"),
    ])  # fmt: skip


def test_memccapable_passes_all_54_tests(start: Callable[..., Running]) -> None:
    if not shutil.which("memccapable"):
        pytest.skip("libmemcached-tools is not installed")
    server = start()
    command = ["memccapable", "-h", "127.0.0.1", "-p", str(server.port)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert result.stdout.count("[pass]") == 54, result.stdout + result.stderr


def test_large_values_come_back_whole(start: Callable[..., Running]) -> None:
    server = start("-m", "64", "-I", "4m")
    for size in (1023, 1024, 1025, 16384, 524287, 524288, 1_000_000, 3_000_000):
        value = bytes(n * 31 % 251 for n in range(1024)) * (size // 1024 + 1)
        value = value[:size]
        data = b"set v 7 0 %d\r\n%s\r\nget v\r\nquit\r\n" % (size, value)
        assert server.ask(data) == b"STORED\r\nVALUE v 7 %d\r\n%s\r\nEND\r\n" % (size, value)
        joined = server.ask(b"append v 0 0 3\r\nend\r\nget v\r\nquit\r\n")
        assert joined == b"STORED\r\nVALUE v 7 %d\r\n%send\r\nEND\r\n" % (size + 3, value)


def test_memory_stays_at_its_limit_and_nothing_evictable_is_refused(start: Callable[..., Running]) -> None:
    server = start("-m", "8", "-I", "1m")
    requests = []
    for n in range(3000):
        size = (50, 500, 5000, 50_000, 700_000)[n % 5]
        requests.append(b"set key%d 0 0 %d\r\n%s\r\n" % (n, size, b"v" * size))
    answers = server.ask(b"".join(requests) + b"quit\r\n")
    assert answers == b"STORED\r\n" * 3000
    assert int(server.stat("evictions")) > 0


def test_the_table_grows_while_keys_stay(start: Callable[..., Running]) -> None:
    server = start("-m", "256", "-o", "hashpower=12")
    number = 30_000
    server.ask(b"".join(b"set key%d 0 0 1 noreply\r\nx\r\n" % n for n in range(number)) + b"mn\r\nquit\r\n")
    while int(server.stat("hash_power_level")) < 14:  # 30,000 are more than 1.5 of 2^13 and of 2^14
        time.sleep(0.01)
    answer = server.ask(b"".join(b"get key%d\r\n" % n for n in range(number)) + b"quit\r\n")
    assert answer.count(b"VALUE ") == number


def test_a_page_moves_to_another_class_and_no_key_is_lost(start: Callable[..., Running]) -> None:
    server = start("-m", "64", "-o", "no_slab_automove")
    number = 60_000  # of 96 bytes: more than a page in each of four shards
    stores = [b"set key%05d 0 0 10 noreply\r\n0123456789\r\n" % n for n in range(number)]
    server.ask(b"".join(stores) + b"mn\r\nquit\r\n")
    deletes = [b"delete key%05d noreply\r\n" % n for n in range(0, number, 2)]
    server.ask(b"".join(deletes) + b"mn\r\nquit\r\n")
    assert server.ask(b"slabs reassign 1 20\r\nquit\r\n") == b"OK\r\n"
    while int(server.stat("slabs_moved")) == 0:
        time.sleep(0.01)
    answer = server.ask(b"".join(b"get key%05d\r\n" % n for n in range(number)) + b"quit\r\n")
    assert answer.count(b"VALUE ") == number // 2
    assert answer.count(b"\r\n0123456789\r\n") == number // 2


def test_clients_that_die_in_mid_request_leave_nothing(start: Callable[..., Running]) -> None:
    server = start()
    for _ in range(300):
        with server.connect() as client:
            client.sendall(b"set half 0 0 100000\r\nonly a part")
    while int(server.stat("curr_connections")) > 1:
        time.sleep(0.01)
    assert server.stat("curr_items") == "0"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["-U", "11211"], "UDP"),
        (["-N", "1"], "NAPI"), (["-o", "ext_path=/x:1G"], "external storage"), (["-o", "proxy_config=x"], "proxy"),
        (["-o", "no_such"], "not known"), (["-o", "drop_privileges=x"], "its opposite is no_drop_privileges"),
        (["-o", "discipline=none"], "locks or locks14"),
        (["-t", "0"], "-t"), (["-f", "1"], "-f"),
        (["-m", "x"], "-m"), (["-m", "0"], "-m"), (["-m", "1g"], "-m"), (["-m", "1"], "-I"),
        (["-o", "lru_crawler=0"], "no_lru_crawler"), (["-o", "no_lru_crawler=x"], "its opposite is lru_crawler"),
        (["-o", "slab_automove=3"], "slab_automove"), (["-o", "idle_timeout=-2"], "idle_timeout"),
        (["-B", "udp"], "-B"), (["extra"], "extra"), (["-p"], "-p"), (["-I", "100"], "-I"),
        (["-a", "0x7"], "-a"), (["-f", "nan"], "-f"), (["-l", ","], "no address"), (["-l", "127.0.0.1:76747"], "65535"),
        (["-l", "[::1"], "[IPV6]:PORT"), (["-l", "[::1]11211"], "[IPV6]:PORT"), (["-l", "127.0.0.1:"], "HOST:PORT"),
        (["-o", "metrics=70000"], "metrics=70000"), (["-o", "metrics=127.0.0.1:70000"], "metrics"),
        (["-o", "slab_sizes=" + "-".join(map(str, range(96, 600, 8)))], "62"),
        (["-o", "slab_sizes=96-600000"], "slab_chunk_max"), (["-o", "hot_max_factor=nan"], "hot_max_factor"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_in_one_sentence(cached_program: Path, options: list[str], word: str) -> None:
    result = run(cached_program, *options)
    assert result.returncode == 64
    assert word in result.stderr
    assert result.stderr.count("\n") == 1 and result.stdout == ""


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        # The start line of many guides.
        ("-o slab_reassign,slab_automove,lru_crawler,maxconns_fast,hash_algorithm=murmur3", {"slab_automove": "1"}),
        ("-o slab_automove=2", {"slab_automove": "2"}),
        ("-o slab_reassign=1,lru_crawler=1,maxconns_fast=1", {"slab_reassign": "yes", "lru_crawler": "yes"}),
        ("-o temporary_ttl=-1,idle_timeout=-1", {"idle_timeout": "0"}),
        ("-o slab_automove_freeratio=0.1,resp_obj_mem_limit=10", {"slab_automove_freeratio": "0.100"}),
        ("-m 1024m", {"maxbytes": str(1 << 30)}),
        ("-m 2 -M", {"maxbytes": str(2 << 20), "evictions": "off"}),
        ("-m 7", {"maxbytes": str(7 << 20)}),
    ],
)
def test_options_as_memcached_takes_them_start_the_server(
    cached_program: Path, options: str, shown: dict[str, str]
) -> None:
    server = run_on_free_port(cached_program, *options.split())
    try:
        found = server.stats("settings")
    finally:
        server.stop()
    assert {name: found[name] for name in shown} == shown


@pytest.mark.parametrize("name", DISCIPLINES)
def test_two_megabytes_evict_at_two_megabytes(cached_program: Path, name: str) -> None:
    server = run_discipline(cached_program, name, "-m", "2")
    try:
        value = b"v" * 50_000
        requests = b"".join(b"set k%d 0 0 50000\r\n%s\r\n" % (n, value) for n in range(100))
        assert server.ask(requests + b"quit\r\n") == b"STORED\r\n" * 100
        assert 20 <= int(server.stat("curr_items")) <= 40
        assert int(server.stat("evictions")) == 100 - int(server.stat("curr_items"))
    finally:
        server.stop()


def test_a_port_in_use_ends_with_71(cached_program: Path, start: Callable[..., Running]) -> None:
    server = start()
    result = run(cached_program, "-l", "127.0.0.1", "-p", str(server.port))
    assert result.returncode == 71 and str(server.port) in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_end_it_cleanly(start: Callable[..., Running], number: int) -> None:
    server = start()
    server.process.send_signal(number)
    assert server.process.wait(LAST_RESORT) == 0


def ask_before_login(server: Running, data: bytes) -> bytes:
    """All that is answered until the server closes; `quit` is refused like any other command before a login."""
    with server.connect() as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return receive_all(client)


def test_users_log_in_by_a_file_that_hup_reads_again(start: Callable[..., Running], tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("anna:secret\n")
    server = start("-Y", str(users))
    refused = b"CLIENT_ERROR unauthenticated\r\n"
    assert ask_before_login(server, b"set x 0 0 11\r\nanna secret\r\nget a\r\n") == b"STORED\r\nEND\r\n"
    assert ask_before_login(server, b"set x 0 0 10\r\nanna wrong\r\nset x 0 0 1\r\nx\r\n") == (
        b"CLIENT_ERROR authentication failure\r\nCLIENT_ERROR bad authentication token format\r\n")  # fmt: skip
    # A command before the login is refused, and the connection stays: pools begin with one.
    too_early = [b"get a", b"version", b"mn", b"", b"set x", b"set x 0 0 y", b"quit"]
    answers = ask_before_login(server, b"".join(line + b"\r\nset x 0 0 10\r\nanna wrong\r\n" for line in too_early)
                               + b"set x 0 0 11\r\nanna secret\r\nmn\r\n")  # fmt: skip
    assert answers == (refused + b"CLIENT_ERROR authentication failure\r\n") * len(too_early) + b"STORED\r\nMN\r\n"
    # Not so a value that is no user and password by its length.
    assert ask_before_login(server, b"set x 0 0 5000\r\nmn\r\n") == refused
    users.write_text("bert:other\n")
    server.process.send_signal(signal.SIGHUP)
    while b"STORED" not in ask_before_login(server, b"set x 0 0 10\r\nbert other\r\n"):
        time.sleep(0.01)


def test_noreply_is_heeded_where_memory_is_full(start: Callable[..., Running]) -> None:
    server = start("-M", "-m", "8")
    value = b"v" * 100_000
    answers = server.ask(b"".join(b"set k%d 0 0 100000\r\n%s\r\n" % (n, value) for n in range(200)) + b"quit\r\n")
    assert answers.endswith(b"SERVER_ERROR out of memory storing object\r\n")
    quiet = b"set k 0 0 100000 noreply\r\n%s\r\nadd k 0 0 100000 noreply\r\n%s\r\n" % (value, value)
    assert server.ask(quiet + b"delete none\r\nquit\r\n") == b"NOT_FOUND\r\n"


@pytest.mark.parametrize("name", DISCIPLINES)
def test_statistics_and_help_name_the_discipline(cached_program: Path, name: str) -> None:
    server = run_discipline(cached_program, name)
    try:
        assert server.stat("discipline", "settings") == name
    finally:
        server.stop()
    assert f"{name}" in re.findall(r"[\w-]+", run(cached_program, "-h").stdout)


@pytest.mark.parametrize("name", ["tm", "tm-it"])
def test_no_transaction_of_a_server_runs_alone(cached_program: Path, name: str) -> None:
    server = run_discipline(cached_program, name, "-m", "8")
    try:
        value = b"x" * 5000
        for n in range(20):
            requests = b"".join(b"set %d 0 0 5000\r\n%s\r\nget %d\r\n" % (k, value, k // 2) for k in range(n, 4000, 10))
            assert server.ask(requests + b"quit\r\n").count(b"STORED") == len(range(n, 4000, 10))
        assert int(server.stat("evictions")) > 0
        found = dict(re.findall(r"STAT (\w+) (\d+)", server.ask(b"stats transactions\r\nquit\r\n").decode()))
    finally:
        server.stop()
    assert int(found["committed"]) > 5_000
    assert found["start_serial"] == found["in_flight_switch"] == found["memory_serial"] == "0"


@pytest.mark.parametrize("branch", ["ip", "it"])
def test_the_transactional_unit_has_no_relaxed_block(build: Path, branch: str) -> None:
    unit = build / f"cached/CMakeFiles/rubato_cached_tm.dir/discipline/tm_{branch}.cpp.o"
    if not unit.exists():
        pytest.skip("rubato-cached is built without discipline tm")
    # GCC loads the key of a request plainly, since it is passed by value; no transaction writes it.
    found = tm_check.check(unit, relaxed=True).findings
    assert [one for one in found if not ("plain load" in one.what and "::get(" in one.function)] == []


@pytest.mark.parametrize("protocol", ["text", "meta"])
@pytest.mark.parametrize("name", DISCIPLINES[1:])
def test_random_sessions_are_answered_as_with_locks(cached_program: Path, name: str, protocol: str) -> None:
    servers: list[Running] = []
    try:
        for one in (name, "locks"):
            servers.append(run_discipline(cached_program, one))
        assert first_difference(servers[0], servers[1], range(1, 101), protocol, wild=True) is None
    finally:
        for server in servers:
            server.stop()


@pytest.fixture(scope="module")
def memcached() -> Iterator[Running]:
    program = shutil.which("memcached")
    if not program:
        pytest.skip("memcached is not installed, so there is nothing to compare random sessions with")
    server = run_on_free_port(Path(program), "-U", "0")
    yield server
    server.stop()


@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("protocol", ["text", "meta", "binary"])
def test_random_sessions_are_answered_as_by_memcached(
    one_server: Running, memcached: Running, protocol: str, wild: bool
) -> None:
    assert first_difference(one_server, memcached, range(1, 41), protocol, wild) is None


@pytest.mark.long
@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("protocol", ["text", "meta", "binary"])
def test_thousands_of_random_sessions_are_answered_as_by_memcached(
    one_server: Running, memcached: Running, protocol: str, wild: bool
) -> None:
    assert first_difference(one_server, memcached, range(1001, 4001), protocol, wild) is None


def test_names_of_statistics_are_memcacheds(one_server: Running) -> None:
    recorded = json.loads(RECORDED.read_text())
    # Debian's memcached is built without drop_privileges.
    our_settings = {"discipline", "item_copy_max", "rubato_version", "drop_privileges"}
    for group, ours in (("", set()), (" settings", our_settings)):
        answer = one_server.ask(f"stats{group}\r\nquit\r\n".encode())
        names = set(re.findall(r"STAT (?!ssl_)(\S+)", answer.decode()))  # those of TLS depend on the build
        assert names - ours == set(recorded[f"names of stats{group}"])
