"""Errors of applications about their command lines and inputs: in the order in which it was written, and in full."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def run(build: Path, application: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [build / "bin" / f"{application}-serial", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_unexpected_arguments_are_named_in_their_order(build: Path) -> None:
    done = run(build, "des", "--circuit", "in/ok.bench", "more")
    assert (done.returncode, done.stderr) == (2, "des: not expected: --circuit in/ok.bench more\n")


def test_too_many_vectors_are_refused_with_the_range(build: Path) -> None:
    done = run(build, "des", "--vectors", "99999999999")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "--vectors" in done.stderr and "99999999999" in done.stderr and "4294967295" in done.stderr


def test_the_sum_of_distances_may_exceed_64_bits(build: Path, tmp_path: Path) -> None:
    length, arcs = 2**32 - 1, 100_000
    chain = tmp_path / "chain.txt"
    chain.write_text("".join(f"{v} {v + 1} {length}\n" for v in range(arcs)))
    done = run(build, "sssp", "--graph", chain)
    assert done.returncode == 0, done.stderr
    total = length * arcs * (arcs + 1) // 2
    assert total > 2**64 and f"sum of distances: {total}\n" in done.stdout
    assert f"largest distance: {length * arcs}\n" in done.stdout


@pytest.mark.parametrize(("edges", "is_noted"), [("1 2\n2 3\n", True), ("0 1\n1 2\n", False), ("1 2\n2 0\n", False)])
def test_an_edge_list_that_counts_from_1_is_noted(edges: str, is_noted: bool, build: Path, tmp_path: Path) -> None:
    graph = tmp_path / "edges.txt"
    graph.write_text(edges)
    done = run(build, "sssp", "--graph", graph, "--verify")
    assert done.returncode == 0
    assert ("names vertex 0" in done.stderr and "--source 1" in done.stderr) == is_noted, done.stderr
    assert is_noted or done.stderr == ""
