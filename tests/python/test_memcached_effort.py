"""`bench/memcached_effort`: what it counts, and that the documentation has what it counts now."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def effort(*arguments: str) -> str:
    command = [sys.executable, ROOT / "bench/memcached_effort", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_page_has_the_counts_of_the_sources():
    page = (ROOT / "docs/publications/memcached.md").read_text()
    assert effort("--markdown").strip() in page, "put the output of bench/memcached_effort --markdown there"


def test_counts_are_those_of_the_sources():
    counted = {row["what"]: row["here"] for row in json.loads(effort("--json"))}
    stages = (ROOT / "cached/discipline/stages/tm_access.hpp").read_text()
    annotated = stages.count("[[gnu::transaction_callable]]")
    assert counted["functions annotated as callable"] == f"{annotated}; none as safe"
    called = [
        part.split("(")[0]
        for file in (ROOT / "cached/core").glob("*.hpp")
        for part in file.read_text().split("discipline_.")[1:]
    ]
    sections = sum(name.endswith("_section") for name in called)
    assert int(counted["critical sections in the source"].split(":")[0]) == sections > 0
    assert counted["unsafe functions that were left"] == "1: sem_post"


def test_lines_are_those_of_code(tmp_path: Path):
    lines_of = runpy.run_path(str(ROOT / "bench/memcached_effort"))["lines_of"]
    file = tmp_path / "a.hpp"
    file.write_text("// what it is\n#pragma once\n\nint a;  // why\n/* two\nlines */ int b;\n")
    assert lines_of([file]) == 2
