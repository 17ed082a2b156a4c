#!/usr/bin/env python3
"""Finds comments of C and C++ that open with a pronoun, and comments and pages that speak of things as of people.

    tools/english.py              all of them
    tools/english.py apps tests   those of these folders

Prints one line each: its kind, its place, its first words. `tools/lint english` counts them.
    first    the first comment of a file opens with What, Who, Of, It ...
    opening  another comment does
    people   nobody, whoever, somebody, anybody: in a comment or in docs/
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = {".cpp", ".hpp", ".inc", ".c", ".h"}
OPENING = re.compile(r"(What|Who|Whom|Whose|Whoever|Of|Where|It|That|They|Those|This|These|One|Which|Such|He|Nobody"
                     r"|Somebody|Some)\b")
PEOPLE = re.compile(r"\b(nobody|whoever|somebody|anybody)\b", re.IGNORECASE)
OWN_LINE = re.compile(r"\s*///?<?\s?(.*)$")
LICENCE = re.compile(r"\s*// SPDX-")
BLOCK = re.compile(r"(?<!\S)/\*\*? (.*?)\*/", re.DOTALL)
BEHIND_CODE = re.compile(r"\s///?<?\s(.*)$")


def comments(text: str) -> Iterator[tuple[int, str]]:
    """The comments of a file, each with the number of its first line: lines of their own in a row are one."""
    start, lines = 0, []
    text = BLOCK.sub(lambda block: "// " + block[1].replace("\n", "\n//"), text)
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if LICENCE.match(line):  # may stand before the first comment or at its end
            continue
        if own := OWN_LINE.match(line):
            start = start if lines else number
            lines.append(own[1])
            continue
        if lines:
            yield start, " ".join(lines).strip()
            lines = []
        if '"' not in line and (behind := BEHIND_CODE.search(line)):  # a quoted // is no comment
            yield number, behind[1]


def found_in_code(text: str) -> Iterator[tuple[str, int, str]]:
    first = 2 if LICENCE.match(text) else 1
    for number, comment in comments(text):
        if OPENING.match(comment):
            yield "first" if number == first else "opening", number, comment
        if PEOPLE.search(comment):
            yield "people", number, comment


def found_in_page(text: str) -> Iterator[tuple[str, int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if PEOPLE.search(line):
            yield "people", number, line.strip()


def main(folders: list[str]) -> int:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listing.splitlines():
        path = ROOT / name
        is_page = path.suffix == ".md" and path.parent == ROOT / "docs"
        if not path.is_file() or not is_page and path.suffix not in CODE:
            continue
        find = found_in_page if is_page else found_in_code
        for kind, number, words in find(path.read_text(errors="replace")):
            print(f"{kind} {name}:{number}: {words[:80]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
