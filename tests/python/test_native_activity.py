"""bench/native_activity without perf and valgrind: what it makes of what they print, and what a report draws of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from helpers import rubato

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def activity() -> ModuleType:
    loader = SourceFileLoader("native_activity", str(ROOT / "bench" / "native_activity"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # its dataclasses look there
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (["std::atomic<int>::load /usr/include/c++/12/atomic", "read native/sync/versions.hpp"], "synchronization"),
        (["search /x/apps/ycsb/inner.hpp", "run native/worker/worker.cpp"], "traversal"),
        (["find /x/apps/ycsb/leaf.hpp"], "operation in the leaf"),
        (["prefetch /x/native/worker/ring.hpp"], "prefetching"),
        (["create_visit /x/apps/ycsb/task_tree.hpp"], "tasks: create, find, start, end"),
        (["execute /usr/lib/libtbb.so.12"], "tasks: create, find, start, end"),
        (["tbb::spin_mutex::lock /usr/include/oneapi/tbb/spin_mutex.h"], "synchronization"),
        (["is_still /x/apps/ycsb/index/version_lock.hpp", "lookup /x/apps/ycsb/index/olc/tree.hpp"], "synchronization"),
        (["bound /x/apps/ycsb/index/olc/node.hpp", "child_of /x/apps/ycsb/index/olc/node.hpp"], "traversal"),
        (["bound /x/apps/ycsb/index/olc/node.hpp", "lower_bound /x/apps/ycsb/index/olc/node.hpp"],
         "operation in the leaf"),
        (["near /x/apps/ycsb/index/sorted_keys.hpp", "position /x/apps/ycsb/index/olc/node.hpp",
          "child_of /x/apps/ycsb/index/olc/node.hpp"], "traversal"),
        (["interpolate /x/apps/ycsb/interpolate.hpp", "position /x/apps/ycsb/index/bwtree/record.hpp",
          "lower_bound /x/apps/ycsb/index/bwtree/record.hpp"], "operation in the leaf"),
        (["interpolate /x/apps/ycsb/interpolate.hpp", "route /x/apps/ycsb/inner.hpp"], "traversal"),
        (["prefetch /x/apps/ycsb/index/masstree/node.hpp"], "prefetching"),
        (["slot /x/apps/ycsb/index/masstree/permutation.hpp", "read_entry /x/apps/ycsb/index/masstree/tree.hpp",
          "find /x/apps/ycsb/index/masstree/tree.hpp"], "operation in the leaf"),
        (["refresh /x/apps/ycsb/index/session.hpp", "serve /x/apps/ycsb/index/index_variant.hpp"], "reclamation"),
        (["serve /x/apps/ycsb/index/index_variant.hpp"], "client and libraries"),
        (["malloc /usr/lib/libc.so.6"], "memory of tasks"),
        (["malloc_stats /usr/lib/libc.so.6"], "client and libraries"),
        ([], "client and libraries"),
    ],
)
def test_a_sample_is_what_its_innermost_telling_frame_says(activity: ModuleType, frames: list[str], expected: str):
    assert activity.activity_of(frames) == expected


def test_counts_samples_between_two_times(activity: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(activity, "PROGRAM", Path("/b/ycsb-native"))
    asked: list[int] = []

    def frames_of(addresses) -> dict[int, list[str]]:
        asked.extend(addresses)
        return {0x1234: ["find /x/apps/ycsb/leaf.hpp"]}

    monkeypatch.setattr(activity, "frames_of", frames_of)
    script = """\
ycsb-native     1.000000: PERF_RECORD_MMAP2 7/7: [0x555000001000(0x1000) @ 0x1000 08:01 5 0]: r-xp /b/ycsb-native
ycsb-native     1.900000:     555000001234 find (/b/ycsb-native)
ycsb-native     2.000000:     555000001234 find (/b/ycsb-native)
ycsb-native     2.500000:     555000001234 find (/b/ycsb-native)
ycsb-native     2.600000: ffffffff81000000 clear_page ([kernel.kallsyms])
ycsb-native     2.700000:     7f0000000000 malloc (/usr/lib/libc.so.6)
ycsb-native     3.100000:     555000001234 find (/b/ycsb-native)
"""
    counts = activity.samples_of(script, 2.0, 3.0)
    assert dict(counts) == {"operation in the leaf": 2, "kernel": 1, "memory of tasks": 1}
    assert asked == [0x1234]


def test_leaves_out_what_calls_cost_as_a_whole(activity: ModuleType):
    profile = """\
ob=/b/ycsb-native
fl=/x/leaf.hpp
fn=find
0x10 5 3
cob=/usr/lib/libc.so.6
cfn=malloc
calls=2 0x77 0
0x12 6 4000
0x14 7 2

ob=/usr/lib/libc.so.6
fn=malloc
0x77 0 40
""".splitlines()
    costs = list(activity.costs_in(profile))
    assert costs == [("/b/ycsb-native", "find", 0x10, 3), ("/b/ycsb-native", "find", 0x14, 2),
                     ("/usr/lib/libc.so.6", "malloc", 0x77, 40)]  # fmt: skip


def test_concludes_from_what_was_sampled_and_a_report_draws_it(activity: ModuleType, tmp_path: Path):
    results = activity.Results(title="Where the cycles of a request go", machine="a machine")
    for round_, noise in enumerate((0, 2)):
        activity.keep(results, "C/tasks", {"traversal": 60 + noise, "kernel": 5, "all": 100 + noise}, round_)
        activity.keep(results, "C/no-prefetch", {"traversal": 200, "all": 150 + noise}, round_)
    activity.keep(results, "C/instructions/tasks", {"traversal": 287}, 0)
    activity.conclude(results)
    sampled, counted = results.breakdowns
    assert [(s.name, [(p.name, p.mean) for p in s.parts if p.mean]) for s in sampled.stacks] == [
        ("tasks", [("traversal", 61), ("kernel", 5)]), ("no-prefetch", [("traversal", 200)])]  # fmt: skip
    assert sum(p.mean for p in counted.stacks[0].parts) == 287
    (row,) = results.rows
    assert (row.name, row.mean, row.low, row.high) == ("C-no-prefetch", 50, 50, 50)
    results.save(tmp_path)
    done = rubato("report", str(tmp_path), "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "Fig. 13: lookups (YCSB C)" in page
    # On one scale: 66 and 200 cycles.
    assert "title='traversal: 61 cycles an operation' style='background:var(--s0);width:30.50%'" in page
    assert "title='traversal: 200 cycles an operation' style='background:var(--s0);width:100.00%'" in page
    assert "title='kernel: 5 cycles an operation' style='background:var(--s7);width:2.50%'" in page


def test_a_sample_alone_names_every_activity(activity: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(activity, "sampled", lambda *_: {"traversal": 60.0, "all": 100.0})
    monkeypatch.setattr(activity, "counted", lambda *_: {"traversal": 200.0, "kernel": 0.0})
    size, parser = activity.Size(1000, 1000), activity.parser_of("")
    for is_counted, total in ((False, 100.0), (True, 200.0)):
        activity.alone(parser, "olc", is_counted, ["C"], size)
        printed = json.loads(capsys.readouterr().out)
        assert printed["traversal"] == (200 if is_counted else 60)
        assert (printed["synchronization"], printed["all"]) == (0, total)
        assert set(printed) == {*activity.ACTIVITIES, "all"}
    with pytest.raises(SystemExit):
        activity.alone(parser, "none", False, ["C"], size)
