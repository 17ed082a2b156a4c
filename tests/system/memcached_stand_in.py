"""Starts a server in place of the program `memcached-debug` that memcached's own tests start.

    memcached_stand_in.py ARGUMENT...

RUBATO_STAND_IN names the server, RUBATO_STAND_IN_OPTIONS what `-o` gets besides. Left out is what every file asks for
and no file tests: a port of UDP (-U) and `-o relaxed_privileges` of debug builds. The server listens on 127.0.0.1 only.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys


def arguments(given: list[str], further: str) -> list[str]:
    taken: list[str] = []
    words = iter(given)
    for word in words:
        if word == "-U" or word == "-o":
            value = next(words, "")
            if word == "-o" and value != "relaxed_privileges":
                taken += [word, value]
        elif word == "-l":
            taken += [word, next(words, "").replace("0.0.0.0", "127.0.0.1")]
        else:
            taken.append(word)
    if not {"-l", "-s"} & set(taken):
        taken += ["-l", "127.0.0.1"]
    return [*taken, "-o", further] if further else taken


if __name__ == "__main__":
    program = os.environ["RUBATO_STAND_IN"]
    os.execv(program, [program, *arguments(sys.argv[1:], os.environ.get("RUBATO_STAND_IN_OPTIONS", ""))])
