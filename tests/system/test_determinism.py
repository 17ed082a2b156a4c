"""Same program, input, configuration and seed: same bytes out, wherever and whenever (C29)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import rubato

SSSP = ["--generate", "road:16x16", "--verify"]
DES = ["--generate", "csa:4", "--vectors", "2", "--log-type", "spec", "--verify"]
FULL_QUEUES = ["--set", "task.task_queue=16", "--set", "task.commit_queue=4", "--set", "task.send_buffer=4"]

# Options of rubato-chip, program and arguments: tasks of all of these run ahead, and some abort.
SPECULATIVE = [
    (["--cores", "16", "--set", "task.mayspec=spec"], "sssp", SSSP),
    (["--cores", "16", *FULL_QUEUES], "sssp", SSSP),
    (["--cores", "16", "--set", "conflict.forwarding=stall"], "sssp", SSSP),
    (["--cores", "16", "--set", "conflict.selective_aborts=false"], "sssp", SSSP),
    (["--cores", "64", "--set", "task.mayspec=spec", "--set", "conflict.sets=exact"], "des", DES),
    (["--cores", "16", *FULL_QUEUES, "--set", "run.lookahead_cycles=0"], "des", DES),
]


def stats(simulator: Path, out: Path, program: Path | str, *options: str, arguments: list[str] = SSSP) -> bytes:
    command = [simulator, "--quiet", "--out", out, *options, program, *arguments]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (out / "stats.json").read_bytes()


@pytest.mark.parametrize("options", [["--cores", "1"], ["--cores", "16"], ["--cores", "16", "--no-ff"],
                                     ["--cores", "64", "--warm"]])
def test_two_runs_give_identical_statistics(
    options: list[str], rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    first = stats(rubato_chip, tmp_path / "a", guests / "sssp", *options)
    assert stats(rubato_chip, tmp_path / "b", guests / "sssp", *options) == first


def test_two_runs_of_a_threaded_program_give_identical_statistics(
    rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    first = stats(rubato_chip, tmp_path / "a", guests / "pthreads", "--cores", "3", arguments=[])
    assert stats(rubato_chip, tmp_path / "b", guests / "pthreads", "--cores", "3", arguments=[]) == first


def test_another_seed_gives_other_statistics(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    first = stats(rubato_chip, tmp_path / "a", guests / "sssp", "--cores", "16", "--seed", "1")
    assert stats(rubato_chip, tmp_path / "b", guests / "sssp", "--cores", "16", "--seed", "2") != first


def test_observing_a_run_does_not_change_it(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    first = stats(rubato_chip, tmp_path / "a", guests / "sssp", "--cores", "16")
    watched = ["--cores", "16", "--trace", "--interval", "777", "--series", "tasks.*"]
    assert stats(rubato_chip, tmp_path / "b", guests / "sssp", *watched) == first


@pytest.mark.parametrize(("options", "program", "arguments"), SPECULATIVE)
def test_speculation_repeats_observed_or_not(
    options: list[str], program: str, arguments: list[str], rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    first = stats(rubato_chip, tmp_path / "a", guests / program, *options, arguments=arguments)
    assert sum(v for k, v in json.loads(first)["roi"].items() if k.startswith("chip.aborts.")) > 0
    assert stats(rubato_chip, tmp_path / "b", guests / program, *options, arguments=arguments) == first
    watched = [*options, "--trace", "--interval", "777", "--series", "tasks.*", "--check-replay", "--commit-order"]
    assert stats(rubato_chip, tmp_path / "c", guests / program, *watched, arguments=arguments) == first


@pytest.mark.parametrize(("options", "program", "arguments"), SPECULATIVE[:1] + SPECULATIVE[-2:])
def test_the_commit_order_is_one_the_task_model_allows(
    options: list[str], program: str, arguments: list[str], rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    orders = []
    for name in ("a", "b"):
        stats(rubato_chip, tmp_path / name, guests / program, *options, "--commit-order", arguments=arguments)
        orders.append(gzip.decompress((tmp_path / name / "commits.tsv.gz").read_bytes()).decode())
    assert orders[0] == orders[1]
    tasks = list(csv.DictReader(orders[0].splitlines(), delimiter="\t"))
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert len(tasks) == summary["tasks"]["committed"]
    timestamps = [int(t["timestamp"]) for t in tasks if t["timestamp"] != "-"]
    assert timestamps == sorted(timestamps)
    assert len(timestamps) > 0
    place = {t["id"]: i for i, t in enumerate(tasks)}
    assert len(place) == len(tasks)
    assert all(place[t["parent"]] < i for i, t in enumerate(tasks) if t["parent"] in place and t["speculative"] == "1")
    assert any(t["speculative"] == "1" for t in tasks)


@pytest.mark.parametrize("name", [[], ["--argv0", "sssp"]], ids=["its own name", "a given name"])
def test_a_program_runs_the_same_from_any_folder_and_by_any_path(
    name: list[str], rubato_chip: Path, guests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / ("a folder whose name is quite a bit longer" * 3) / "sssp"
    elsewhere.parent.mkdir()
    shutil.copy(guests / "sssp", elsewhere)
    options = ["--cores", "4", "--no-ff", *name]
    first = stats(rubato_chip, tmp_path / "a", guests / "sssp", *options)
    monkeypatch.chdir(elsewhere.parent)
    for place, program in {"b": elsewhere, "c": "sssp", "d": "./sssp", "e": f"../{elsewhere.parent.name}/sssp"}.items():
        assert stats(rubato_chip, tmp_path / place, program, *options) == first, program


def test_the_command_gives_a_program_of_ones_own_the_same_result_by_any_path(
    guests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(guests / "sssp", tmp_path / "sssp")
    (tmp_path / "folder").mkdir()
    paths = ["./sssp", "folder/../sssp", str(tmp_path / "sssp")]
    cycles = [rubato.run(p, cores=4, fast_forward=False, arguments=SSSP).summary.cycles for p in paths]
    assert len(set(cycles)) == 1, cycles


RECORDS = ["--trace", "--interval", "5000", "--instructions", "--trace-from", "3000", "--trace-cycles", "1000"]
AROUND = [
    ("job_control", ["--cores", "4"], []),
    ("process_storm", ["--cores", "3", "--set", "core.model=window", *RECORDS], ["5"]),
    ("files", ["--cores", "2", "--set", "coherence.protocol=flask", *RECORDS], []),
    ("sssp", ["--cores", "16", "--set", "task.mayspec=spec", *RECORDS], SSSP),
]


def records(folder: Path) -> dict[str, bytes]:
    """All that a run leaves, but for the host's time and memory."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for of_the_host in ("log.txt", "progress.json"):
        assert found.pop(of_the_host)
    summary = json.loads(found["summary.json"])
    assert summary.pop("host")["seconds"] > 0
    return {**found, "summary.json": json.dumps(summary).encode()}


@pytest.mark.parametrize(("program", "options", "arguments"), AROUND, ids=[name for name, _, _ in AROUND])
def test_the_host_around_a_run_leaves_no_trace(
    program: str, options: list[str], arguments: list[str], rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    """Another environment, standard input, priority, number of processors and load."""
    other = {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "TMPDIR": str(tmp_path), "MALLOC_PERTURB_": "85",
             "MALLOC_ARENA_MAX": "1", **{f"UNUSED_{i}": "x" * i for i in range(200)}}  # fmt: skip
    results = []
    for environment in ({"PATH": "/usr/bin"}, {"PATH": "/bin", **other}):
        place = tmp_path / "work"
        place.mkdir()
        around = ["nice", "-n", "5", "taskset", "-c", str(min(os.sched_getaffinity(0)))] if results else []
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)] if results else []
        try:
            done = subprocess.run(
                [*around, rubato_chip, "--quiet", "--out", "run", *options, guests / program, *arguments],
                cwd=place,
                env=environment,
                stdin=None if results else subprocess.DEVNULL,
                capture_output=True,
                check=True,
            )
        finally:
            for process in busy:
                process.kill()
                process.wait()
        results.append((done.stdout, records(place / "run")))
        shutil.rmtree(place)
    (first_output, first), (second_output, second) = results
    assert second_output == first_output
    assert sorted(second) == sorted(first)
    assert [name for name in first if first[name] != second[name]] == []
