"""Scripted sessions, one for each command and error line of the text and meta protocols (T79).

Commands are separated by `|`, which stands for a line's end; LONG is a key that is too long, BIG(n) n letters.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

from cached_server import Running

#: memcached's answers to them.
RECORDED = Path(__file__).parent / "cached_answers.json"

SESSIONS: dict[str, str] = {
    "set and get": "set a 5 0 3|abc|get a|gets a|get b|get a b a|bget a|get|gets|get  a",
    "modes": (
        "add a 0 0 1|x|add a 0 0 1|y|replace b 0 0 1|z|replace a 1 0 2|zz|append a 9 0 1|!"
        "|prepend a 9 0 1|?|get a|append none 0 0 1|x|prepend none 0 0 1|x"
    ),
    "cas": "set a 0 0 1|1|gets a|cas a 0 0 1 999999|2|cas none 0 0 1 5|2|cas a 0 0 1|cas a 0 0 1 x|get a",
    "errors of set": (
        "set a 0 0|set a 0 0 x|set LONG 0 0 1|set a x 0 1|set a 0 x 1|set a 0 0 -1|set a -1 0 1|x|get a"
    ),
    "bad data": "set a 0 0 1|abc|get a|set a 0 0 5|abc|de|get a",
    "too large": "set a 0 0 1|x|set a 0 0 1048576|BIG(1048576)|get a|add b 0 0 2000000|BIG(2000000)|get b",
    "noreply": (
        "set a 0 0 1 noreply|x|get a|delete a noreply|get a|add a 0 0 1 noreply|1|incr a 1 noreply|get a"
        "|touch a 0 noreply|verbosity 1 noreply|flush_all noreply|get a"
    ),
    "delete": (
        "set a 0 0 1|1|delete|delete a 1|delete a 0|delete a|delete a 0 noreply|delete a b c|delete LONG"
        "|delete a 0 noreply x"
    ),
    "counting": (
        "set n 0 0 2|10|incr n 5|decr n 6|get n|decr n 100|get n|incr n 18446744073709551615|get n"
        "|incr n 1|get n|incr n x|incr n -1|incr n|incr none 1|decr none 1|set t 0 0 3|abc|incr t 1"
        "|set e 0 0 0||incr e 1|incr LONG 1|set w 0 0 22|1234567890123456789012|incr w 1"
    ),
    "touch": (
        "set a 0 0 1|1|touch a 100|touch b 1|touch a|touch a x|touch LONG 1|gat 100 a|gats 100 a b|gat 0"
        "|gat x a|gat"
    ),
    "expiry": "set a 0 -1 1|1|get a|set b 0 100 1|1|get b|set c 0 2592001 1|1|get c|touch b -1|get b",
    "keys": (
        "get LONG|get KEY250"
        "|get k0 k1 k2 k3 k4 k5 k6 k7 k8 k9 k10 k11 k12 k13 k14 k15 k16 k17 k18 k19 k20 k21 k22 k23 k24 k"
        "25 k26 k27 k28 k29 k30 k31 k32 k33 k34 k35 k36 k37 k38 k39 k40 k41 k42 k43 k44 k45 k46 k47 k48 k"
        "49 k50 k51 k52 k53 k54 k55 k56 k57 k58 k59"
    ),
    "flush": (
        "set a 0 0 1|1|flush_all|get a|set a 0 0 1|2|get a|flush_all 100|get a|flush_all x"
        "|flush_all 0 noreply|get a"
    ),
    "unknown": (
        "foo|foo bar||GET a|set|  get a|version x|verbosity|verbosity 1|verbosity x|verbosity 1 2 3"
        "|shutdown"
    ),
    "verbosity": "verbosity 0|mn|mn x",
    "stats": (
        "stats noreply|stats foo|stats reset|stats detail|stats detail x|stats detail on|stats detail off"
        "|stats cachedump|stats cachedump 1|stats cachedump x 1|stats cachedump 1 x|stats cachedump 200 1"
        "|stats sizes"
    ),
    "slabs": (
        "slabs|slabs reassign 1 1|slabs reassign 0 5|slabs reassign 1 99|slabs reassign x 1"
        "|slabs reassign 1 2|slabs automove 3|slabs automove x|slabs automove 1|slabs automove"
        "|slabs foo 1"
    ),
    "memory": "cache_memlimit 5|cache_memlimit x|cache_memlimit 64|cache_memlimit|cache_memlimit 64 noreply",
    "lru": (
        "lru|lru tune 10 25 0.1 2.0|lru tune 50 50 0.1 2.0|lru tune 10 25 0 1|lru tune x 1 1 1"
        "|lru mode flat|lru mode segmented|lru mode x|lru temp_ttl 10|lru temp_ttl -1|lru temp_ttl x"
        "|lru foo x"
    ),
    "crawler": (
        "lru_crawler|lru_crawler sleep 100|lru_crawler sleep 2000000|lru_crawler sleep x"
        "|lru_crawler tocrawl 0|lru_crawler tocrawl x|lru_crawler crawl x|lru_crawler crawl 99"
        "|lru_crawler foo"
    ),
    "meta get": (
        "mg a|mg a v|set a 3 0 5|hello|mg a|mg a v|mg a s v f t c k Oabc q|mg a h|mg a h|mg a u h"
        "|mg a l t|mg a T30 t|mg b k Oabc|mg b q|mg a v v|mg a !|mg a x|mg a T|mg a Tx|mg a OOPAQUE"
        "|mg LONG v|mg|mg a P L v|mg YQ== b k v|mg !!! b|me a|me b|me"
    ),
    "meta vivify": "mg a N30 v t c|mg a N30 v t|mg a R40 t|mg a|ms a 1|x|mg a v|mg b N0 k q",
    "meta set": (
        "ms a 5|hello|ms a 5 c k Oxy|hello|ms a 5 q|hello|mn|ms b 2 ME|hi|ms b 2 ME|hi|ms b 2 MA|!!"
        "|ms b 2 MP|??|mg b v|ms c 1 MR|x|ms c 1 MX|x|ms c 1 MSS|x|ms c 1 F5 T100|x|mg c f t|ms a 1 C1|x"
        "|ms none 1 C1|x|ms|ms a|ms a x|ms a 2|abc|ms a 1 F|x|ms a 1 !|x|ms a 1 F1 F1|x|ms YQ== 1 b k|x"
        "|mg a v"
    ),
    "meta stale": "ms a 1 T100|x|md a I T30|mg a v t|mg a v t|ms a 1|y|mg a v t",
    "stale and other commands": (
        "ms a 1 T100|x|md a I T30|me a|get a|gat 100 a|touch a 100|mg a v|mg a v"
        "|add f 0 0 1|x|add f 0 0 1|y|me f|ms f 1 ME|y|mg f h|me f k b|me f|me !b x b"
        "|ms b 1|5|md b I|incr b 1|ma b|mg b v"
    ),
    "meta keys in base64": (
        "ms YQ== 1 b k|x|mg YQ== b k v|mg a k|me a|me YQ== b|mg Y\rQ== b k v|mg -YQ=.= b v|mg YQ==YQ== b k v|mg YQ b v"
        "|mg Y=== b v|mg ==== b|mg =YWI b k|mg YQ==Y b|ms -Yg-== 1 b k|y|mg b v k|get b|me b|set c 0 0 1|z|me Yw== b"
        "|mg Yw== b k|md Y\rQ== b k|mg a|ma b\rQ== b N0 J5 v|mg m v"
    ),
    "meta delete": "ms a 1|x|md a C99999|md a k Oab|md a|md a q|mn|md a v|md a q q|md|ms a 1|x|md a q",
    "meta arithmetic": (
        "ma a|ma a N0 J10 v|ma a v|ma a D5 v|ma a MD D3 v|ma a M- D100 v|ma a M+ v t c|ma a Mx|ma a MII"
        "|ma a Jx|ma a Dx|ma a q|ma none q|mn|ma a O1 k v|ma a T30 t|set t 0 0 1|x|ma t|ma a v v"
        "|ma a C9999999|ma b N|ma"
    ),
    "meta errors in their order": (
        "ms a 1 Tx Fx|0|ms a 1 Fx Tx|0|ms a 1 Fx|0|ms a 1 Cx Mxx|0|ms a 1 Mxx Rx|0|ms a 1 Tx Z|0|ms a 1 Z Tx|0"
        "|ms a 1 Jx|0|ms a 1 Dx Fx|0|ms !!! 1 Tx b|0|ms !!! 1 b Tx|0|ms a 1 Mx Fx|0|ms a 1 Tx OOPAQUE|0"
        "|ms a 1 S1|0|ms a 1 h l f t u v N30 D2 J3|0|mg a Tx x|mg a T1 T1 x|mg !!! Tx b|mg !!! b Tx|mg a Fx|mg a Cx"
        "|mg a Mxx|mg a Jx I|mg a Dx|md !!! b Tx|md a Dx Jx|ma a Sx|ma a Mxx|me !!! b|ms LONG 1|0|ms LONG 1 I O1|0"
    ),
    "meta flags, too many": (
        "mg a b c f h k l s t u v q O1 P L I N0 T0|mg a b c f h k l s t u v q O1 P L I N0 T0 R0"
        "|ms a 1 b c f h k l s t u v q O1 P L I N0|0|ms a 1 b c f h k l s t u v q O1 P L I N0 T0|0"
        "|md a b c f h k l s t u v q O1 P L I N0 T0|md a b c f h k l s t u v q O1 P L I N0 T0 R0"
        "|ma a b c f h k l s t u v q O1 P L I N0 T0|ma a b c f h k l s t u v q O1 P L I N0 T0 R0 F0 a b c d e f"
    ),
    "meta times in their places": (
        "set t 0 100 1|5|ma t t T30|ma t T200 t|mg t t T30|mg t T90 t|mg u t N30 T50|mg w N30 t|mg x T50 t N30|mg x t"
        "|ma m t N30|ma n N30 t|ma o T90 t N30|mg o t"
    ),
    "meta uniques of nothing": (
        "ms a 1 ME C5|x|ms a 1 ME C5|y|ms b 1 MR C5|x|ms b 1 MA C5|x|ms b 1 MP C5 I|x|ms b 1 C5|x|mg a v"
    ),
    "meta keys in base64 of items that the server makes": (
        "mg YQ== b k N30|mg YQ== b k|me a|ma bnVt b k N0 J9|mg bnVt b k|ma bnVt b k|mg bnVt b k|ms Yg== 1 b k|x"
        "|mg Yg== b k|ms Yg== 1 b MA k|y|mg Yg== b k|me Yg== b|ms Yw== 1 b|9|mg Yw== b k|ma Yw== b k|mg Yw== b k"
        "|ms ZA== 1 b|x|ms ZA== 1 MP b|y|mg ZA== b k v|mg ZQ== b k"
    ),
    "meta quiet creation": "ma n N0 q v|ma n q v|ma n q|mn|ma m N0 q k O1|ma p N0 q T90|mn",
    "numbers before white space": "set a 0 0 1\r |x|touch a 0\r b|get a|set n 0 0 1|5|incr n 2\t|incr n 2\tx|decr n 1x",
    "numbers of 64 bits": (
        "set a 5294967295 0 1|x|get a|set a 18446744073709551615 0 1|x|get a|set a 18446744073709551616 0 1|x"
        "|set a -5 0 1|x|ms a 1 F5294967295|x|mg a f|set b 0 5294967295 1|x|touch c 99999999999|md c T99999999999"
    ),
    "meta stale by a unique": (
        "ms a 1 T100|x|ms a 1 C1 I T30|y|mg a t v|mg a t v|ms a 1 C1 I T30|z|mg a t v|ms a 1|n|ms a 1 MA C1 I|x"
        "|ms a 1 MP C1 I|x|ms a 1 MR C1 I|r|mg a v|mg b N30|ms b 2 C1 I|zz|mg b t v"
    ),
    "quiet errors": (
        "set n 0 0 1|x|incr n x noreply|incr n 1 noreply|touch n x noreply|mn|set n 0 0 1 noreply|abc|get n"
    ),
    "cas of nothing": "set a 0 0 1|1|cas a 0 0 1 0|2|cas b 0 0 1 0|2|get a b",
    "numbers among white space": "set n 0 0 3| 9 |incr n 1|get n|set n 0 0 5|7 abc|incr n 1|get n",
    "meta unique 0": (
        "ms a 1 T100|x|ms a 1 C0|y|md a C0|ms a 1 MR C0|y|ms a 1 C0 I|y|md a C0 I T1|mg a v t|ms b 1 C0|x"
        "|ms b 1 MR C0|x"
        "|md b C0|ms b 1 ME C0|x|ms b 1 MA C0|y|ms b 1 MP C0|z|mg b v|ma n N0 J5 v|ma n C0 v|md b C0 q|mg b"
    ),
    "noreply, whatever goes wrong": (
        "set k 0 0 1|x|delete k 10 noreply|get k|delete k x noreply|delete k x y noreply|delete noreply"
        "|flush_all x noreply|flush_all 1 2 noreply|get k|verbosity x noreply|verbosity noreply|verbosity 1 2 noreply"
        "|slabs automove 3 noreply|slabs automove x noreply|slabs automove 1 noreply|slabs automove ratio x noreply"
        "|lru mode x noreply|lru mode segmented noreply|lru tune x 1 1 1 noreply|lru tune 50 50 1 1 noreply"
        "|lru temp_ttl x noreply|lru x noreply|lru noreply|lru_crawler sleep x noreply|cache_memlimit x noreply"
        "|cache_memlimit 5 noreply|cache_memlimit noreply|watch foo noreply|set k 0 noreply|set k 0 0 x noreply"
        "|set k 0 x 1 noreply|set k 0 0 1 x noreply|cas k 0 0 1 noreply|incr k noreply|incr k x noreply|touch k noreply"
        "|touch k x noreply|foo noreply|stats detail x noreply|lru_crawler crawl 99 noreply|shutdown noreply|get k"
    ),
    "noreply, too large": (
        "set b 0 0 1|x|add b 0 0 1100000 noreply|BIG(1100000)|get b|set b 0 0 1100000 noreply|BIG(1100000)|delete b"
        "|set b 0 0 1|x|append b 0 0 1048500 noreply|BIG(1048500)|mn|append b 0 0 1048500|BIG(1048500)|mg b s"
        "|ms b 1048500 MP|BIG(1048500)|mg b s"
    ),
    "ratio of the page mover": (
        "slabs automove ratio 0.5|slabs automove ratio|slabs automove ratio x|slabs automove ratio 0.5 1"
    ),
    "watch": "watch foo",
    "quit": "set a 0 0 1|1|quit|get a",
}


def encode(session: str) -> bytes:
    session = session.replace("LONG", "k" * 251).replace("KEY250", "k" * 250).replace("OPAQUE", "o" * 40)
    session = re.sub(r"BIG\((\d+)\)", lambda found: "x" * int(found[1]), session)
    return session.replace("|", "\r\n").encode() + b"\r\n"


def masked(answer: bytes) -> list[str]:
    """Lines without what differs between two servers: uniques, times, versions."""
    text = re.sub(r"1\.6\.\d+\S*", "V", answer.decode("latin1"))
    text = re.sub(r" (c|cas=)\d+", r" \1N", text)
    text = re.sub(r"(VALUE \S+ \d+ \d+) \d+", r"\1 N", text)
    text = re.sub(r" t(\d+)\b", lambda left: f" t{-(-int(left[1]) // 10) * 10}", text)  # a second may have passed
    return re.sub(r"(la|exp)=-?\d+", r"\1=N", text).split("\r\n")


def session(server: Running, name: str) -> list[str]:
    """The answers to a session that begins without items."""
    server.ask(b"flush_all\r\nlru_crawler enable\r\nquit\r\n")
    return masked(server.ask(encode(SESSIONS[name]) + b"mn\r\nquit\r\n"))
