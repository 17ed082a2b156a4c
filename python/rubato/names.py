"""Names of task functions, and counts, as a person reads them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

#: A task of create_all(), which hands out pieces of a range; what it calls is the second argument.
_PIECE = re.compile(r"rubato::v\d+::engine::split_range<[^,]*, ")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def short_name(function: str) -> str:
    """`visit` of `void app::(anonymous namespace)::visit<(Type)2>(Vertex*)`, `lambda of visit` of
    `visit(Vertex*)::{lambda(int)#1}`, and of its `operator()`; names of another form, and short ones, stay."""
    if function.startswith("lambda of "):
        return function
    name, depth = "", 0
    for character in _PIECE.sub("", function, count=1).replace("(anonymous namespace)::", ""):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif depth == 0 and character == ",":
            break
        elif depth == 0:
            name += character
    name = name.removesuffix(" const").rpartition(" ")[2].removesuffix("::operator")  # the call of a lambda
    around, _, last = name.rpartition("::")
    is_lambda = last.startswith("{lambda#")
    if is_lambda:
        last = around.rpartition("::")[2]
    if not last.isidentifier():
        return function
    return f"lambda of {last}" if is_lambda else last
