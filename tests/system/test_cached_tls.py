"""TLS of the cache server and of rubato-load: by Python's ssl and by openssl's own client."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cached_server import LAST_RESORT, Running, free_port, receive_all, run_on_free_port
from cached_sessions import SESSIONS, encode
from cached_tls import Certificates, client_context, connect, make_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if not shutil.which("openssl"):
        pytest.skip("the program openssl, which makes certificates for tests, is not installed")
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session", autouse=True)
def _is_built(cached_program: Path) -> None:
    if "--enable-ssl" not in subprocess.run([cached_program, "-h"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("rubato-cached is built without TLS")


def tls_options(certificates: Certificates, own: str = "first") -> list[str]:
    files = getattr(certificates, f"{own}_crt"), getattr(certificates, f"{own}_key")
    return ["-Z", "-o", f"ssl_chain_cert={files[0]},ssl_key={files[1]}"]


def start_tls(start: Callable[..., Running], certificates: Certificates, *options: str) -> Running:
    """Its `ask` and `stats` go by TLS."""
    server = start(*tls_options(certificates), *options)
    server.tls = client_context(certificates)
    return server


@pytest.fixture
def one(cached_program: Path) -> Iterator[Callable[..., Running]]:
    """Starts servers of the default discipline."""
    running: list[Running] = []

    def begin(*options: str) -> Running:
        running.append(run_on_free_port(cached_program, *options))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


def settings_of(server: Running) -> dict[str, str]:
    return {name: value for name, value in server.stats("settings").items() if name.startswith("ssl_")}


def subject(client: ssl.SSLSocket) -> str:
    return dict(pair[0] for pair in client.getpeercert()["subject"])["commonName"]


@pytest.mark.parametrize("name", ["set and get", "modes", "meta set", "too large", "keys"])
def test_a_session_is_answered_as_without_tls(
    start: Callable[..., Running], certificates: Certificates, name: str
) -> None:
    port = free_port()
    server = start(*tls_options(certificates), "-l", f"notls:127.0.0.1:{port}")
    data = b"flush_all\r\n" + encode(SESSIONS[name]) + b"mn\r\nquit\r\n"
    with connect(server.port, client_context(certificates)) as client:
        client.sendall(data)
        secret = receive_all(client)
    with socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT) as client:
        client.sendall(data)
        assert without_uniques(secret) == without_uniques(receive_all(client))


def without_uniques(answer: bytes) -> bytes:
    return re.sub(rb"(VALUE \S+ \d+ \d+|HD c)[ \d]*", rb"\1", answer)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_large_values_come_back_whole(
    start: Callable[..., Running], certificates: Certificates, version: ssl.TLSVersion
) -> None:
    """Sizes on both sides of a record (16 KB), of what is copied to the answer, and of a chunk."""
    server = start_tls(start, certificates, "-m", "64", "-I", "4m")
    with connect(server.port, client_context(certificates, version=version)) as client:
        assert client.version() == version.name.replace("_", ".")
        for size in (1, 1024, 1025, 16383, 16384, 16385, 524288, 3_000_000):
            value = (bytes(n * 31 % 251 for n in range(1024)) * (size // 1024 + 1))[:size]
            client.sendall(b"set v 7 0 %d\r\n%s\r\nget v v\r\n" % (size, value))
            answer = b"VALUE v 7 %d\r\n%s\r\n" % (size, value)
            expected = b"STORED\r\n" + answer + answer + b"END\r\n"
            assert receive_exactly(client, len(expected)) == expected


def receive_exactly(client: socket.socket, n: int) -> bytes:
    parts = []
    while n:
        parts.append(client.recv(n))
        assert parts[-1], "the server closed the connection"
        n -= len(parts[-1])
    return b"".join(parts)


def test_requests_that_arrive_in_any_pieces_are_the_same_requests(
    start: Callable[..., Running], certificates: Certificates
) -> None:
    """Records cut requests, and one packet has many records: none may wait in the library unnoticed."""
    server = start_tls(start, certificates)
    data = b"".join(b"set k%d 0 0 3\r\nabc\r\nget k%d\r\n" % (n, n) for n in range(300))
    answer = b"".join(b"STORED\r\nVALUE k%d 0 3\r\nabc\r\nEND\r\n" % n for n in range(300))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    records = client_context(certificates).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT) as client:
        while True:
            try:
                records.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(outgoing.read())
                incoming.write(client.recv(1 << 16))
        for piece in (1, 7, 5000):
            for at in range(0, len(data), piece):
                records.write(data[at : at + piece])
            client.sendall(outgoing.read())  # all records at once
            got = b""
            while len(got) < len(answer):
                try:
                    got += records.read(1 << 16)
                except ssl.SSLWantReadError:
                    incoming.write(client.recv(1 << 16))
            assert got == answer


def test_many_connections_are_served_while_others_are_in_mid_handshake(
    start: Callable[..., Running], certificates: Certificates
) -> None:
    server = start_tls(start, certificates)
    context = client_context(certificates)
    half = [socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT) for _ in range(40)]
    for n, client in enumerate(half):
        client.sendall(b"\x16\x03\x01\x02\x00\x01"[: n % 7])  # a part of a hello, or nothing
    clients = [connect(server.port, context) for _ in range(100)]
    for n, client in enumerate(clients):
        client.sendall(b"set k%d 0 0 1\r\nx\r\n" % n)
    for client in clients:
        assert receive_exactly(client, 8) == b"STORED\r\n"
    for n, client in enumerate(clients):
        client.sendall(b"get k%d\r\n" % (n + 1) * 50)
    for n, client in enumerate(clients):
        one_answer = b"VALUE k%d 0 1\r\nx\r\nEND\r\n" % (n + 1) if n + 1 < len(clients) else b"END\r\n"
        assert receive_exactly(client, 50 * len(one_answer)) == 50 * one_answer
        client.close()
    for client in half:
        client.close()
    while server.stat("curr_connections") != "1":
        time.sleep(0.01)


def test_a_client_that_does_not_read_gets_all_in_the_end(
    start: Callable[..., Running], certificates: Certificates
) -> None:
    """Records that the socket refuses are sent again as they were, also while answers are appended behind them."""
    server = start_tls(start, certificates, "-m", "64")
    value = bytes(n % 251 for n in range(100_000))
    with connect(server.port, client_context(certificates)) as client:
        client.sendall(b"set v 0 0 %d\r\n%s\r\n" % (len(value), value))
        assert receive_exactly(client, 8) == b"STORED\r\n"
        rounds = 100
        for _ in range(rounds):
            client.sendall(b"get v\r\nmn\r\n")
        one_answer = b"VALUE v 0 %d\r\n%s\r\nEND\r\nMN\r\n" % (len(value), value)
        for _ in range(rounds):
            assert receive_exactly(client, len(one_answer)) == one_answer


@pytest.mark.parametrize("way", ["quit", "end", "SIGTERM"])
def test_the_end_of_a_connection_is_told_by_close_notify(
    start: Callable[..., Running], certificates: Certificates, way: str
) -> None:
    server = start_tls(start, certificates)
    with connect(server.port, client_context(certificates)) as client:
        client.sendall(b"mn\r\n" + (b"quit\r\n" if way == "quit" else b""))
        assert receive_exactly(client, 4) == b"MN\r\n"
        if way == "end":
            client.unwrap()  # waits for the answer to its own; an end without one is an error
            return
        if way == "SIGTERM":
            assert server.stop() == 0
        assert client.recv(1) == b""


@pytest.mark.parametrize("sent", [b"mn\r\n", b"get a\r\n", b"GET / HTTP/1.0\r\n\r\n", b"x" * 5000])
def test_a_client_without_tls_is_told_so(
    start: Callable[..., Running], certificates: Certificates, sent: bytes
) -> None:
    server = start_tls(start, certificates)
    before = int(server.stat("ssl_handshake_errors"))
    with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT) as client:
        client.sendall(sent)
        assert receive_all(client) == b"SERVER_ERROR this port takes TLS only\r\n"
    assert int(server.stat("ssl_handshake_errors")) == before + 1


def test_bytes_that_are_no_handshake_end_the_connection(
    start: Callable[..., Running], certificates: Certificates
) -> None:
    server = start_tls(start, certificates)
    binary_noop = b"\x80\x0a" + bytes(22)
    for sent in (binary_noop, b"\x16" + b"x" * 100, b"\x16\x03\x01\x00\x05hello"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT) as client:
            client.sendall(sent)
            receive_all(client)  # an alert, and then the end
    # Records that come before a handshake: an alert of their client's, which no sentence explains to it.
    for sent in (b"\x15\x03\x01\x00\x02\x02\x28", b"\x17\x03\x03\x00\x05hello", b"\x14\x03\x03\x00\x01\x01"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT) as client:
            client.sendall(sent)
            assert receive_all(client).startswith(b"\x15\x03")


def test_certificates_are_read_again_while_connections_live(
    start: Callable[..., Running], certificates: Certificates, tmp_path: Path
) -> None:
    chain, key = tmp_path / "chain", tmp_path / "key"

    def use(name: str) -> None:
        shutil.copy(getattr(certificates, f"{name}_crt"), chain)
        shutil.copy(getattr(certificates, f"{name}_key"), key)

    use("first")
    server = start("-Z", "-o", f"ssl_chain_cert={chain},ssl_key={key},debugtime")
    server.tls = context = client_context(certificates)
    old = connect(server.port, context)
    use("second")
    assert subject(connect(server.port, context)) == "first"  # only when it is asked to
    assert server.ask(b"debugtime 50\r\nquit\r\n") == b"OK\r\n"
    assert int(server.stat("time_since_server_cert_refresh")) >= 50
    assert server.ask(b"refresh_certs\r\nrefresh_certs noreply\r\nquit\r\n") == b"OK\r\n"
    assert int(server.stat("time_since_server_cert_refresh")) < 50
    assert subject(connect(server.port, context)) == "second"
    old.sendall(b"mn\r\n")
    assert receive_exactly(old, 4) == b"MN\r\n" and subject(old) == "first"
    # A key that does not fit, then no file: the answer says so, and all stays as it is.
    shutil.copy(certificates.first_key, key)
    assert server.ask(b"refresh_certs\r\nquit\r\n").startswith(b"Error loading the key: %s : error:" % bytes(key))
    chain.unlink()
    answer = server.ask(b"refresh_certs\r\nmn\r\nquit\r\n")
    assert answer.startswith(b"Error loading the certificate chain: %s : error:" % bytes(chain))
    assert answer.endswith(b"\r\nMN\r\n")
    assert subject(connect(server.port, context)) == "second"


def test_an_error_of_reading_certificates_is_answered_in_spite_of_noreply(
    one: Callable[..., Running], certificates: Certificates, tmp_path: Path
) -> None:
    assert one().ask(b"refresh_certs noreply\r\nmn\r\nquit\r\n") == b"Error TLS not enabled\r\nMN\r\n"
    crt = tmp_path / "server.crt"
    shutil.copy(certificates.first_crt, crt)
    server = one("-Z", "-o", f"ssl_chain_cert={crt},ssl_key={certificates.first_key}")
    server.tls = client_context(certificates)
    assert server.ask(b"refresh_certs noreply\r\nmn\r\nquit\r\n") == b"MN\r\n"
    crt.unlink()
    answer = server.ask(b"refresh_certs noreply\r\nmn\r\nquit\r\n")
    assert answer.startswith(b"Error loading the certificate chain") and answer.endswith(b"MN\r\n")


def test_connections_come_and_go_while_certificates_are_read_again(
    start: Callable[..., Running], certificates: Certificates
) -> None:
    server = start_tls(start, certificates)
    wrong: list[Exception] = []

    def work() -> None:
        try:
            for n in range(20):
                with connect(server.port, client_context(certificates)) as client:
                    client.sendall(b"set k 0 0 2\r\n%02d\r\nget k\r\nquit\r\n" % n)
                    assert receive_all(client).startswith(b"STORED\r\nVALUE k 0 2\r\n")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert server.ask(b"refresh_certs\r\n" * 50 + b"quit\r\n") == b"OK\r\n" * 50
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("mode", "own", "is_taken"),
    [
        (0, "", True), (0, "stranger", True), (1, "", True), (1, "client", True), (1, "stranger", False),
        (2, "", False), (2, "client", True), (2, "stranger", False), (3, "client", True), (3, "", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_is_verified_as_the_mode_says(
    one: Callable[..., Running], certificates: Certificates, mode: int, own: str, is_taken: bool,
    version: ssl.TLSVersion,
) -> None:
    further = f"ssl_verify_mode={mode},ssl_ca_cert={certificates.ca_crt}"
    server = one(*tls_options(certificates), "-o", further)
    try:
        with connect(server.port, client_context(certificates, own, version)) as client:
            client.sendall(b"mn\r\n")
            assert receive_exactly(client, 4) == b"MN\r\n"
        answered = True
    except (ssl.SSLError, OSError):
        answered = False
    assert answered == is_taken
    if is_taken and own != "stranger":
        server.tls = client_context(certificates, own)
        assert server.stat("ssl_verify_mode", "settings") == str([0, 1, 3, 7][mode])


def test_older_versions_than_the_least_are_refused(one: Callable[..., Running], certificates: Certificates) -> None:
    server = one(*tls_options(certificates), "-o", "ssl_min_version=3")
    with pytest.raises(ssl.SSLError):
        connect(server.port, client_context(certificates, version=ssl.TLSVersion.TLSv1_2))
    assert connect(server.port, client_context(certificates)).version() == "TLSv1.3"


def test_only_listed_ciphers_are_taken(one: Callable[..., Running], certificates: Certificates) -> None:
    server = one(*tls_options(certificates), "-o", "ssl_ciphers=ECDHE-ECDSA-AES128-GCM-SHA256")
    context = client_context(certificates, version=ssl.TLSVersion.TLSv1_2)
    assert connect(server.port, context).cipher()[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"
    context.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    with pytest.raises(ssl.SSLError):
        connect(server.port, context)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("resumes", [False, True])
def test_sessions_are_resumed_if_asked_for(
    one: Callable[..., Running], certificates: Certificates, version: ssl.TLSVersion, resumes: bool
) -> None:
    server = one(*tls_options(certificates), *(["-o", "ssl_session_cache"] if resumes else []))
    context = client_context(certificates, version=version)
    with connect(server.port, context) as client:
        client.sendall(b"mn\r\n")
        assert receive_exactly(client, 4) == b"MN\r\n"  # with TLS 1.3 the session comes behind the handshake
        session = client.session
        client.unwrap()
    assert (session is not None and session.id != b"" and session.has_ticket) == resumes or version.name == "TLSv1_2"
    if session is not None:
        with connect(server.port, context, session) as client:
            assert client.session_reused == resumes
    server.tls = client_context(certificates)
    statistics = server.stats()
    assert (int(statistics.get("ssl_new_sessions", "0")) > 0) == ("ssl_new_sessions" in statistics) == resumes


@pytest.mark.parametrize(
    ("letter", "version", "said"),
    [("K", "-tls1_3", b"KEYUPDATE"), ("k", "-tls1_3", b"KEYUPDATE"), ("R", "-tls1_2", b"RENEGOTIATING")],
)
def test_other_keys_and_renegotiations_do_not_hang(
    start: Callable[..., Running], certificates: Certificates, letter: str, version: str, said: bytes
) -> None:
    """openssl's client asks for new keys (K: of both), or for a renegotiation, which is refused."""
    server = start_tls(start, certificates)
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", certificates.ca_crt, version,
               "-brief"]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        assert client.stdin and client.stdout and client.stderr

        def ask(request: bytes) -> bytes:
            client.stdin.write(request)
            client.stdin.flush()
            return client.stdout.readline()

        assert ask(b"mn\r\n") == b"MN\r\n"
        client.stdin.write(letter.encode() + b"\n")
        client.stdin.flush()
        assert any(said in line for line in iter(client.stderr.readline, b""))  # what comes with the letter is lost
        if letter != "R":
            for n in range(50):
                assert ask(b"set k 0 0 3\r\n%03d\r\n" % n) == b"STORED\r\n"
        client.stdin.close()
        client.stdout.read()
    assert server.ask(b"mn\r\nquit\r\n") == b"MN\r\n"
    while server.stat("curr_connections") != "1":
        time.sleep(0.01)


def test_settings_are_shown_as_memcached_shows_them(one: Callable[..., Running], certificates: Certificates) -> None:
    files = f"ssl_chain_cert={certificates.first_crt},ssl_key={certificates.first_key}"
    memcached = shutil.which("memcached")
    version = subprocess.run([memcached, "-h"], capture_output=True, text=True, check=True).stdout if memcached else ""
    many = (f"{files},ssl_wbuf_size=64,ssl_session_cache,ssl_min_version=3,ssl_ciphers=HIGH,"
            f"ssl_ca_cert={certificates.ca_crt},ssl_verify_mode=1,ssl_keyformat=1")  # fmt: skip
    for options in (["-Z", "-o", files], ["-Z", "-o", many], []):
        server = one(*options)
        server.tls = client_context(certificates) if options else None
        shown = settings_of(server)
        assert shown["ssl_enabled"] == ("yes" if options else "no") and len(shown) == 11
        if "1.6.18" not in version or "--enable-ssl" not in version:
            continue
        peer = run_on_free_port(Path(str(memcached)), "-U", "0", *options)
        peer.tls = server.tls
        try:
            assert settings_of(peer) == shown
            assert [name for name in peer.stats() if "ssl" in name or "cert" in name] == [
                name for name in server.stats() if "ssl" in name or "cert" in name
            ]
        finally:
            peer.stop()


@pytest.mark.parametrize("key", ["both.pem", "first.der"])
def test_keys_may_be_beside_the_certificate_or_in_der(
    one: Callable[..., Running], certificates: Certificates, key: str
) -> None:
    server = one("-Z", "-o", f"ssl_chain_cert={certificates.both_pem}", *(
        ["-o", f"ssl_key={certificates.first_der},ssl_keyformat=DER"] if key == "first.der" else []))  # fmt: skip
    server.tls = client_context(certificates)
    assert server.ask(b"mn\r\nquit\r\n") == b"MN\r\n"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["-Z"], "ssl_chain_cert"), (["-Z", "-p", "0", "-o", "ssl_chain_cert={first_crt}"], "TCP port"),
        (["-l", "notls:127.0.0.1"], "without -Z"),
        (["-Z", "-o", "ssl_chain_cert=/none"], "cannot take the certificate chain '/none': No such file"),
        (["-Z", "-o", "ssl_chain_cert={first_crt}"], "ssl_key: cannot take the key"),
        (["-Z", "-o", "ssl_chain_cert={first_crt},ssl_key={second_key}"], "ssl_key"),
        (["-Z", "-o", "ssl_chain_cert={first_crt},ssl_key={locked_key}"], "ssl_key"),
        (["-Z", "-o", "ssl_chain_cert={both_pem},ssl_ca_cert={first_key}"], "ssl_ca_cert"),
        (["-Z", "-o", "ssl_chain_cert={both_pem},ssl_ciphers=nonsense"], "ssl_ciphers"),
        (["-Z", "-o", "ssl_chain_cert={both_pem},ssl_verify_mode=2"], "ssl_ca_cert"),
        (["-o", "ssl_verify_mode=4"], "ssl_verify_mode"), (["-o", "ssl_min_version=4"], "ssl_min_version"),
        (["-o", "ssl_keyformat=ENGINE"], "ssl_keyformat"), (["-o", "ssl_wbuf_size=0"], "ssl_wbuf_size"),
        (["-o", "ssl_key"], "ssl_key needs a value"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_in_one_sentence(
    cached_program: Path, certificates: Certificates, options: list[str], word: str
) -> None:
    names = {path.name.replace(".", "_"): path for path in certificates.folder.iterdir()}
    command = [str(cached_program), "-u", "root", *(option.format(**names) for option in options)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LAST_RESORT, check=False,
                            stdin=subprocess.DEVNULL)  # fmt: skip
    assert result.returncode == 64
    assert word in result.stderr and result.stderr.count("\n") == 1 and result.stdout == ""


# ---- rubato-load ------------------------------------------------------------------------------------------


def load(build: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = build / "bin" / "rubato-load"
    return subprocess.run([program, *options], capture_output=True, text=True, timeout=LAST_RESORT, check=False)


@pytest.mark.parametrize("protocol", ["text", "meta", "binary"])
def test_the_load_generator_counts_every_request_by_tls(
    start: Callable[..., Running], build: Path, certificates: Certificates, protocol: str
) -> None:
    server = start_tls(start, certificates)
    result = load(build, f"127.0.0.1:{server.port}", "--tls", "--tls-ca", certificates.ca_crt, "--protocol", protocol,
                  "--requests", "2000", "--keys", "300", "--threads", "2", "--connections", "5", "--in-flight", "9",
                  "--multiget", "3", "--value", "1-40000", "--sets", "0.3", "--verify", "1", "--json")  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    gets = found["latency_us"]["get"]["requests"]
    assert found["requests"] == 2000 and found["errors"] == found["wrong_values"] == found["misses"] == 0
    assert found["hits"] == found["verified"] == gets * 3 == int(server.stat("cmd_get"))


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--tls"], 71, "certificate"), (["--tls", "--tls-insecure"], 0, ""),
        (["--tls", "--tls-ca", "{other_crt}"], 71, "certificate"), ([], 1, "takes TLS only"),
        (["--tls", "--tls-ca", "/none"], 2, "--tls-ca"), (["--tls-ca", "{ca_crt}"], 2, "--tls"),
        (["--tls", "--tls-insecure", "--tls-cert", "/none"], 2, "--tls-cert"),
        (["--tls", "--tls-insecure", "--tls-cert", "{client_crt}", "--tls-key", "{client_key}"], 0, ""),
    ],
)  # fmt: skip
def test_the_load_generator_trusts_whom_it_is_told_to(
    one: Callable[..., Running], build: Path, certificates: Certificates, options: list[str], code: int, word: str
) -> None:
    server = one(*tls_options(certificates))
    names = {path.name.replace(".", "_"): path for path in certificates.folder.iterdir()}
    given = [option.format(**names) for option in options]
    result = load(build, f"127.0.0.1:{server.port}", "--requests", "20", "--keys", "20", *given)
    assert result.returncode == code, result.stderr
    assert word in result.stderr and result.stderr.count("\n") == (code != 0)


def test_a_server_that_knows_no_tls_is_an_error_of_the_load_generator(one: Callable[..., Running], build: Path) -> None:
    result = load(build, f"127.0.0.1:{one().port}", "--tls", "--tls-insecure", "--requests", "1")
    assert result.returncode == 71 and "TLS" in result.stderr
