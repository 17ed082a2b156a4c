"""Random sessions for two servers, whose answers must be the same (T79).

    cached_fuzz.py PROGRAM OTHER --protocol text --seeds 1-200 [--wild]

A session is made from its seed alone: requests of one protocol over few keys, among them wrong ones, and in wild
sessions some that are changed in a byte; some are sent in pieces of random sizes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import base64
import random
import re
import shutil
import socket
import struct
import sys
from pathlib import Path

from cached_server import Running, run_on_free_port

KEYS = [b"a", b"b", b"c", b"k" * 250, b"num"]
ODD_KEYS = [b"k" * 251, b"", b"\x01"]
# Keys in base64 for the flag b: of KEYS, with bytes that are skipped, and wrong ones.
BASE64_KEYS = [b"YQ==", b"bnVt", b"Y\rQ==", b"-bn.Vt", b"YQ==YQ==", b"YQ=", b"=YWI", b"Y===", b"bnV", b"AAEC", b"!"]
# No value reaches 2^63: there memcached looks for a minus sign from the number to the next zero byte, in what an
# earlier item left behind the value, and calls it no number if it finds one. The recorded sessions have such numbers.
NUMBERS = [b"0", b"1", b"5", b"100", b"-1", b"x", b"4294967296", b""]


def value(draw: random.Random) -> bytes:
    kind = draw.randrange(4)
    if kind == 0:
        return str(draw.randrange(10 ** draw.choice([1, 5, 12]))).encode()
    length = draw.choice([0, 1, 2, 10, 100, 1023, 1024, 5000]) if kind < 3 else draw.randrange(60)
    data = bytes(draw.choice(b"abc \r\nxyz019") for _ in range(length))
    # A number that is sought among white space alone memcached finds behind the value's end.
    return data if data.strip() or not data else b"." * length


def key(draw: random.Random) -> bytes:
    return draw.choice(KEYS) if draw.random() < 0.97 else draw.choice(ODD_KEYS)


def text_request(draw: random.Random) -> bytes:
    kind = draw.randrange(8)
    quiet = b" noreply" if draw.random() < 0.15 else b""
    if kind <= 1:
        name = draw.choice([b"get", b"gets", b"get", b"bget"])
        return name + b"".join(b" " + key(draw) for _ in range(draw.randrange(1, 6))) + b"\r\n"
    if kind <= 4:
        data = value(draw)
        length = len(data) if draw.random() < 0.95 else draw.choice([len(data) + 1, max(len(data) - 1, 0)])
        name = draw.choice([b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas"])
        unique = b" %d" % draw.randrange(5) if name == b"cas" else b""
        expiry = draw.choice([0, 0, 0, 100, -1, 2_592_001])
        flags = draw.choice([0, 0, 5, 2**32 - 1])
        return b"%s %s %d %d %d%s%s\r\n%s\r\n" % (name, key(draw), flags, expiry, length, unique, quiet, data)
    if kind == 5:
        name = draw.choice([b"incr", b"decr"])
        return b"%s %s %s%s\r\n" % (name, draw.choice([b"num", key(draw)]), draw.choice(NUMBERS), quiet)
    if kind == 6:
        return b"delete %s%s\r\n" % (key(draw), draw.choice([b"", b"", b" 0", b" 1", quiet]))
    name = draw.choice([b"touch %s %s", b"gat %s %s", b"gats %s %s"])
    words = (key(draw), draw.choice([b"0", b"100", b"x"]))
    return (name % (words if name.startswith(b"touch") else words[::-1])) + b"\r\n"


def meta_request(draw: random.Random) -> bytes:
    def flags(letters: str) -> bytes:
        chosen = draw.sample(letters, draw.randrange(min(5, len(letters)) + 1))
        with_token = {"O": [b"opaque", b"1"], "T": [b"0", b"90", b"x"], "N": [b"30"], "R": [b"20"], "F": [b"3", b"x"],
                      "I": [b""], "M": [b"E", b"A", b"P", b"R", b"S", b"I", b"D", b"x"], "C": [b"1", b"999999999"],
                      "J": [b"7", b"x"], "D": [b"2", b"x"]}  # fmt: skip
        return b"".join(b" " + letter.encode() + draw.choice(with_token.get(letter, [b""])) for letter in chosen)

    in_base64 = draw.random() < 0.2
    name = draw.choice(BASE64_KEYS) if in_base64 else key(draw)
    early, late = draw.choice([(b" b", b""), (b"", b" b")]) if in_base64 else (b"", b"")
    kind = draw.randrange(6)
    if kind <= 1:
        return b"mg %s%s%s%s\r\n" % (name, early, flags("fkOqsvTNRc"), late)
    if kind == 2:
        data = value(draw)
        return b"ms %s %d%s%s%s\r\n%s\r\n" % (name, len(data), early, flags("kOqTFMIC"), late, data)
    if kind == 3:
        return b"md %s%s%s%s\r\n" % (name, early, flags("kOqTIC"), late)
    if kind == 4:
        return b"me %s%s\r\n" % (name, early or late)
    return b"ma %s%s%s%s\r\n" % (name if in_base64 else draw.choice([b"num", name]), early, flags("kOqvtTNJDM"), late)


def binary_request(draw: random.Random) -> bytes:
    # Not quit, version and statistics.
    opcode = draw.choice([*range(7), 9, 10, *range(12, 16), *range(17, 23), 0x19, 0x1A, *range(0x1C, 0x1F), 0x23])
    name, data, extras = key(draw), b"", b""
    quiet_or_not = {0x11: 1, 0x12: 2, 0x13: 3, 0x14: 4, 0x15: 5, 0x16: 6, 0x19: 0x0E, 0x1A: 0x0F, 0x1E: 0x1D}
    plain = quiet_or_not.get(opcode, opcode)
    if plain in (1, 2, 3):
        extras, data = struct.pack(">II", draw.choice([0, 7]), draw.choice([0, 100])), value(draw)
    elif plain in (5, 6):
        delta, first, expiry = draw.choice([0, 1, 5, 2**32]), draw.choice([0, 9]), draw.choice([0, 2**32 - 1])
        extras = struct.pack(">QQI", delta, first, expiry)
    elif plain in (0x0E, 0x0F):
        data = value(draw)
    elif plain in (0x1C, 0x1D, 0x23):
        extras = struct.pack(">I", 100)
    elif plain == 0x0A:
        name = b""
    unique = draw.choice([0, 0, 0, 0, 1, 999_999_999])
    length = len(extras) + len(name) + len(data)
    opaque = draw.randrange(2**32)
    header = struct.pack(">BBHBBHIIQ", 0x80, opcode, len(name), len(extras), 0, 0, length, opaque, unique)
    return header + extras + name + data


def changed(request: bytes, draw: random.Random) -> bytes:
    """Text lines only: a changed length in a binary header makes the rest of the session a value."""
    at = draw.randrange(len(request))
    kind = draw.randrange(3)
    if kind == 0:
        return request[:at] + b" " + request[at:]
    if kind == 1:
        return request[:at] + bytes([draw.choice(b"abcx0159 -")]) + request[at + 1 :]
    return request.replace(b"\r\n", b"\n", 1)


def session(seed: int, protocol: str, wild: bool) -> list[bytes]:
    draw = random.Random(f"{protocol} {seed}")
    make = {"text": text_request, "meta": meta_request, "binary": binary_request}[protocol]
    # A number that a get of the same session holds gets another item in memcached, until the answer is sent: so a
    # session either gets or counts, and shows at its end what it has made.
    left_out = draw.choice([b"mg", b"ma"]) if protocol == "meta" else b" "
    requests = []
    for _ in range(draw.randrange(1, 60)):
        request = make(draw)
        if wild and protocol != "binary" and draw.random() < 0.08:
            request = changed(request, draw)
        if not loses_answers(request) and not is_of_later_versions(request) and not request.startswith(left_out):
            requests.append(request)
    return requests + [b"mg %s v f s t\r\n" % name for name in KEYS if protocol == "meta"]


def is_of_later_versions(request: bytes) -> bool:
    """Flags of meta commands that memcached 1.6.18 does not know, or whose answer it leaves out."""
    name, _, rest = request.partition(b"\n")[0].partition(b" ")
    flags = rest.split()[1:]
    late = b"Es" if name == b"ms" else b"E"
    return name in (b"mg", b"ms", b"md", b"ma") and any(flag[:1] in late for flag in flags)


def loses_answers(request: bytes) -> bool:
    """Requests after which memcached does not say what it otherwise does: after an error in a multiget it drops what
    earlier requests of the session were answered, too; that a value is too large it says when it has all of it. A
    number that `ma` makes longer does not get the time to live of its T."""
    words = request.partition(b"\n")[0].split()
    if not words:
        return False
    if words[0] in (b"get", b"gets", b"gat", b"gats", b"bget"):
        return max(map(len, words)) > 250
    if words[0] == b"ma":
        return any(re.match(rb"T-?\d", word) for word in words[2:])
    length = words[2 if words[0] == b"ms" else 4] if len(words) > 4 or words[0] == b"ms" and len(words) > 2 else b""
    return length.isdigit() and int(length) > 100_000


def ending(protocol: str) -> bytes:
    """Requests that end a session: their answer says whether it was understood to its end."""
    if protocol == "binary":
        return struct.pack(">BBHBBHIIQ", 0x80, 7, 0, 0, 0, 0, 0, 0, 0)
    # An empty line, which is an error at most, closes a request that a wrong length left open.
    return b"\r\nmn\r\nquit\r\n"


def rounded(left: re.Match[bytes]) -> bytes:
    """A time to live: between two servers, or two runs, a second may have passed."""
    return b" t%d" % (-(-int(left[1]) // 10) * 10)


def unpadded(value: bytes) -> bytes:
    """Numbers without the spaces behind them. An arithmetic command that makes a number shorter pads it in its place,
    or makes another item if an answer that is still to be sent refers to it: that depends on time."""
    return re.sub(rb"(?<=\d) +", b"", value)


def unpadded_values(answer: bytes) -> bytes:
    """A text answer with unpadded values, and the lengths that these have then."""
    done, at = b"", 0
    for header in re.finditer(rb"(VALUE \S+ \d+ |VA )(\d+)([^\r\n]*)\r\n", answer):
        if header.start() < at:
            continue  # in a value
        length = int(header[2])
        value = answer[header.end() : header.end() + length]
        shorter = unpadded(value)
        rest = re.sub(rb" s%d\b" % length, b" s%d" % len(shorter), header[3])
        done += answer[at : header.start()] + header[1] + b"%d" % len(shorter) + rest + b"\r\n" + shorter
        at = header.end() + len(value)
    return done + answer[at:]


def decoded(name: re.Match[bytes]) -> bytes:
    """A key in base64 as its bytes, if it has some that break a line. Where memcached makes the item itself, it answers
    even these (for N, a longer number, an append or prepend)."""
    key = base64.b64decode(name[2])
    return name[1] + key if min(key) <= 32 else name[0]


def masked(protocol: str, answer: bytes) -> list[bytes]:
    """Without uniques and times of access, which differ between servers, and without spaces behind numbers."""
    if protocol != "binary":
        answer = unpadded_values(answer)
        answer = re.sub(rb"(?m)^(VALUE \S+ \d+ \d+) \d+", rb"\1 N", answer)
        answer = re.sub(rb"(?m)^((?:HD|VA|NF|NS|EX|EN)\b.* k)([A-Za-z0-9+/]+=*) b\b", decoded, answer)
        answer = re.sub(rb"(?m)^(ME )(AYU=|AAEC)(?= )", decoded, answer)
        answer = re.sub(rb"(?m)^(ME .* la)=\d+ cas=\d+", rb"\1 cas", answer)
        answer = re.sub(rb"(?m)^((?:HD|VA|NF|NS|EX|EN)\b[^\r\n]*?) c\d+", rb"\1 cN", answer)
        answer = re.sub(rb"(?m)^(?:HD|VA)\b.*$", lambda line: re.sub(rb" t(\d+)", rounded, line[0]), answer)
        return answer.split(b"\r\n")
    parts = []
    while len(answer) >= 24:
        key, extras, length = struct.unpack(">2xHB3xI", answer[:12])
        unique = b"\1" if any(answer[16:24]) else b"\0"
        head, value = answer[24 : 24 + extras + key], answer[24 + extras + key : 24 + length]
        shorter = unpadded(value)
        length_then = struct.pack(">I", length - len(value) + len(shorter))
        parts.append(answer[:8] + length_then + answer[12:16] + unique + head + shorter)
        answer = answer[24 + length :]
    return [*parts, answer]


def understood_to_its_end(protocol: str, answer: list[bytes]) -> bool:
    """Whether the server has answered the requests that end a session. If not, the session ended within a value."""
    return len(answer) > 1 and (answer[-2][1:2] == b"\7" if protocol == "binary" else answer[-2] == b"MN")


def ask(server: Running, requests: list[bytes], seed: int, protocol: str) -> tuple[list[bytes], bool]:
    """The answers, and whether all of them: what a server has not read when it closes may take answers with it."""
    data = b"".join(requests) + ending(protocol)
    draw = random.Random(seed + 1)
    server.ask(b"flush_all\r\n" + b"".join(b"delete %s\r\n" % name for name in [*KEYS, b"\x01"]) + b"quit\r\n")
    pieces = draw.random() < 0.3
    with server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at, whole, answer = 0, True, b""
        try:
            while at < len(data):
                n = draw.randrange(1, 200) if pieces else len(data)
                client.sendall(data[at : at + n])
                at += n
            client.shutdown(socket.SHUT_WR)
        except OSError:
            whole = False
        try:
            while part := client.recv(1 << 20):
                answer += part
        except ConnectionResetError:
            whole = False
        return masked(protocol, answer), whole


Pair = tuple[Running, Running]


def differ(servers: Pair, requests: list[bytes], seed: int, protocol: str) -> bool:
    """Whether a server answers otherwise than memcached, which is the second. If a session ends within a value,
    memcached drops the answers that it has not sent yet."""
    (one, one_whole), (other, other_whole) = (ask(server, requests, seed, protocol) for server in servers)
    dropped = len(other) < len(one) and not understood_to_its_end(protocol, one)
    if one_whole and other_whole and not dropped:
        return one != other
    same = min(len(one), len(other)) - 1  # the last part may have been cut
    return one[:same] != other[:same]


def minimised(servers: Pair, requests: list[bytes], seed: int, protocol: str) -> list[bytes]:
    """The shortest requests that still make the difference: none of their parts can be left out."""
    size = len(requests) // 2
    while size:
        at = 0
        while at < len(requests):
            shorter = requests[:at] + requests[at + size :]
            if differ(servers, shorter, seed, protocol):
                requests = shorter
            else:
                at += size
        size //= 2
    return requests


def first_difference(one: Running, other: Running, seeds: range, protocol: str, wild: bool = False) -> str | None:
    for seed in seeds:
        requests = session(seed, protocol, wild)
        # The requests that arrive together depend on time, and memcached answers some wrong requests by that. A
        # difference in the cache is there each time.
        if not all(differ((one, other), requests, seed, protocol) for _ in range(4)):
            continue
        requests = minimised((one, other), requests, seed, protocol)
        answers, expected = (ask(server, requests, seed, protocol)[0] for server in (one, other))
        return f"{protocol} session {seed}: {requests!r} is answered {answers!r}, expected {expected!r}"
    return None


def memcached() -> Running | None:
    found = shutil.which("memcached")
    return run_on_free_port(Path(found), "-U", "0") if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--protocol", choices=["text", "meta", "binary"], default="text")
    parser.add_argument("--wild", action="store_true", help="with requests that are changed in a byte")
    parser.add_argument("--seeds", default="1-100")
    options = parser.parse_args()
    first, last = options.seeds.split("-")
    servers = [run_on_free_port(path) for path in (options.program, options.other)]
    try:
        difference = first_difference(*servers, range(int(first), int(last) + 1), options.protocol, options.wild)
    finally:
        for server in servers:
            server.stop()
    sys.exit(difference)


if __name__ == "__main__":
    main()
