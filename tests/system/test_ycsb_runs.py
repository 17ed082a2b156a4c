"""The B-link tree on the native engine, oneTBB and threads: every variant with all checks, and its command line."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/ycsb-native"

INDEXES = ["olc", "masstree", "bwtree"]  # of their own, with their own synchronization

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="ycsb-native is not built")


def ycsb(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False,
                          env=os.environ | environment)


def has_tbb() -> bool:
    return "built without" not in ycsb("--variant", "tbb-step", "--records", "1", "--operations", "1").stderr


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("sync", ["automatic", "spin", "rw", "optimistic", "scheduled"])
@pytest.mark.parametrize("workload", [*"ACDEF", "churn"])
def test_tasks_pass_all_checks(workload: str, sync: str, workers: int):
    chosen = [] if sync == "automatic" else ["--sync", sync]
    run = ycsb("--workload", workload, "--records", "3000", "--operations", "20000", "--workers", str(workers),
               "--load", "insert", "--verify", *chosen, RUBATO_OVERSUBSCRIBE="1")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "check: passed" in run.stdout


@pytest.mark.parametrize(("variant", "sync"), [("threads", "rw"), ("interleaved", "optimistic"),
                                               ("tbb-step", "speculative"), ("tbb-lookup", "spin")])
def test_comparisons_pass_all_checks(variant: str, sync: str):
    if variant.startswith("tbb") and not has_tbb():
        pytest.skip("built without oneTBB")
    run = ycsb("--workload", "A", "--records", "3000", "--operations", "20000", "--workers", "8", "--load", "insert",
               "--verify", "--variant", variant, "--sync", sync, RUBATO_OVERSUBSCRIBE="1")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("variant", INDEXES)
@pytest.mark.parametrize("load", ["bulk", "insert"])
def test_indexes_pass_all_checks(variant: str, load: str):
    for workload in ("A", "E", "churn"):
        run = ycsb("--workload", workload, "--records", "3000", "--operations", "20000", "--workers", "8",
                   "--load", load, "--verify", "--variant", variant, RUBATO_OVERSUBSCRIBE="1")
        assert run.returncode == 0, run.stdout + run.stderr
        assert f"on 3000 records, {variant} on 8 workers" in run.stdout


@pytest.mark.parametrize("variant", ["tasks", "threads", "interleaved", "tbb-step", "tbb-lookup", *INDEXES])
def test_more_workers_than_cpus_must_be_meant(variant: str):
    if variant.startswith("tbb") and not has_tbb():
        pytest.skip("built without oneTBB")
    small = ["--records", "100", "--operations", "1000", "--json", "--variant", variant]
    run = ycsb(*small, "--workers", "1000")
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr.startswith("ycsb: 1000 workers were asked for, but ") and run.stderr.count("\n") == 1
    many = str(len(os.sched_getaffinity(0)) + 1)
    for arguments, environment in ((["--workers", many], {}), ([], {"RUBATO_WORKERS": many})):
        run = ycsb(*small, *arguments, RUBATO_OVERSUBSCRIBE="1", **environment)
        assert run.returncode == 0 and json.loads(run.stdout)["workers"] == int(many), run.stderr


def test_churn_gives_nodes_back_and_says_how_much_memory_it_took():
    tasks = json.loads(ycsb("--workload", "churn", "--records", "20000", "--operations", "500000", "--json").stdout)
    threads = json.loads(ycsb("--workload", "churn", "--records", "20000", "--operations", "500000", "--json",
                              "--variant", "threads").stdout)
    assert tasks["workload"] == "churn"
    removed = 0.4 * 500000 / 54  # leaves that the window has left behind, if all had been full
    assert 20000 / 54 < tasks["peak_nodes"] < removed
    assert tasks["peak_unreclaimed_bytes"] > 0
    assert "peak_nodes" not in threads


#: Two NUMA nodes for the engine, whatever this machine has: by hwloc.
TWO_NODES = {"HWLOC_SYNTHETIC": "numa:2 pu:1"}


def numa_bytes(policy: str, *arguments: str) -> dict[str, int]:
    run = ycsb("--numa", policy, "--records", "20000", "--operations", "20000", "--workload", "A", "--verify", "--json",
               *arguments, **TWO_NODES)
    if "built with hwloc" in run.stderr:
        pytest.skip("built without hwloc")
    assert run.returncode == 0, run.stdout + run.stderr
    summary = json.loads(run.stdout)
    visits = summary["numa_visits"]
    assert visits["all"] >= 20000 and 0 < visits["near"] <= visits["all"], "where they ran: numa_visits_test.cpp"
    return summary["numa_bytes"]


def test_nodes_of_the_tree_lie_where_numa_says():
    one = numa_bytes("node:1")
    assert set(one) == {"1"} and one["1"] > 20000 * 16
    both = numa_bytes("interleave")
    assert set(both) == {"0", "1"} and abs(both["0"] - both["1"]) <= 2048
    assert sum(both.values()) == one["1"]
    local = numa_bytes("local", "--load", "insert")
    assert set(local) == {"0", "1"} and sum(local.values()) > 20000 * 16


def test_on_a_node_that_there_is_the_summary_says_how_much_lies_there():
    run = ycsb("--numa", "interleave", "--records", "1000", "--operations", "1000", "--verify")
    if "built with hwloc" in run.stderr:
        pytest.skip("built without hwloc")
    assert run.returncode == 0 and "bytes of the tree on NUMA node " in run.stdout, run.stderr
    assert "by workers of their NUMA node: " in run.stdout
    assert "NUMA" not in ycsb("--records", "1000", "--operations", "1000").stdout


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--numa", "far"], "--numa: 'far' is none of interleave|local|node:N"),
    (["--numa", "node:x"], "--numa: 'node:x' needs the number of a NUMA node, as in node:0"),
    (["--numa", "node:7"], "--numa node:7: this machine has no such NUMA node, but 0, 1"),
    (["--numa", "local", "--variant", "olc"], "--numa is for --variant tasks, whose nodes are resources"),
])
def test_says_what_is_wrong_with_a_numa_policy(arguments: list[str], sentence: str):
    run = ycsb(*arguments, **TWO_NODES)
    if "built with hwloc" in run.stderr:
        pytest.skip("built without hwloc")
    assert run.returncode == 2 and run.stderr.startswith("ycsb: " + sentence), run.stderr


def test_a_numa_node_of_too_large_a_number_is_refused():
    many = {"HWLOC_SYNTHETIC": "numa:200 pu:1"}
    run = ycsb("--numa", "interleave", "--records", "10", "--operations", "10", **many)
    if "built with hwloc" in run.stderr:
        pytest.skip("built without hwloc")
    assert run.returncode == 2 and "NUMA node 199 is out of reach" in run.stderr, run.stderr
    assert ycsb("--numa", "node:126", "--records", "10", "--operations", "10", **many).returncode == 0


@pytest.mark.parametrize("is_json", [False, True])
def test_the_checks_notice_that_nothing_keeps_tasks_of_a_node_apart(is_json: bool):
    # Two workers that increment few values lose some of two million increments, but not in every run.
    for seed in range(1, 6):
        run = ycsb("--workload", "F", "--records", "20", "--operations", "2000000", "--workers", "2", "--verify",
                   "--seed", str(seed), *(["--json"] if is_json else []), RUBATO_SYNC="none")
        if run.returncode != 0:
            break
    assert run.returncode == 1
    if is_json:
        result = json.loads(run.stdout)
        assert result["check"] == "failed" and "is not linearizable" in result["error"]
    else:
        assert "is not linearizable" in run.stdout and run.stdout.endswith("check: failed\n")


def test_prints_one_json_object_and_writes_the_history(tmp_path: Path):
    file = tmp_path / "history.csv"
    run = ycsb("--workload", "F", "--records", "100", "--operations", "1000", "--inflight", "16", "--workers", "1",
               "--json", "--verify", "--history", str(file))
    assert run.returncode == 0, run.stdout + run.stderr
    result = json.loads(run.stdout)
    assert run.stdout.count("\n") == 1 and result["check"] == "passed"
    assert json.loads(ycsb("--records", "100", "--operations", "100", "--json").stdout)["check"] == "none"
    assert (result["workload"], result["operations"], result["inflight"]) == ("F", 1000, 16)
    assert result["latency_p99_us"] >= result["latency_p50_us"] > 0
    lines = file.read_text().splitlines()
    assert len(lines) == 1001
    assert {line.split(",")[1] for line in lines[1:]} == {"lookup", "add"}


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--variant", "threads", "--sync", "scheduled"], "--sync scheduled is for --variant tasks"),
    (["--variant", "olc", "--sync", "spin"], "--variant olc is optimistic by construction: leave --sync out"),
    (["--sync", "speculative"], "--sync speculative is for --variant tbb-step and tbb-lookup"),
    (["--history", "h.csv"], "--history needs --verify"),
    (["--workload", "G"], "'G' is none of A|B|C|D|E|F|churn"),
    (["--records", "0"], "--records"),
    (["--verify", "--history", "/nowhere/h.csv"], "cannot write /nowhere/h.csv: No such file or directory"),
    (["--verify", "--history", "/dev/full", "--records", "9", "--operations", "9"], "cannot write /dev/full: No space"),
])
def test_says_what_is_wrong(arguments: list[str], sentence: str):
    run = ycsb(*arguments)
    assert run.returncode == 2
    assert sentence in run.stderr
    assert "latency" not in run.stdout or "/dev/full" in arguments, "found before the run"


def test_a_history_that_the_disk_does_not_take_leaves_what_was_there(tmp_path: Path):
    file = tmp_path / "history.csv"
    file.write_text("of an earlier run")
    command = [PROGRAM, "--records", "100", "--operations", "1000", "--verify", "--history", file]
    run = subprocess.run(command, capture_output=True, text=True, check=False,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
    assert run.returncode == 2 and run.stderr == f"ycsb: cannot write {file}: File too large\n"
    assert list(tmp_path.iterdir()) == [file] and file.read_text() == "of an earlier run"


@pytest.mark.parametrize(("wish", "distance"), [(None, 8), ("4", 4), ("off", 0)])
def test_prefetches_further_ahead_than_the_engine_would_unless_told(wish: str | None, distance: int, tmp_path: Path):
    file = tmp_path / "counters.json"
    wishes = {} if wish is None else {"RUBATO_PREFETCH": wish}
    run = ycsb("--records", "3000", "--operations", "3000", RUBATO_COUNTERS=str(file), **wishes)
    assert run.returncode == 0, run.stdout + run.stderr
    counters = {c["name"]: c["value"] for c in json.loads(file.read_text())["counters"]}
    assert counters["prefetch_distance"] == distance
