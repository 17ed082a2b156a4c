"""What DWARF says about transactional code: structures with bit-fields, and files compiled without optimization."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rubato.process.child import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ENTRY = re.compile(r"^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")
_ATTRIBUTE = re.compile(r"^ *<[0-9a-f]+> +(DW_AT_\w+) *: (?:\([^)]*\): |\([^)]*\) )?(.*)$")
_LEVEL = re.compile(r" -O(\S*)")


@dataclasses.dataclass
class DebugInfo:
    bit_fields: set[str]  #: the names of members
    unoptimized: list[str]  #: source files

    def written_bit_fields(self, places: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Of FILE:LINE, those whose source line writes one, with its name."""
        if not self.bit_fields:
            return
        names = "|".join(sorted(map(re.escape, self.bit_fields)))
        writes = re.compile(
            rf"(?:->|\.)\s*({names})\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)[\w.>-]*(?:->|\.)({names})\b"
        )
        for place in sorted(places):
            file, _, line = place.rpartition(":")
            try:
                text = Path(file).read_text(errors="replace").splitlines()[int(line) - 1]
            except (OSError, IndexError):
                continue
            if match := writes.search(text):
                yield place, match[1] or match[2]


def read(file: Path) -> DebugInfo:
    """Without debug information: nothing is known."""
    command = ["readelf", "--debug-dump=info", "--wide", str(file)]
    result = ask(command, seconds=None)
    found = DebugInfo(set(), [])
    tag, attributes = "", {}
    for line in [*result.stdout.splitlines(), " <0><0>: Abbrev Number: 1 (DW_TAG_end)"]:
        if match := _ENTRY.match(line):
            _note(found, tag, attributes)
            tag, attributes = match[1], {}
        elif match := _ATTRIBUTE.match(line):
            attributes[match[1]] = match[2].strip()
    return found


def _note(found: DebugInfo, tag: str, attributes: dict[str, str]) -> None:
    name = attributes.get("DW_AT_name", "").rpartition("): ")[2]
    if tag == "DW_TAG_member" and "DW_AT_bit_size" in attributes and name:
        found.bit_fields.add(name)
    if tag == "DW_TAG_compile_unit":
        producer = attributes.get("DW_AT_producer", "")
        if "-fgnu-tm" in producer and (["0", *_LEVEL.findall(producer)])[-1] == "0":
            found.unoptimized.append(name)
