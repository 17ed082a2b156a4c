"""--roi SYMBOL: detail begins at each call of the function and ends at its return; the rest is fast-forwarded (C4)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Ten instructions an iteration at most, three at least: the bounds below leave no room for a call left out or for
# any of the 300,000 iterations outside.
SOURCE = """#include <stdio.h>
volatile long sum;
__attribute__((noinline)) void work(int n) {
  for (int i = 0; i < n; ++i) sum += i;
  if (n == 500) work(100);
}
__attribute__((noinline)) void other(void) { for (int i = 0; i < 100000; ++i) sum += i; }
int main(void) {
  other(); work(1000); other(); work(500); other(); work(1);
  printf("%ld\\n", sum);
  return 5;
}
"""
# 3 * sum(100000) + sum(1000) + sum(500) + sum(100) + sum(1), where sum(n) = n * (n - 1) / 2
OUTPUT = f"{3 * 4999950000 + 499500 + 124750 + 4950}\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roi")
    (folder / "roi.c").write_text(SOURCE)
    subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", "roi.c", "-o", "roi"], cwd=folder, check=True)
    return folder / "roi"


def run(rubato_chip: Path, program: Path, out: Path, *options: str) -> dict:
    command = [rubato_chip, "--quiet", "--cores", "2", *options, "--out", out, program]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # the guest exits with 5
    assert done.stdout == OUTPUT
    summary = json.loads((out / "summary.json").read_text())
    assert summary["guest_status"] == 5
    return summary


def test_each_call_of_the_region_is_detailed_and_nothing_else(
    rubato_chip: Path, program: Path, tmp_path: Path
) -> None:
    region = run(rubato_chip, program, tmp_path / "region", "--roi", "work")
    iterations = 1000 + 500 + 100 + 1  # the nested call belongs to the one it is in
    assert 3 * iterations < region["instructions"] < 10 * iterations
    assert region["instructions"] <= region["cycles"]


def test_without_a_region_detail_begins_at_main(rubato_chip: Path, program: Path, tmp_path: Path) -> None:
    default = run(rubato_chip, program, tmp_path / "default")
    main = run(rubato_chip, program, tmp_path / "main", "--roi", "main")
    everything = run(rubato_chip, program, tmp_path / "all", "--no-ff")
    assert default["cycles"] == main["cycles"] and default["instructions"] == main["instructions"]
    assert everything["instructions"] > main["instructions"] > 3 * 301601


@pytest.mark.parametrize("allocator", ["guest", "ideal"])
def test_detail_and_fast_forward_count_the_same_instructions(
    allocator: str, rubato_chip: Path, program: Path, tmp_path: Path
) -> None:
    alloc = ["--set", f"run.alloc={allocator}"]
    detailed = run(rubato_chip, program, tmp_path / "detailed", "--no-ff", *alloc)
    skipped = run(rubato_chip, program, tmp_path / "skipped", "--roi", "_exit", *alloc)
    assert detailed["instructions"] == detailed["host"]["total_instructions"]
    assert detailed["host"]["total_instructions"] == skipped["host"]["total_instructions"]  # system calls, too


def test_warm_caches_save_time_and_change_no_instruction(rubato_chip: Path, program: Path, tmp_path: Path) -> None:
    cold = run(rubato_chip, program, tmp_path / "cold", "--roi", "work")
    warm = run(rubato_chip, program, tmp_path / "warm", "--roi", "work", "--warm")
    assert warm["instructions"] == cold["instructions"]
    assert warm["cycles"] < cold["cycles"]


@pytest.mark.parametrize("cores", ["1", "2", "16"])
@pytest.mark.parametrize(
    "options",
    [
        ["--no-ff"],
        ["--roi", "main"],
        ["--roi", "rubato_task_region"],
        ["--roi", "_ZN6rubato2v06engine11worker_mainEPv"],  # worker_main(void*), which never returns
        ["--set", "run.quantum=1"],
        ["--no-ff", "--set", "core.syscall=5000"],
    ],
    ids=" ".join,
)
def test_a_task_region_may_begin_in_detail_and_waits_for_its_workers(
    options: list[str], cores: str, rubato_chip: Path, build: Path, tmp_path: Path
) -> None:
    command = [rubato_chip, "--quiet", "--cores", cores, *options, "--out", tmp_path / "out", build / "guest" / "sssp",
               "--generate", "road:8x8", "--verify"]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["check"] == "passed" and summary["tasks"]["committed"] >= 64


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--roi", "nosuch"], ["nosuch", "symbol"]), (["--roi", "work", "--no-ff"], ["--roi", "--no-ff"])],
)
def test_a_region_that_cannot_be_is_refused(
    options: list[str], words: list[str], rubato_chip: Path, program: Path
) -> None:
    command = [rubato_chip, "--quiet", *options, program]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr


def test_time_never_goes_back_between_fast_forward_and_detail(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "time.c").write_text(
        """#include <stdio.h>
#include <time.h>
static unsigned long counter(void) { unsigned long t; __asm__ volatile("rdtime %0" : "=r"(t)); return t; }
static unsigned long last;
static void look(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const unsigned long called = t.tv_sec * 1000000000ul + t.tv_nsec;
  if (called < last) printf("the clock went back\\n");
  last = counter();
  if (last < called || last - called > 100000) printf("%lu is not just after %lu\\n", last, called);
}
__attribute__((noinline)) void work(void) { for (volatile int i = 0; i < 20000; ++i) { } look(); look(); }
int main(void) {
  for (int i = 0; i < 4; ++i) { look(); look(); work(); }
  look();
}
"""
    )
    subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", "time.c", "-o", "time"], cwd=tmp_path, check=True)
    command = [rubato_chip, "--quiet", "--cores", "1", "--roi", "work", tmp_path / "time"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


MISSED = """#include <stdio.h>
#include <stdlib.h>
#include "rubato/markers.h"
__attribute__((used, noinline)) void solve(void) { puts("solved"); }
__attribute__((noinline)) void last(int n) { if (n == 3) exit(0); }
int main(int argc, char** argv) {
  puts("forgot to call solve");
  if (argc == 2) rubato_region_begin("open");
  last(argc);
  return 0;
}
"""


@pytest.fixture(scope="module")
def missed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("missed")
    (folder / "missed.c").write_text(MISSED)
    command = ["riscv64-linux-gnu-gcc", "-O1", "-static", f"-I{root / 'include'}", "missed.c", "-o", "missed"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "missed"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--roi", "solve"], 2, "nothing was measured: the program never called solve (run.roi)"),
        (["--roi", "@markers"], 0, "note: nothing was measured: the program marks no region (run.roi is @markers)"),
        (["--roi", "last", "end", "here"], 0, "note: the program ended inside last (run.roi)"),
        (["--roi", "main"], 0, None),
        ([], 0, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_region_that_is_not_reached_or_does_not_end_is_told(
    words: list[str], code: int, said: str | None, rubato_chip: Path, missed: Path, tmp_path: Path
) -> None:
    command = [rubato_chip, "--quiet", *words[:2], "--out", tmp_path / "out", missed, *words[2:]]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False)
    assert done.returncode == code
    assert done.stdout == "forgot to call solve\n"
    log = (tmp_path / "out" / "log.txt").read_text()
    if said is None:
        assert "measured" not in log and "region" not in done.stderr
    else:
        assert said in done.stderr and said in log


@pytest.mark.parametrize("words", [[], ["--roi", "@markers"]])
def test_a_marked_region_without_an_end_is_told(
    words: list[str], rubato_chip: Path, missed: Path, tmp_path: Path
) -> None:
    done = subprocess.run([rubato_chip, "--quiet", *words, "--out", tmp_path / "out", missed, "mark"], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0
    assert "note: the region 'open' did not end: it is counted to the end of the program" in done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["cycles"] > 0


def test_a_sweep_tells_of_regions_that_were_not_reached(missed: Path, tmp_path: Path) -> None:
    def sweep(roi: str) -> subprocess.CompletedProcess[str]:
        command = ["sweep", "--program", missed, "--cores", "1,2", "--roi", roi, "--out", tmp_path / roi]
        return subprocess.run([sys.executable, "-m", "rubato", *command], capture_output=True, text=True, check=False)

    wrong = sweep("solve")
    assert wrong.returncode == 1 and "the program never called solve" in " ".join(wrong.stdout.split())
    empty = sweep("@markers")
    assert empty.returncode == 0
    assert "note: 2 runs measured nothing, since no region of --roi began: missed-c1, missed-c2." in empty.stderr
