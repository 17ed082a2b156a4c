"""The servers of workloads/: what they leave is right on the host and on the chip, and --verify would notice if not."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rubato import toml

PROGRAMS = ["oltp", "web_threads", "web_events", "midtier"]
ON_16 = ["chip.cores=16", "chip.cores_per_tile=1"]


def quick(root: Path, program: str, **instead: int) -> list[str]:
    """The quick size's options, some with other values."""
    words: list[str] = toml.load(root / "workloads" / program / "workload.toml")["quick"]
    options = dict(zip(words[::2], words[1::2], strict=True)) | {f"--{k}": str(v) for k, v in instead.items()}
    return [word for option in options.items() for word in option]


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def on_chip(rubato_chip: Path, settings: list[str], command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    words = [word for setting in (*ON_16, *settings) for word in ("--set", setting)]
    return run([rubato_chip, "--quiet", "--roi", "@markers", *words, *command])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("threads", [1, 5, 16])
def test_results_are_right_on_the_host(program: str, threads: int, build: Path, root: Path) -> None:
    done = run([build / "bin" / f"{program}-host", *quick(root, program, work=300, threads=threads), "--verify"])
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["verified"]), done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("protocol", ["mesi", "flask"])
def test_results_are_right_on_the_chip(
    program: str, protocol: str, root: Path, guests: Path, rubato_chip: Path
) -> None:
    command: list[str | Path] = [guests / program, *quick(root, program), "--verify"]
    done = on_chip(rubato_chip, [f"coherence.protocol={protocol}", "coherence.check=true"], command)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["verified"]), done.stderr[-2000:]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_on_the_chip_repeats(program: str, root: Path, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    seen = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        command: list[str | Path] = ["--out", folder, guests / program, *quick(root, program)]
        done = on_chip(rubato_chip, ["coherence.protocol=flask"], command)
        assert done.returncode == 0, done.stderr[-2000:]
        summary = json.loads((folder / "summary.json").read_text())
        seen.append((done.stdout, summary["cycles"], summary["instructions"]))
    assert seen[0] == seen[1] and seen[0][1] > 10_000


@pytest.mark.parametrize("program", PROGRAMS)
def test_latches_left_out_are_found(program: str, root: Path, guests: Path, rubato_chip: Path) -> None:
    command: list[str | Path] = [guests / f"{program}_without_data_latches", *quick(root, program, work=40), "--verify"]
    done = on_chip(rubato_chip, [], command)
    assert done.returncode == 1 and "verified" not in done.stdout, done.stdout
    assert done.stderr.startswith(f"{program}: ") and " is " in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("wrong", [["--threads", "0"], ["--work", "many"], ["--seed"], ["--no-such-option"], ["file"],
                                   ["--warm", "-1"]])  # fmt: skip
def test_wrong_options_are_refused_in_one_sentence(program: str, wrong: list[str], build: Path) -> None:
    done = run([build / "bin" / f"{program}-host", *wrong])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{program}: ") and done.stderr.count("\n") == 1 and wrong[0] in done.stderr


PINNED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "rubato/markers.h"
static volatile long data[4][4096];
static pthread_barrier_t gate;
static void* sum_twice(void* arg) {
  const long id = (long)arg;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(3 - id, &core);
  sched_setaffinity(0, sizeof core, &core);
  for (int round = 0; round < 2; ++round) {
    if (round == 1) {
      pthread_barrier_wait(&gate);
      if (id == 0) rubato_region_begin("again");
      pthread_barrier_wait(&gate);
    }
    for (int i = 0; i < 4096; ++i) data[id][i] += i;
  }
  pthread_barrier_wait(&gate);
  if (id == 0) rubato_region_end("again");
  return 0;
}
int main(void) {
  pthread_t t[4];
  pthread_barrier_init(&gate, 0, 4);
  for (long i = 0; i < 4; ++i) pthread_create(&t[i], 0, sum_twice, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
}
"""


def test_warm_lines_are_where_their_thread_runs(root: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """Each thread writes its 512 lines again, on the core that its affinity names."""
    (tmp_path / "pinned.c").write_text(PINNED)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-pthread", f"-I{root / 'include'}"]
    subprocess.run([*compiler, "pinned.c", "-o", "pinned"], cwd=tmp_path, check=True)
    misses = []
    for warm in ([], ["--warm"]):
        folder = tmp_path / f"{len(warm)}"
        words = ["--quiet", "--roi", "@markers", "--cores", "4", "--set", "chip.cores_per_tile=1", *warm, "--out"]
        done = run([rubato_chip, *words, folder, tmp_path / "pinned"])
        assert done.returncode == 0, done.stderr
        stats = json.loads((folder / "stats.json").read_text())["run"]
        misses.append(sum(value for key, value in stats.items() if key.endswith(".l2.misses")))
    assert misses[0] > 2048 and misses[1] < 400


def test_the_bench_prints_who_shares(root: Path) -> None:
    done = run([root / "bench" / "workloads", "--quick", "--json", "midtier"])
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["name"] == "midtier" and row["instructions"] > 0.1 and row["misses"] > 0
    assert 0 < row["shared_misses"] < 100 and 0 < row["active"] < 100
    unknown = run([root / "bench" / "workloads", "no-such"])
    assert unknown.returncode == 2 and "unknown workload no-such; expected " in unknown.stderr
