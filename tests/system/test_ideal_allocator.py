"""run.alloc=ideal: programs compute what they compute with their own allocator, mistakes are named, runs repeat."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

IDEAL = ["--set", "run.alloc=ideal"]
PROGRAMS = ["heap", "hello", "containers", "exceptions", "threads", "pthreads", "openmp", "system"]


def run(rubato_chip: Path, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    return subprocess.run([rubato_chip, "--quiet", *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)  # fmt: skip


@pytest.mark.parametrize("options", [["--cores", "1"], ["--cores", "4"], ["--cores", "16", "--no-ff"]], ids=" ".join)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_it_prints_with_its_own_allocator(
    program: str, options: list[str], guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    own, ideal = (
        run(rubato_chip, tmp_path / name, *options, "--set", f"run.alloc={name}", guests / program)
        for name in ("guest", "ideal")
    )
    assert (ideal.returncode, ideal.stdout) == (own.returncode, own.stdout), ideal.stderr[-2000:]


@pytest.mark.parametrize("cores", ["1", "4", "16"])
@pytest.mark.parametrize(
    "command", [["des", "--generate", "csa:8", "--vectors", "2", "--log"], ["sssp", "--generate", "road:24x24"]]
)
def test_an_application_passes_its_check_the_same_way_each_time(
    command: list[str], cores: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    texts = []
    for name, options in {"first": [], "checked": ["--check-replay"]}.items():
        done = run(rubato_chip, tmp_path / name, "--cores", cores, *IDEAL, *options, "--out", "run",
                   guests / command[0], *command[1:], "--verify")  # fmt: skip
        assert done.returncode == 0 and "check: passed" in done.stdout, done.stdout + done.stderr[-2000:]
        texts.append((tmp_path / name / "run" / "stats.json").read_text())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("cores", ["1", "4", "16"])
@pytest.mark.parametrize("allocator", ["guest", "ideal"])
@pytest.mark.parametrize("kind", ["spec", "mayspec"])
def test_ordered_tasks_that_allocate_leave_what_the_loop_leaves(
    kind: str, allocator: str, cores: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    options = ["--cores", cores, "--set", f"run.alloc={allocator}"]
    # The program's own allocator is something that tasks share beyond their locales.
    if allocator == "ideal":
        options.append("--check-replay")
    done = run(rubato_chip, tmp_path / "run", *options, guests / "task_heap", kind)
    assert done.returncode == 0 and "check: passed" in done.stdout, done.stdout + done.stderr[-2000:]


def test_the_ideal_allocator_is_no_reason_to_abort(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    aborted = {}
    for name in ("guest", "ideal"):
        done = run(rubato_chip, tmp_path / name, "--cores", "4", "--set", f"run.alloc={name}", "--out", "run",
                   guests / "task_heap", "spec")  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        aborted[name] = json.loads((tmp_path / name / "run" / "summary.json").read_text())["tasks"]["aborted"]
    assert aborted["ideal"] * 10 < aborted["guest"]


@pytest.mark.parametrize("cores", ["1", "4", "16"])
def test_a_tasks_second_free_is_an_error_of_the_task_that_is_not_speculative(
    cores: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    done = run(rubato_chip, tmp_path / "run", "--cores", cores, *IDEAL, guests / "task_double_free")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "a second time" in done.stderr and "release" in done.stderr


CALLS = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  unsigned long begin, end, begin_time, end_time;
  void* volatile p = malloc(100);
  free(p);
  __asm__ volatile("rdcycle %0" : "=r"(begin));
  __asm__ volatile("rdcycle %0" : "=r"(end));
  unsigned long nothing = end - begin;
  __asm__ volatile("rdcycle %0" : "=r"(begin_time) :: "memory");
  p = malloc(100);
  free(p);
  __asm__ volatile("rdcycle %0" : "=r"(end_time) :: "memory");
  printf("%lu\\n", end_time - begin_time - nothing);
}
"""

DOUBLE_FREE = """
#include <stdlib.h>
__attribute__((noinline)) void twice(void* p) { free(p); free(p); }
int main(void) { twice(malloc(100)); return 0; }
"""

FOREIGN = """
#include <stdlib.h>
static char text[100];
__attribute__((noinline)) void release(char* p) { free(p); __asm__ volatile(""); }
int main(void) { release(text + 16); return 0; }
"""

ENDLESS = """
#include <stdlib.h>
int main(void) {
  __asm__ volatile("li a0, 0; la ra, malloc_usable_size; jr ra" ::: "ra", "a0", "memory");
  free(malloc(1 + malloc_usable_size(0)));
}
"""


def compiled(source: str, folder: Path, *options: str) -> Path:
    (folder / "program.c").write_text(source)
    command = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", "-fno-builtin", *options, "program.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def test_calls_take_no_time_but_the_jumps_to_them(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(CALLS, tmp_path)
    own, ideal = (
        int(run(rubato_chip, tmp_path / name, "--cores", "1", "--no-ff", "--set", f"run.alloc={name}", program).stdout)
        for name in ("guest", "ideal")
    )
    assert ideal < own
    assert ideal <= 30, "two calls, their arguments and a store and a load of the pointer; its lines are there"


@pytest.mark.parametrize("options", [[], ["--no-ff"]], ids=["fast-forward", "detail"])
@pytest.mark.parametrize(("source", "sentence", "caller"), [
    (DOUBLE_FREE, "a second time", "twice"),
    (FOREIGN, "which is not the start of a block of the heap", "release"),
])  # fmt: skip
def test_a_wrong_free_is_named(
    source: str, sentence: str, caller: str, options: list[str], rubato_chip: Path, tmp_path: Path
) -> None:
    done = run(rubato_chip, tmp_path / "run", "--cores", "2", *options, *IDEAL, compiled(source, tmp_path, "-g"))
    assert done.returncode == 3, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert sentence in last and "(free" in last and caller in last


def test_returning_from_call_to_call_forever_takes_time(rubato_chip: Path, tmp_path: Path) -> None:
    options = ["--cores", "1", "--no-ff", "--set", "run.max_cycles=100000"]
    done = run(rubato_chip, tmp_path / "run", *options, *IDEAL, compiled(ENDLESS, tmp_path))
    assert done.returncode == 4 and "100000 cycles" in done.stderr


def test_a_stripped_program_is_refused(rubato_chip: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, tmp_path / "run", "--cores", "1", *IDEAL, compiled(DOUBLE_FREE, tmp_path, "-s"))
    assert done.returncode == 2 and "no symbols" in done.stderr


def test_pools_are_mapped_memory_of_the_guest(rubato_chip: Path, tmp_path: Path) -> None:
    source = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  unsigned long a = (unsigned long)malloc(100), begin, end;
  char line[200];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= a && a < end) puts("mapped");
}
"""
    done = run(rubato_chip, tmp_path / "run", "--cores", "1", *IDEAL, compiled(source, tmp_path))
    assert done.stdout == "mapped\n"
