"""The comments of configs/espresso-256.toml say of each key what docs/parameters.md, made from the schema, says."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def described_by_page() -> dict[str, str]:
    """Key -> description, of the generated page."""
    rows = (line.split("|") for line in (ROOT / "docs" / "parameters.md").read_text().splitlines())
    return {row[1].strip(" `"): row[-3].strip() for row in rows if len(row) > 3 and re.match(r" `\w+\.\w+` ", row[1])}


def described_by_chip() -> dict[str, str]:
    """Key -> comment above it, without the last line, which is the range."""
    found, section, comment = {}, "", []
    for line in (ROOT / "configs" / "espresso-256.toml").read_text().splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            section = heading[1]
        elif line.startswith("# "):
            comment.append(line[2:])
        elif key := re.match(r"(\w+) = ", line):
            found[f"{section}.{key[1]}"] = " ".join(comment[:-1])
            comment = []
        else:
            comment = []
    return found


def test_the_publications_chip_describes_each_key_as_the_schema_does():
    page, chip = described_by_page(), described_by_chip()
    assert set(chip) == set(page)
    assert chip == page
