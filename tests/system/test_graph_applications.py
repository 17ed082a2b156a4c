"""The graph applications on the chip: their own check and the replay pass on 1 to 64 cores, for every type of task."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

APPLICATIONS = ["sssp", "bfs", "mis", "color", "triangle", "cf"]
GRAPHS = ["road:12x12", "rmat:7:8"]


def run(rubato_chip: Path, guest: Path, cores: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--cores", str(cores), "--max-cycles", "20000000", "--check-replay"]
    command = [rubato_chip, *options, guest, *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("cores", [1, 4, 16, 64])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_check_passes_on_the_chip(
    application: str, graph: str, cores: int, rubato_chip: Path, guests: Path
) -> None:
    for task_type in ["mayspec", "nonspec", "spec"]:
        done = run(rubato_chip, guests / application, cores, "--generate", graph, "--type", task_type, "--verify")
        assert done.returncode == 0, done.stderr[-2000:]
        assert "check: passed" in done.stdout


@pytest.mark.parametrize("cores", [1, 16])
def test_color_by_degrees_passes_its_check(cores: int, rubato_chip: Path, guests: Path) -> None:
    for task_type in ["mayspec", "nonspec", "spec"]:
        arguments = ["--generate", "rmat:7:8", "--order", "degrees", "--type", task_type, "--verify"]
        done = run(rubato_chip, guests / "color", cores, *arguments)
        assert done.returncode == 0, done.stderr[-2000:]
        assert "check: passed" in done.stdout


def test_color_by_degrees_is_parallel_without_speculation(rubato_chip: Path, guests: Path) -> None:
    cycles = {}
    for order in ("turns", "degrees"):
        command = [rubato_chip, "--json", "--cores", "64", guests / "color", "--generate", "rmat:10:8"]
        done = subprocess.run([*command, "--order", order, "--type", "nonspec"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=True)  # fmt: skip
        cycles[order] = json.loads(done.stdout)["cycles"]
    assert cycles["degrees"] < cycles["turns"] / 3


def test_sssp_searches_from_several_vertices(rubato_chip: Path, guests: Path, build: Path) -> None:
    arguments = ["--generate", "rmat:7:8", "--searches", "3", "--verify"]
    on_chip = run(rubato_chip, guests / "sssp", 16, *arguments)
    assert on_chip.returncode == 0, on_chip.stderr[-2000:]
    serial = subprocess.run(
        [build / "bin" / "sssp-serial", *arguments], capture_output=True, text=True, check=True
    )
    assert on_chip.stdout == serial.stdout
    sources = [line for line in serial.stdout.splitlines() if line.startswith("source: ")]
    assert sources[0] == "source: 1"
    assert len(set(sources)) == 3
    assert serial.stdout.count("reached: ") == 3
    assert serial.stdout.endswith("check: passed\n")


@pytest.mark.parametrize(
    ("searches", "sentence"), [("0", "--searches"), ("200", "sssp: --searches 200: beside --source, only ")]
)
def test_sssp_refuses_no_search_and_more_than_there_are_vertices(searches: str, sentence: str, build: Path) -> None:
    command = [build / "bin" / "sssp-serial", "--generate", "rmat:7:8", "--searches", searches]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_malformed_graph_is_refused_with_file_and_line(application: str, build: Path, tmp_path: Path) -> None:
    graph = tmp_path / "bad.gr"
    graph.write_text("p sp 3 1\na 1 9 2\n")
    program = build / "bin" / f"{application}-serial"
    done = subprocess.run([program, "--graph", graph], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{graph}:2: " in done.stderr
