"""Whole runs: the same twice, adding up exactly, and with the known results where an input with such is there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

DATA = Path(os.environ.get("RUBATO_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))

# (program, options of rubato-chip, arguments): one core, one tile, several tiles, an ordinary program.
RUNS = [
    ("sssp", ["--cores", "1"], ["--generate", "road:12x12"]),
    ("sssp", ["--cores", "4"], ["--generate", "road:16x16"]),
    ("sssp", ["--cores", "64"], ["--generate", "road:24x24"]),
    ("sssp", ["--cores", "16", "--set", "task.task_queue=16"], ["--generate", "rmat:8:8"]),
    ("hello", ["--cores", "4"], []),
]


def name(run: tuple) -> str:
    return "-".join([run[0], *run[1], *run[2]]).replace("--", "")


def simulate(rubato_chip: Path, guests: Path, run: tuple, out: Path) -> Path:
    program, options, arguments = run
    command = [rubato_chip, *options, "--out", out, program, *arguments]
    done = subprocess.run(command, cwd=guests, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    # hello exits with 7, which the command says by its 1.
    assert done.returncode == (1 if program == "hello" else 0), done.stderr[-2000:]
    return out


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_two_runs_give_the_same_statistics_byte_for_byte(
    run: tuple, rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    first = simulate(rubato_chip, guests, run, tmp_path / "first")
    second = simulate(rubato_chip, guests, run, tmp_path / "second")
    assert (first / "stats.json").read_bytes() == (second / "stats.json").read_bytes()


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_core_cycles_and_network_bytes_add_up(run: tuple, rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    out = simulate(rubato_chip, guests, run, tmp_path / "run")
    stats = json.loads((out / "stats.json").read_text())
    summary = json.loads((out / "summary.json").read_text())
    for root in ("roi", "run"):
        values = stats[root]["values"] if "values" in stats[root] else stats[root]
        classes = [v for k, v in values.items() if k.startswith("chip.core_cycles.") and k.count(".") == 2]
        assert sum(classes) == values["chip.cycles"] * summary["cores"], f"{root}: cycle classes do not add up"
    assert sum(summary["cycle_breakdown"].values()) == pytest.approx(1)
    links = sum(v for k, v in stats["roi"].items() if k.startswith("net.bytes.") and k.count(".") == 2)
    assert links == sum(summary["network_bytes"].values())


def test_another_seed_gives_another_run_with_the_same_output(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    runs = [simulate(rubato_chip, guests, ("sssp", ["--cores", "16", "--seed", seed], ["--generate", "road:16x16"]),
                     tmp_path / seed) for seed in ("1", "2")]
    outputs = [json.loads((run / "summary.json").read_text())["output"] for run in runs]
    assert outputs[0] == outputs[1]
    assert (runs[0] / "stats.json").read_bytes() != (runs[1] / "stats.json").read_bytes()


@pytest.mark.skipif(not (DATA / "california.gr").exists(), reason="california.gr is not there (RUBATO_DATA)")
@pytest.mark.parametrize("cores", [1, 64])
def test_california_has_its_known_distances(cores: int, rubato_chip: Path, guests: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", str(cores), guests / "sssp", "--graph", DATA / "california.gr",
               "--source", "1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    digits = done.stdout.replace(",", "")
    for known in ("21048", "14836895", "154519021678"):  # nodes reached, largest distance, sum of distances
        assert known in digits, done.stdout


def test_an_instruction_takes_as_long_as_the_configuration_says(
    rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    """Also longer than 255 cycles."""
    run = ("sssp", ["--cores", "1", "--set"], ["--generate", "road:4x4"])
    cycles = []
    for latency in (200, 300, 1000):
        options = [*run[1], f"core.int_alu={latency}"]
        out = simulate(rubato_chip, guests, (run[0], options, run[2]), tmp_path / str(latency))
        cycles.append(json.loads((out / "summary.json").read_text())["cycles"])
    assert 1.2 < cycles[1] / cycles[0] < 1.6 and 2.5 < cycles[2] / cycles[1] < 3.4


def test_every_cause_aborts_all_that_is_later_without_selective_aborts(
    rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    """Full commit queues abort the latest attempts of their tiles here: hardly anything depends on those."""
    options = ["--cores", "16", "--set", "task.mayspec=spec", "--set", "task.commit_queue=1"]
    share = []
    for selective in ("true", "false"):
        run = ("sssp", [*options, "--set", f"conflict.selective_aborts={selective}"], ["--generate", "road:24x24"])
        roi = json.loads((simulate(rubato_chip, guests, run, tmp_path / selective) / "stats.json").read_text())["roi"]
        assert roi["chip.aborts.commit_queue"] > 100
        share.append(roi["chip.aborts.dependence"] / roi["chip.aborts.commit_queue"])
    assert share[1] > 3 * share[0]
