"""capalloc (P68 to P77): programs compute what they compute with the C library's allocator, the heap is whole
after aborts, mistakes are named, and `rubato run --alloc` chooses between the allocators."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

import rubato
from rubato.errors import UsageError
from rubato.running.spec import ALLOCATORS, RunSpec


def run(rubato_chip: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([rubato_chip, "--quiet", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)  # fmt: skip


@pytest.mark.parametrize("options", [["--cores", "1"], ["--cores", "4", "--no-ff"]], ids=" ".join)
@pytest.mark.parametrize("program", ["heap", "containers", "threads", "exceptions"])
def test_a_program_prints_what_it_prints_with_the_c_librarys(
    program: str, options: list[str], guests: Path, rubato_chip: Path
) -> None:
    theirs, ours = (run(rubato_chip, *options, guests / name) for name in (program, f"capalloc_{program}"))
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout), ours.stderr[-2000:]


@pytest.mark.parametrize("capsules", ["true", "false"])
@pytest.mark.parametrize(
    "options",
    [["--cores", "1"], ["--cores", "4"], ["--cores", "16"], ["--cores", "16", "--set", "run.lookahead_cycles=0"],
     ["--cores", "16", "--set", "conflict.forwarding=stall"], ["--cores", "16", "--set", "conflict.forwarding=abort"]],
    ids=" ".join,
)  # fmt: skip
def test_every_block_is_in_one_place_after_aborts(
    options: list[str], capsules: str, guests: Path, rubato_chip: Path
) -> None:
    one = run(rubato_chip, "--cores", "1", guests / "capalloc_lists")
    done = run(rubato_chip, *options, "--set", f"task.capsules={capsules}", guests / "capalloc_lists")
    assert done.returncode == 0 and "check: passed" in done.stdout, done.stdout + done.stderr[-2000:]
    assert done.stdout == one.stdout


@pytest.mark.parametrize("kind", ["spec", "mayspec"])
@pytest.mark.parametrize("cores", ["1", "4", "16"])
def test_ordered_tasks_that_allocate_leave_what_the_loop_leaves(
    cores: str, kind: str, guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, "--cores", cores, guests / "capalloc_task_heap", kind)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout == run(rubato_chip, "--cores", cores, guests / "task_heap", kind).stdout


@pytest.mark.parametrize("mode", ["spec", "nonspec", "mayspec"])
@pytest.mark.parametrize("cores", ["1", "4", "16"])
@pytest.mark.parametrize("blocks", [[], ["shared"]], ids=["own", "shared"])
def test_large_blocks_keep_their_contents_when_tasks_resize_them(
    blocks: list[str], cores: str, mode: str, guests: Path, rubato_chip: Path
) -> None:
    """Resized in place, after aborts undone, or copied without speculation."""
    done = run(rubato_chip, "--cores", cores, "--max-cycles", "100000000", "--set", f"task.mayspec={mode}",
               guests / "capalloc_task_large_realloc", *blocks)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "0 differences\ncheck: passed\n"), done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("cores", ["1", "16"])
def test_a_large_block_that_grows_takes_no_longer_than_with_the_c_librarys(
    cores: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """The C library moves pages by mremap(); a copy of them took six times as long."""
    cycles = []
    for program in ("task_large_realloc", "capalloc_task_large_realloc"):
        done = run(rubato_chip, "--cores", cores, "--out", tmp_path / program, guests / program)
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]
        cycles.append(json.loads((tmp_path / program / "summary.json").read_text())["cycles"])
    assert cycles[1] < cycles[0]


@pytest.mark.parametrize("options", [[], ["--set", "run.alloc=ideal"]], ids=["capalloc", "ideal"])
@pytest.mark.parametrize("cores", ["1", "16"])
@pytest.mark.parametrize("pattern", ["aligned", "pages", "fragments"])
def test_blocks_are_aligned_and_whole_where_tasks_do_little_else(
    pattern: str, cores: str, options: list[str], guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, "--cores", cores, *options, guests / "block_patterns", pattern)
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("capsules", ["true", "false"])
@pytest.mark.parametrize("cores", ["1", "4"])
def test_a_second_free_is_an_error_with_its_sentence(
    cores: str, capsules: str, guests: Path, rubato_chip: Path
) -> None:
    program = guests / "capalloc_task_double_free"
    done = run(rubato_chip, "--cores", cores, "--set", f"task.capsules={capsules}", program)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "freed the block at 0x" in done.stderr and "a second time" in done.stderr


@pytest.mark.parametrize(
    ("more", "words"), [([], "a second time"), (["inside"], "which is not the start of a block of the heap")]
)
def test_a_wrong_free_outside_tasks_has_its_sentence(
    more: list[str], words: str, guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, "--cores", "1", guests / "wrong_free", *more)
    assert done.returncode == 3 and words in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize(
    "options", [["--cores", "4"], ["--cores", "16"], ["--cores", "16", "--seed", "5"]], ids=" ".join
)
def test_nothing_is_seen_of_wild_calls(options: list[str], guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, *options, guests / "wild_free")
    assert done.returncode == 0 and done.stdout == "check: passed\n", done.stdout + done.stderr[-2000:]


def test_frees_do_not_count_as_tracked_children(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, "--cores", "4", "--out", tmp_path / "run", guests / "many_frees")
    assert done.returncode == 0, done.stderr[-2000:]
    tasks = json.loads((tmp_path / "run" / "summary.json").read_text())["tasks"]
    assert (tasks["promoted"], tasks["nonspeculative"]) == (0, 64 * 20)


def calls(trace: Path, first: str, inner: str) -> list[int]:
    """Instructions of each call of `first` on core 0, in it and in functions that have `inner` in their name."""
    counts: list[int] = []
    inside = False
    with gzip.open(trace, "rt") as lines:
        next(lines)
        for line in lines:
            _, core, _, _, function, *_ = line.split("\t")
            if core != "0":
                continue
            if function == first:
                counts.append(0)
                inside = True
            inside = inside and (function.startswith(f"{first}+") or function == first or inner in function)
            if inside:
                counts[-1] += 1
    return counts


def test_the_fast_paths_are_short(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """Fast paths of malloc in a speculative task, with the capsule's call, entry and stub, and of free elsewhere."""
    # One core does not speculate.
    for cores, functions in (("4", {"malloc": (40, 45)}), ("1", {"malloc": (20, 26), "free": (24, 29)})):
        out = tmp_path / cores
        done = run(rubato_chip, "--cores", cores, "--instructions", "--out", out, "--set", "task.mayspec=spec",
                   guests / "capalloc_task_heap", "mayspec")  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        for function, (least, most) in functions.items():
            counts = calls(out / "instructions.tsv.gz", function, "capalloc_take")
            fast = sum(least <= count <= most for count in counts)
            assert fast > len(counts) * 0.7, (function, sorted(counts)[:: len(counts) // 10 + 1])


@pytest.mark.parametrize("alloc", [name for name in ALLOCATORS if name != "tcmalloc"])
def test_rubato_run_chooses_the_allocator(alloc: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    done = rubato.run("des", cores=4, alloc=alloc, out=tmp_path / "run",
                      arguments="--generate csa:4 --vectors 2 --events heap")  # fmt: skip
    assert done.summary.check == "passed"
    handlers = done.stats.total("tile.*.task_unit.handlers.registered")
    assert (handlers > 0) == (alloc == "capalloc")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"program": "des", "alloc": "best"}, "--alloc is one of ideal, capalloc, plain, libc, tcmalloc, not best."),
        ({"program": "sssp", "alloc": "plain"}, "--alloc plain is for applications that allocate in tasks"),
        ({"program": "des", "alloc": "plain", "set": {"task.capsules": "true"}}, "contradict"),
        ({"program": "des", "alloc": "ideal", "engine": "native"}, "--alloc is for the simulated chip"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        RunSpec(**fields).check()
    assert words in str(refused.value)
