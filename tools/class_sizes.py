"""Prints the members, functions and data, of every class in the headers that are named: `COUNT NAME PATH:LINE`.

    .venv/bin/python tools/class_sizes.py chip/task/*.hpp

Read by `tools/lint classes`. What is nested counts for the nested class; an enumeration or an alias is no member.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

CLASSES = ("class_specifier", "struct_specifier")
FUNCTIONS = ("function_definition", "declaration", "template_declaration")


def members(body: Node) -> int:
    count = 0
    for child in body.named_children:
        if child.type == "field_declaration":
            count += len(child.children_by_field_name("declarator"))
        elif child.type in FUNCTIONS:
            count += 1
        elif child.type.startswith("preproc_"):
            count += members(child)
    return count


def classes(node: Node) -> Iterator[tuple[int, str, int]]:
    for child in node.named_children:
        body, name = child.child_by_field_name("body"), child.child_by_field_name("name")
        if child.type in CLASSES and body is not None and name is not None and name.text is not None:
            yield members(body), name.text.decode(), child.start_point[0] + 1
        yield from classes(child)


def main(paths: list[str]) -> None:
    parser = Parser(Language(tree_sitter_cpp.language()))
    for path in paths:
        for count, name, line in classes(parser.parse(Path(path).read_bytes()).root_node):
            print(f"{count} {name} {path}:{line}")


if __name__ == "__main__":
    main(sys.argv[1:])
