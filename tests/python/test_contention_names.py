"""Names of contended memory: symbols, blocks with their sites, and the heap without."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from rubato.results import contention
from rubato.results.contention import Contended, name_of
from rubato.results.run import Run


def block(function: str = "make(int)+0x12", **changed: Any) -> dict[str, Any]:
    calls = [{"address": "0x10", "function": "xmalloc+0x8"}, {"address": "0x20", "function": function}]
    return {"address": "0x4000", "bytes": 64, "offset": 8, "blocks": 1, "is_mapping": False, "user": 1,
            "at": calls, **changed}  # fmt: skip


def row(symbol: str, **more: Any) -> dict[str, Any]:
    sharing = {"transfers": 0, "cycles": 0}
    return {"line": "0x4000", "symbol": symbol, "transfers": 10, "cycles": 100, "atomics": 0, "true_sharing": sharing,
            "false_sharing": {"transfers": 10, "cycles": 100}, "users": [], "taken": [], "spins": [],
            **more}  # fmt: skip


def lines(*rows: dict[str, Any], **document: Any) -> list[Contended]:
    found = {"contention": {"lines": list(rows), "miss_cycles": 0, **document}}
    run = SimpleNamespace(stats_document=found, threads=[], manifest={})
    return contention.lines(cast(Run, run))


def test_a_block_is_named_by_the_users_call() -> None:
    (line,) = lines(row("0x4008", is_heap=True, block=block()))
    assert line.word == "heap block of 64 bytes allocated by make, offset 8"
    assert line.object == "heap blocks allocated by make"
    assert not line.is_unnamed_heap


def test_a_mapping_and_several_blocks_say_so() -> None:
    (mapping,) = lines(row("0x4008", is_heap=True, block=block(is_mapping=True, bytes=65536, offset=4096)))
    assert mapping.word == "mapping of 65,536 bytes made by make, offset 4,096"
    (several,) = lines(row("0x4008", is_heap=True, block=block(blocks=3)))
    assert several.word == "3 heap blocks, the first of 64 bytes allocated by make"


def test_the_heap_without_a_site_says_so_and_other_memory_is_as_it_was() -> None:
    heap, static, unknown = lines(row("0x4008", is_heap=True), row("counters+0x8"), row("0x90"))
    assert (heap.word, heap.is_unnamed_heap) == ("heap at 0x4008", True)
    assert (static.word, static.object, static.is_unnamed_heap) == ("counters+0x8", "counters", False)
    assert (unknown.word, unknown.is_unnamed_heap) == ("0x90", False)


def test_a_word_that_loops_wait_for_has_its_own_block() -> None:
    spin = {"offset": 32, "symbol": "0x4020", "waits_for": "lock", "spins": 9, "cycles": 900, "is_heap": True,
            "block": block(offset=32)}  # fmt: skip
    (line,) = lines(row("0x4008", is_heap=True, block=block(), spins=[spin]))
    assert line.kind == "lock"
    assert line.word == "heap block of 64 bytes allocated by make, offset 32"


def test_blocks_of_one_site_have_one_name() -> None:
    def named(*blocks: dict[str, Any]) -> str:
        found = lines(*(row("0x4008", is_heap=True, block=one) for one in blocks))
        return name_of([line.block for line in found if line.block is not None])

    assert named(block(), block(offset=40)) == "a heap block of 64 bytes allocated by make"
    assert named(block(), block(address="0x5000")) == "heap blocks of 64 bytes allocated by make"
    assert named(block(), block(address="0x5000", bytes=32)) == "heap blocks allocated by make"
    assert named(block(blocks=2)) == "heap blocks of 64 bytes allocated by make"
