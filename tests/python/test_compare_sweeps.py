"""`rubato compare` of two sweeps: times faster by point, geometric means, and what else differs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import rubato
from helpers import call


@pytest.fixture
def two(home) -> None:
    """The same points on two chips; the second has one more number of cores."""
    Path("other").write_bytes((home / "guest/sssp").read_bytes())
    plan = {"program": ["sssp", "./other"], "mode": ["spec", "nonspec"], "seeds": 2, "baseline": False}
    rubato.sweep(plan | {"cores": [1, 4], "set": {"l2.latency": 7}}, out="a")
    rubato.sweep(plan | {"cores": [1, 4, 16], "set": {"l2.latency": 20}}, out="b")


def times(directory: str) -> dict[tuple, float]:
    found: dict[tuple, list[int]] = {}
    for run in rubato.load(directory).runs:
        found.setdefault((run.summary.name, run.summary.cores, run.summary.mode), []).append(run.summary.cycles)
    return {k: sum(v) / len(v) for k, v in found.items()}


def test_points_are_compared_with_themselves_and_the_rest_is_counted(two, capsys):
    assert call("compare", "a", "b", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    before, after = times("a"), times("b")
    assert len(found["points"]) == 8 and (found["only_before"], found["only_after"]) == (0, 4)
    for p in found["points"]:
        key = p["program"].split()[0], p["cores"], p["mode"]
        assert p["faster"][0] == pytest.approx(before[key] / after[key]) and p["faster"][1] < p["faster"][2]
    assert [c["key"] for c in found["configuration"]] == ["l2.latency"]
    of = {k: before[k] / after[k] for k in before}
    assert found["means"]["geometric mean"][0] == pytest.approx(math.prod(of.values()) ** (1 / 8))
    other = [v for k, v in of.items() if k[0] == "other"]
    assert found["means"]["geometric mean of other"][0] == pytest.approx(math.prod(other) ** (1 / 4))


def test_the_table_names_points_and_means(two, capsys):
    assert call("compare", "a", "b") == 0
    out = capsys.readouterr().out
    assert "geometric mean of sssp" in out and "b has 4 points that the other has not." in out
    assert "l2.latency" in out and out.count("×") == 8 + 3


def test_a_metric_is_compared_by_point(two, capsys):
    assert call("compare", "a", "b", "--metric", "double=2 * cycles", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (metric,) = found["metrics"]
    assert metric["name"] == "double"
    for point, (before, after) in zip(found["points"], metric["points"], strict=True):
        assert before[0] == 2 * point["before"][0] and after[0] == 2 * point["after"][0]
    assert call("compare", "a", "b", "--metric", "double=2 * cycles") == 0
    assert "double before" in capsys.readouterr().out
    assert call("compare", "a", "b", "--metric", "none=no_such_thing") == 2
    assert "metric none" in capsys.readouterr().err


def test_sweeps_without_a_common_point_are_refused_in_a_sentence(home, capsys):
    for out, cores in (("a", 1), ("b", 4)):
        rubato.sweep({"program": "sssp", "cores": cores}, out=out)
    assert call("compare", "a", "b") == 2
    assert "a and b have no point in common" in capsys.readouterr().err
    rubato.run("sssp", cores=1, out="r")
    assert call("compare", "a", "r") == 2
    assert "a is not a run directory" in capsys.readouterr().err
