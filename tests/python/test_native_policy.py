"""Every constant of the native engine's policies (native/policy.hpp) names what guards it: a row of bench/native
that there is, or a unit test's file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "native" / "policy.hpp"


def constants() -> dict[str, str]:
    """Name and comment. Constants that follow each other without a blank share one."""
    found: dict[str, str] = {}
    comment: list[str] = []
    was_constant = False
    for line in POLICY.read_text().splitlines():
        if line.startswith("///"):
            comment = [line[3:].strip()] if was_constant or not comment else [*comment, line[3:].strip()]
            was_constant = False
        elif match := re.match(r"inline constexpr [\w:]+ (\w+)", line):
            found[match[1]] = " ".join(comment)
            was_constant = True
        elif not line.strip():
            comment = []
    return found


def rows() -> set[str]:
    asked = [ROOT / "bench" / "native", "--rows", "?"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stderr
    return set(re.split(r", ?", said.partition("expected ")[2].strip()))


def test_every_constant_names_the_row_or_the_test_that_guards_it() -> None:
    named, benchmarks = constants(), rows()
    assert len(named) > 30 and {"empty-task", "scaling-bfs"} <= benchmarks
    wrong = {}
    for constant, comment in named.items():
        row, test = re.search(r"Row: ([\w-]+)\.$", comment), re.search(r"Test: (\w+\.cpp)\.$", comment)
        if not (row and row[1] in benchmarks) and not (test and list(ROOT.glob(f"tests/native/*/{test[1]}"))):
            wrong[constant] = comment
    assert not wrong
