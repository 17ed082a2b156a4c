"""Regions that programs mark, as an axis: grouped and charted by reports, and compared."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rubato
from helpers import call
from rubato import report
from rubato.results.run import Run
from rubato.results.summary import CYCLE_CLASSES, TRAFFIC_CLASSES

#: Cycles of the regions on one core; on several cores only `solve` is faster.
LOAD, SOLVE = 1000, 8000


def mark(run: Run, factor: float = 1.0) -> None:
    """Gives the run's program two regions."""
    cores = run.summary.cores
    regions = []
    for name, cycles in (("load", LOAD), ("solve", SOLVE // cores)):
        counters = [f"chip.core_cycles.{c}" for c in CYCLE_CLASSES] + [f"net.bytes.{c}" for c in TRAFFIC_CLASSES]
        values = dict.fromkeys(counters, 0)
        values |= {"chip.cycles": round(cycles * factor), "chip.instructions": 2 * cycles, "tasks.committed": 7}
        regions.append({"name": name, "times": 1, "functions": [], "values": values})
    file = run.directory / "stats.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"regions": regions}))


def marked(out: str, factor: float = 1.0, **more: object) -> None:
    plan = {"program": "sssp", "cores": [1, 4], "seeds": 2, "baseline": False}
    for run in rubato.sweep({**plan, **more}, out=out).runs:
        mark(run, factor)


def panels(directory: str) -> tuple[str, dict]:
    report.write([directory], Path("r.html"))
    page = Path("r.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    return page, data["panels"]


def test_a_report_draws_regions_over_what_was_varied_and_side_by_side(home):
    marked("s")
    page, drawn = panels("s")
    assert "Regions side by side" in page and 'id="by-region-0-panels"' in page
    cores, region = drawn["by-region-0"]
    assert (cores["axis"]["title"], region["axis"]["title"]) == ("cores", "region")
    assert [tick["label"] for tick in region["axis"]["ticks"]] == ["load", "solve"]
    time = next(p for p in cores["panels"] if p["title"] == "execution time")
    over = {line["name"]: [(p["x"], p["y"], p["n"]) for p in line["points"]] for line in time["lines"]}
    assert over == {"region=load": [(1, LOAD, 2), (4, LOAD, 2)], "region=solve": [(1, SOLVE, 2), (4, SOLVE / 4, 2)]}


def test_regions_are_grouped_by_each_key_of_a_sweep(home):
    marked("s", cores=4, set={"l2.size": ["64KiB", "1MiB"]})
    page, drawn = panels("s")
    assert [over["axis"]["title"] for over in drawn["by-region-0"]] == ["l2.size", "region"]
    rows = re.findall(r'id="by-region-0".*?<table.*?</table>', page, re.S)[0]
    assert rows.count("<td>solve</td>") == 2 and rows.count("64 KiB") == 2


def test_a_report_of_runs_without_regions_has_no_such_card(home):
    rubato.sweep({"program": "sssp", "cores": [1, 4], "baseline": False}, out="s")
    page, drawn = panels("s")
    assert "Regions side by side" not in page and "by-region-0" not in drawn


def test_two_runs_are_compared_by_region(home, capsys):
    for name, cores in (("a", 1), ("b", 4)):
        mark(rubato.run("sssp", cores=cores, out=name))
    assert call("compare", "a", "b", "--regions", "--json") == 0
    found = {r["name"]: r for r in json.loads(capsys.readouterr().out)["regions"]}
    assert found["load"]["cycles"] == [LOAD, LOAD] and found["load"]["times_faster"] == 1
    assert found["solve"]["cycles"] == [SOLVE, SOLVE // 4] and found["solve"]["times_faster"] == 4
    assert call("compare", "a", "b", "--regions", "--metric", "rate=instructions / cycles") == 0
    said = capsys.readouterr().out
    assert re.search(r"solve\s+8,000\s+2,000\s+4×\s+16,000\s+4,000\s+2\s+2", said), said


def test_two_sweeps_are_compared_by_point_and_region(home, capsys):
    marked("a")
    marked("b", factor=0.5)
    assert call("compare", "a", "b", "--regions", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["cores"], p["region"], p["faster"][0]) for p in found["points"]] == [
        (1, "load", 2), (1, "solve", 2), (4, "load", 2), (4, "solve", 2)]  # fmt: skip
    assert {name: mean[0] for name, mean in found["means"].items()} == pytest.approx(
        {"geometric mean of load": 2, "geometric mean of solve": 2})  # fmt: skip
    assert call("compare", "a", "b", "--regions") == 0
    assert "geometric mean of solve" in capsys.readouterr().out
    assert call("compare", "a", "b", "--json") == 0  # whole runs, as before
    assert len(json.loads(capsys.readouterr().out)["points"]) == 2


@pytest.mark.parametrize("make", [lambda out: rubato.run("sssp", cores=4, out=out),
                                  lambda out: rubato.sweep({"program": "sssp", "cores": 4}, out=out)])  # fmt: skip
def test_runs_that_mark_nothing_are_refused(make, home, capsys):
    make("a")
    make("b")
    assert call("compare", "a", "b", "--regions") == 2
    assert "no run has a region: programs mark them by rubato_region_begin()" in capsys.readouterr().err


def test_tables_of_further_runs_are_one_fold_with_one_link(home):
    marked("s", seeds=1, cores=[1, 4, 16])
    page, _ = panels("s")
    navigation = re.search(r"<nav.*?</nav>", page)[0]
    assert re.findall(r'href="#(regions-[^"]*)">([^<]*)<', navigation) == [
        ("regions-0", "Regions"), ("regions-0-others", "Regions of 2 other runs")]  # fmt: skip
    fold = re.search(r'<details class="workload" id="regions-0-others">.*?</details>', page, re.S)[0]
    assert 'id="regions-1"' in fold and 'id="regions-2"' in fold and 'id="regions-0"' not in fold
    mark_one = rubato.run("sssp", cores=4, out="one")
    mark(mark_one)
    assert "-others" not in panels("one")[0]
