"""Reads the usual command lines of `rubato run` by a table, so that the program starts before the parser's libraries
are loaded, which takes longer than all else. Whatever it does not understand entirely is the parser's: help, errors,
completion. A test compares the table with what the parser knows.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

TYPE_CHECKING = False  # as typing's, whose import takes time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

def parsed(argv: list[str]) -> tuple[str | None, list[str], list[str], dict[str, Any]] | None:
    """Program, its words before and behind `--`, and the values of our options; nothing if the parser is to read it."""
    if argv[:1] != ["run"] or "_RUBATO_COMPLETE" in os.environ:
        return None
    from rubato.cli.options import FLAG, LIST, NUMBER, OF_RUN

    options = {one.flag: one for one in OF_RUN}
    dashes = argv.index("--") if "--" in argv else len(argv)
    before, behind = argv[1:dashes], argv[dashes + 1 :]
    values: dict[str, Any] = {one.name: False if one.kind == FLAG else one.default for one in OF_RUN}
    words: list[str] = []
    rest = iter(before)
    for word in rest:
        flag, equals, value = word.partition("=")
        option = options.get(flag)
        if option is None:
            if word.startswith("-") and not (word.startswith("--") and len(word) > 2 and words) or flag == "--help":
                return None
            words.append(word)
        elif option.kind == FLAG:
            if equals:
                return None
            values[option.name] = True
        else:
            if not equals:
                value = next(rest, "-")
                if value.startswith("-"):
                    return None
            if option.kind == LIST:
                values[option.name] = [*(values[option.name] or []), value]
            elif option.kind == NUMBER:
                if not (value.isascii() and value.isdigit()):
                    return None
                values[option.name] = int(value)
            else:
                values[option.name] = value
    return (words[0] if words else None), words[1:], behind, values


def command(argv: list[str]) -> Callable[[], int] | None:
    """What runs the command line, or nothing if the parser is to read it."""
    found = parsed(argv)
    if found is None:
        return None
    from rubato.cli.options import OF_RUN
    from rubato.cli.shown import start

    program, words, behind, values = found
    return lambda: start(program, words, behind, values, [*(one.flag for one in OF_RUN), "--help", "-h"])
