"""Checkpoints of programs with threads: OpenMP's pool, and threads that wait in each way. A program that goes on from
one runs as one that began, on every chip."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from checkpointing import chip, results

OPENMP = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rubato/markers.h"
enum { kCount = 3000, kBins = 16 };
static double x[kCount];
int main(int argc, char** argv) {
  const int is_inside = argc > 1 && strcmp(argv[1], "inside") == 0;
  long* const bins = calloc(kBins, sizeof(long));  /* lines of the heap that all threads take */
  double sum = 0;
#pragma omp parallel for
  for (int i = 0; i < kCount; ++i) x[i] = i * 0.5;
  if (!is_inside) rubato_region_begin("sum");  /* the pool waits for work */
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp for schedule(dynamic, 50) nowait
    for (int i = 0; i < kCount; ++i) {
      sum += x[i];
#pragma omp atomic
      ++bins[i % kBins];
    }
#pragma omp single  /* others work, or wait at its barrier */
    if (is_inside) rubato_region_begin("sum");
#pragma omp for
    for (int i = 0; i < kCount; ++i) sum += x[i] * bins[0];
#pragma omp critical
    ++bins[0];
  }
  rubato_region_end("sum");
  long all = 0;
#pragma omp parallel for reduction(+ : all)
  for (int i = 0; i < kBins; ++i) all += bins[i];
  printf("%.1f %ld %d\n", sum, all, omp_get_max_threads());
  return 0;
}
"""

#: Threads that wait for a time, a signal, a lock and a condition, that run, that have ended, and that are bound to a
#: core. None of this depends on how many cores there are but the last.
WAITS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t started;
static volatile int is_set, spins;
static long results[6];
static void* sleeps(void* at) {
  sem_post(&started);
  const struct timespec time = {0, 300000};
  *(long*)at = nanosleep(&time, NULL) == 0;
  return at;
}
static void* awaits_signal(void* at) {
  sigset_t set;
  int got = 0;
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  sem_post(&started);
  sigwait(&set, &got);
  *(long*)at = got;
  return at;
}
static void* locks(void* at) {
  sem_post(&started);
  pthread_mutex_lock(&lock);
  *(long*)at = is_set;
  pthread_mutex_unlock(&lock);
  return at;
}
static void* awaits_condition(void* at) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 200000;
  if (until.tv_nsec >= 1000000000) ++until.tv_sec, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&other);
  sem_post(&started);
  *(long*)at = pthread_cond_timedwait(&condition, &other, &until) == ETIMEDOUT;
  pthread_mutex_unlock(&other);
  return at;
}
static void* runs(void* at) {
  sem_post(&started);
  while (!is_set) ++spins;
  *(long*)at = 5;
  return at;
}
static void* ends(void* at) {
  *(long*)at = 6;
  sem_post(&started);
  return at;
}
static void* (*const bodies[])(void*) = {sleeps, awaits_signal, locks, awaits_condition, runs, ends};
__attribute__((noinline)) void behind(pthread_t* threads) {
  is_set = 1;
  pthread_kill(threads[1], SIGUSR1);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
}
int main(int argc, char** argv) {
  pthread_t threads[6];
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  sem_init(&started, 0, 0);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, bodies[i], &results[i]);
  for (int i = 0; i < 6; ++i) sem_wait(&started);
  if (argc > 1) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(1, &cores);
    pthread_setaffinity_np(threads[4], sizeof cores, &cores);
  }
  for (volatile int i = 0; i < 2000; ++i) continue;
  behind(threads);
  for (int i = 0; i < 6; ++i) printf("%ld ", results[i]);
  puts("");
  return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name, source, options in [("openmp", OPENMP, ["-g", "-fopenmp"]), ("waits", WAITS, ["-pthread"])]:
        (folder / f"{name}.c").write_text(source)
        subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", *options, f"-I{root}/include",
                        folder / f"{name}.c", "-o", folder / name], check=True)  # fmt: skip
    return folder


def checkpoint(simulator: Path, file: Path, *words: str | Path) -> str:
    """Takes one. @returns what the simulator says of it."""
    done = chip(simulator, "--checkpoint", file, *words)
    assert done.returncode == 0, done.stderr
    return done.stderr


CORES = ["--cores", "4", "--set", "chip.cores_per_tile=1"]
CHIPS = {
    "mesi": [],
    "flask": ["--set", "coherence.protocol=flask"],
    "sparse": ["--set", "coherence.protocol=sparse"],
    "tokenb": ["--set", "coherence.protocol=tokenb"],
    "window": ["--set", "core.model=window"],
    "window and flask": ["--set", "core.model=window", "--set", "coherence.protocol=flask"],
    "another seed": ["--seed", "7"],
    "small caches": ["--set", "l2.size=16KiB", "--set", "run.time_slice=5000"],
}


@pytest.mark.parametrize("place", ["outside", "inside"])
@pytest.mark.parametrize("policy", ["active", "passive"])
def test_one_checkpoint_of_an_openmp_program_serves_every_chip_of_its_cores(
    rubato_chip: Path, programs: Path, tmp_path: Path, place: str, policy: str
) -> None:
    """The pool's threads spin where the policy is active, and wait in the kernel where it is passive."""
    options = [*CORES, "--roi", "@markers", "--env", f"OMP_WAIT_POLICY={policy}"]
    program = [programs / "openmp", place]
    said = checkpoint(rubato_chip, tmp_path / "file", *options, *program)
    assert "bytes of memory and 4 threads after" in said and "before the mark of a region; it is for 4 cores" in said
    outputs = set()
    for name, of_chip in CHIPS.items():
        whole = results(rubato_chip, tmp_path / "whole", *options, *of_chip, *program)
        rest = results(rubato_chip, tmp_path / "rest", *options, *of_chip, "--restore", tmp_path / "file", *program)
        assert rest[1] == whole[1] and rest[0] == whole[0], name
        outputs.add(whole[1])
    assert len(outputs) == 1 and outputs.pop().endswith(b" 4\n")


def test_blocks_allocated_before_a_checkpoint_have_their_names(
    rubato_chip: Path, programs: Path, tmp_path: Path
) -> None:
    options = [*CORES, "--roi", "@markers"]
    checkpoint(rubato_chip, tmp_path / "file", *options, "--set", "run.contention=false", programs / "openmp")
    stats, _ = results(rubato_chip, tmp_path / "rest", *options, "--restore", tmp_path / "file", programs / "openmp")
    lines = json.loads(stats)["contention"]["lines"]
    sites = [line["block"]["at"][line["block"]["user"]]["function"] for line in lines if "block" in line]
    assert any(site.startswith("main") for site in sites), sites


def test_a_checkpoint_is_for_as_many_cores_as_the_program_was_told(
    rubato_chip: Path, programs: Path, tmp_path: Path
) -> None:
    options = ["--roi", "@markers"]
    checkpoint(rubato_chip, tmp_path / "file", *CORES, *options, programs / "openmp")
    done = chip(rubato_chip, "--cores", "8", *options, "--restore", tmp_path / "file", programs / "openmp")
    assert done.returncode == 2
    assert ("the program has asked for its cores and was told 4, this run has 8: take a checkpoint for each number of "
            "cores") in done.stderr  # fmt: skip


@pytest.mark.parametrize("protocol", ["mesi", "flask", "tokenb"])
def test_caches_are_as_warm_as_without_a_checkpoint(
    rubato_chip: Path, programs: Path, tmp_path: Path, protocol: str
) -> None:
    words = [*CORES, "--roi", "@markers", programs / "openmp"]
    of_chip = ["--set", f"coherence.protocol={protocol}"]
    checkpoint(rubato_chip, tmp_path / "file", "--warm", *words)
    from_file = ["--restore", tmp_path / "file", *of_chip, *words]
    whole = results(rubato_chip, tmp_path / "whole", "--warm", *of_chip, *words)
    rest = results(rubato_chip, tmp_path / "rest", "--warm", *from_file)
    cold = results(rubato_chip, tmp_path / "cold", *from_file)
    assert rest[1] == whole[1] == cold[1]
    warm, restored, empty = [
        sum(value for key, value in json.loads(stats)["run"].items() if key.endswith(".l2.misses"))
        for stats, _ in (whole, rest, cold)]  # fmt: skip
    assert abs(restored - warm) < 0.25 * (empty - warm), (warm, restored, empty)


def test_a_cold_checkpoint_does_not_warm(rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    words = [*CORES, "--roi", "@markers", programs / "openmp"]
    checkpoint(rubato_chip, tmp_path / "file", *words)
    done = chip(rubato_chip, "--warm", "--restore", tmp_path / "file", *words)
    assert done.returncode == 2
    assert "the checkpoint was taken without run.warm (--warm), which this run has" in done.stderr


@pytest.mark.parametrize("cores", ["1", "2", "8"])
def test_threads_that_wait_in_each_way_are_restored(
    rubato_chip: Path, programs: Path, tmp_path: Path, cores: str
) -> None:
    """The program does not ask for cores, so that its checkpoint serves each number of them."""
    words = ["--roi", "behind", programs / "waits"]
    said = checkpoint(rubato_chip, tmp_path / "file", "--cores", "4", *words)
    assert "bytes of memory and 6 threads after" in said and said.endswith("in behind before the region of interest\n")
    whole = results(rubato_chip, tmp_path / "whole", "--cores", cores, *words)
    rest = results(rubato_chip, tmp_path / "rest", "--cores", cores, "--restore", tmp_path / "file", *words)
    assert rest == whole
    assert whole[1] == b"1 10 1 1 5 6 \n"


def test_the_cores_that_a_thread_is_bound_to_are_restored(rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    words = ["--cores", "4", "--roi", "behind", programs / "waits", "bound"]
    assert "it is for 4 cores" in checkpoint(rubato_chip, tmp_path / "file", *words)
    assert (results(rubato_chip, tmp_path / "rest", "--restore", tmp_path / "file", *words)
            == results(rubato_chip, tmp_path / "whole", *words))


@pytest.mark.parametrize("application", [["bfs", "--generate", "rmat:7:8"], ["des", "--generate", "csa:6"]])
def test_teams_of_threads_are_restored(
    rubato_chip: Path, guests: Path, tmp_path: Path, application: list[str]
) -> None:
    words = [*CORES, "--roi", "rubato_serial_region", guests / application[0], *application[1:],
             "--variant", "threads", "--verify"]  # fmt: skip
    assert "and 4 threads" in checkpoint(rubato_chip, tmp_path / "file", *words)
    for of_chip in ("mesi", "tokenb", "another seed"):
        whole = results(rubato_chip, tmp_path / "whole", *CHIPS[of_chip], *words)
        rest = results(rubato_chip, tmp_path / "rest", "--restore", tmp_path / "file", *CHIPS[of_chip], *words)
        assert rest == whole
        assert b"check: passed" in whole[1]


def test_damaged_files_are_refused(rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    words = ["--cores", "4", "--roi", "behind", programs / "waits"]
    checkpoint(rubato_chip, tmp_path / "whole", *words)
    content = gzip.decompress((tmp_path / "whole").read_bytes())
    for size in (*range(len(content) - 6000, len(content), 250), len(content) - 1):
        (tmp_path / "cut").write_bytes(gzip.compress(content[:size]))
        done = chip(rubato_chip, "--restore", tmp_path / "cut", *words)
        assert done.returncode == 2 and "checkpoint" in done.stderr


def test_what_a_checkpoint_of_threads_cannot_hold_is_said(rubato_chip: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "piped.c").write_text(r"""
        #include <pthread.h>
        #include <unistd.h>
        static int ends[2];
        static void* reads(void* of) { char c; return read(ends[0], &c, 1) == 1 ? of : 0; }
        __attribute__((noinline)) void behind(void) { if (write(ends[1], "x", 1) != 1) _exit(3); }
        int main(void) {
          pthread_t thread;
          if (pipe(ends) != 0 || pthread_create(&thread, 0, reads, 0) != 0) return 3;
          for (volatile int i = 0; i < 50000; ++i) continue;
          behind();
          return pthread_join(thread, 0);
        }""")
    program = tmp_path / "piped"
    subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", "-pthread", tmp_path / "piped.c", "-o", program],
                   check=True)  # fmt: skip
    done = chip(rubato_chip, "--cores", "2", "--roi", "behind", "--checkpoint", tmp_path / "file", program)
    assert done.returncode == 2
    assert "a checkpoint cannot be taken: descriptor 3 is a pipe or a counter" in done.stderr
    assert not (tmp_path / "file").exists()
