"""An ordinary program explains itself: the lock, the line and the thread that cost most (users' first wish)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rubato
from rubato.results.run import Run

BANK = r"""
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;
static unsigned long balance;
static void deposit(unsigned long amount) {
  pthread_mutex_lock(&vault);
  for (int i = 0; i < 300; ++i) balance = balance * 3 + amount;
  pthread_mutex_unlock(&vault);
}
static void* teller(void* arg) {
  for (unsigned long i = 0; i < 100; ++i) deposit(i + (unsigned long)arg);
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (unsigned long i = 0; i < 4; ++i) pthread_create(&t[i], 0, teller, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
  printf("%lu\n", balance);
}
"""
TEAM = r"""
#include <stdio.h>
static unsigned long work(int n) { unsigned long x = 1; for (int i = 0; i < n; ++i) x = x * 3 + i; return x; }
int main(void) {
  unsigned long sum = 0;
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = 0; i < 4; ++i) sum += work(i == 0 ? 20000 : 100);
  }
  printf("%lu\n", sum);
}
"""
GO = """
package main

import (
	"fmt"
	"sync"
)

var mu sync.Mutex
var total uint64

func work(n int, wg *sync.WaitGroup) {
	defer wg.Done()
	for i := 0; i < n; i++ {
		mu.Lock()
		for j := 0; j < 200; j++ {
			total = total*3 + uint64(i)
		}
		mu.Unlock()
	}
}

func main() {
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go work(300, &wg)
	}
	wg.Wait()
	fmt.Println(total)
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("threads")


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source.lstrip())
    compiler = ["riscv64-linux-gnu-gcc", "-g", "-O1", "-static", *flags]
    subprocess.run([*compiler, f"{name}.c", "-o", name], cwd=folder, check=True, capture_output=True)
    return folder / name


def run(simulator: Path, out: Path, *words: str | Path) -> Run:
    done = subprocess.run([simulator, "--quiet", "--trace", "--out", out, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = rubato.load(out)
    assert isinstance(found, Run)
    return found


@pytest.fixture(scope="module")
def bank(rubato_chip: Path, folder: Path) -> Run:
    return run(rubato_chip, folder / "bank-run", "--cores", "4", compiled(folder, "bank", BANK, "-pthread"))


@pytest.fixture(scope="module")
def team(rubato_chip: Path, folder: Path) -> Run:
    program = compiled(folder, "team", TEAM, "-fopenmp")
    return run(rubato_chip, folder / "team-run", "--cores", "4", "--env", "OMP_NUM_THREADS=4", program)


def test_the_lock_its_line_and_the_threads_are_named(bank: Run) -> None:
    costly = bank.waits[0]
    assert (costly.kind, costly.what, str(costly.at)) == ("lock", "vault", "teller (bank.c:6)")
    assert set(costly.threads) == set(costly.held_by) == {1001, 1002, 1003, 1004}
    assert sum(costly.threads.values()) == costly.cycles
    assert costly.longest <= costly.cycles
    assert bank.conclusion.endswith(" % of core cycles wait for the lock vault in teller (bank.c:6).")
    assert str(bank.profile[0].at) == "teller (bank.c:7)"


def test_cycles_of_threads_add_up(bank: Run, team: Run) -> None:
    for of in (bank, team):
        running = sum(sum(thread.running.values()) for thread in of.threads)
        assert running == of.stats.whole_run["chip.core_cycles.nonspeculative"]
        assert len(of.threads) == (5 if of is bank else 4)
    waiting = sum(wait.cycles for wait in bank.waits)
    assert waiting == sum(sum(thread.blocked.values()) for thread in bank.threads)


def test_a_barrier_that_spins_and_the_thread_it_waits_for_are_named(team: Run) -> None:
    said = "wait for barriers, most often in main (team.c:6); meanwhile thread 1000 works alone, most often in "
    assert team.conclusion.endswith(f" % of core cycles {said}main._omp_fn.0 (team.c:2).")


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go compiler")
def test_a_go_program_names_its_lines(rubato_chip: Path, folder: Path) -> None:
    (folder / "main.go").write_text(GO)
    environment = {"GOARCH": "riscv64", "CGO_ENABLED": "0", "PATH": f"{Path(shutil.which('go') or '').parent}:/usr/bin",
                   "HOME": str(folder)}
    subprocess.run(["go", "build", "-o", "prog", "main.go"], cwd=folder, env=environment, check=True)
    found = run(rubato_chip, folder / "go-run", "--cores", "4", folder / "prog")
    locks = [hot for hot in found.profile if hot.spins_for == "lock" and hot.at.is_users]
    assert locks, "goroutines that spin for the mutex are seen"
    assert locks[0].at.function == "main.work"
    assert locks[0].at.line.startswith("main.go:1")
    assert "main.work (main.go:1" in found.conclusion


def test_the_trace_has_lanes_of_threads(bank: Run) -> None:
    assert bank.trace is not None
    events = json.loads(gzip.decompress(bank.trace.read_bytes()))["traceEvents"]
    names = {event["args"]["name"]: event["tid"] for event in events if event["name"] == "thread_name"}
    pid = next(e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "threads")
    lane = sorted((e["ts"], e["ts"] + e["dur"], e["name"], e["args"]) for e in events
                  if e.get("cat") == "thread" and e["pid"] == pid and e["tid"] == names["thread 1001"])
    assert all(before[1] <= after[0] + 1e-6 for before, after in zip(lane, lane[1:], strict=False)), "slices overlap"
    waits = [arguments for *_, name, arguments in lane if name == "lock vault"]
    assert waits
    assert all(arguments["at"].startswith("teller") for arguments in waits)
    assert sum(a["end_cycle"] - a["begin_cycle"] for a in waits) == bank.waits[0].threads[1001]


def test_the_report_shows_it(bank: Run, team: Run) -> None:
    file = bank.directory / "report.html"
    command = [sys.executable, "-m", "rubato", "report", bank.directory, team.directory, "--out", file]
    subprocess.run(command, check=True, capture_output=True)
    page = file.read_text()
    for text in (bank.conclusion, team.conclusion):
        assert text.replace("'", "&#x27;") in page
    for text in ("Cycles by thread", "bank.c:6", "Where cores were", "(OpenMP)"):
        assert text in page
    assert "gomp_" not in page, "insides of a library are no places of the program"
    for text in ("no task", "No task", "all tasks", "tasks committed", "differences below"):
        assert text not in page, "the programs have no tasks"
    assert "all threads" in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found[1])
    (strip,) = (run["timeline"] for run in data["inside"] if run["label"].startswith("bank"))
    assert strip["who"] == "threads" and set(strip["lanes"]) <= {f"thread {t.number}" for t in bank.threads}
    assert {"running", "lock"} <= set(strip["kinds"])
    ends = {(s["lane"], s["start"] + s["length"]) for s in strip["slices"] if s["kind"] != "running"}
    assert strip["arrows"] and {(arrow["to"], arrow["at"]) for arrow in strip["arrows"]} <= ends
    assert all(strip["from"] <= s["start"] < s["start"] + s["length"] <= strip["to"] + 1e-6 for s in strip["slices"])
    charts = data["threads"]
    # The bank's and the team's, in the order of the page; each has a place to be drawn in.
    assert len(charts) == 2 and all(f'id="{name}-chart"' in page for name in charts)
    rows = [{row["label"]: row for row in chart["groups"][0]["rows"]} for chart in charts.values()]
    of_bank = next(found for found in rows if len(found) == 5)
    for thread in bank.threads:
        row = of_bank[str(thread.number)]
        assert sum(row["fractions"].values()) == pytest.approx(1)
        assert row["amounts"].get("blocked.lock", 0) == thread.blocked.get("lock", 0)


@pytest.mark.parametrize("words", [["--cores", "4"], ["--cores", "1"], ["--cores", "16", "--no-ff"]])
def test_samples_change_no_result(rubato_chip: Path, folder: Path, bank: Run, words: list[str]) -> None:
    program = folder / "bank"

    def without_profile(cycles: int) -> dict:
        of = run(rubato_chip, folder / "plain", *words, "--set", f"run.profile_cycles={cycles}", program)
        return {key: value for key, value in of.stats_document.items() if key != "profile"}

    plain = without_profile(0)
    assert without_profile(100) == without_profile(10000) == plain


def test_programs_with_tasks_conclude_too(rubato_chip: Path, guests: Path, folder: Path) -> None:
    strict = run(rubato_chip, folder / "strict", "--cores", "64", "--set", "task.mayspec=nonspec", guests / "sssp",
                 "--generate", "road:30x30")
    assert "of core cycles have no task: without speculation a task waits" in strict.conclusion
    votes = run(rubato_chip, folder / "votes", "--cores", "16", "--set", "task.mayspec=spec", guests / "votes", "300")
    assert "of core cycles were of attempts that aborted, most of them by conflicts over" in votes.conclusion
    assert "counters" in votes.conclusion


def test_a_program_that_was_compiled_anew_has_no_lines(rubato_chip: Path, folder: Path) -> None:
    program = compiled(folder, "changed", BANK, "-pthread")
    before = run(rubato_chip, folder / "changed-run", "--cores", "2", program)
    compiled(folder, "changed", BANK.replace("300", "301"), "-pthread")
    assert str(before.waits[0].at) == "teller"
