"""Miss rates, bandwidth and metrics of one's own: in Python, plans, tables, exports and reports."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

import rubato
from helpers import call
from rubato.cli import terminal
from rubato.results import columns, metrics
from test_parameters import data_of

EVICTIONS = '1000 * "tile.*.l2.misses" / tasks.committed'


def changed(run: rubato.Run, added: dict) -> rubato.Run:
    """The run with more statistics."""
    document = json.loads((run.directory / "stats.json").read_text())
    document["roi"] |= added
    (run.directory / "stats.json").write_text(json.dumps(document))
    return rubato.load(run.directory)


@pytest.fixture
def run(home) -> rubato.Run:
    """A run that has every statistic of the built-in metrics, over two tiles and two controllers."""
    made = rubato.run("sssp", cores=8, out="r")
    added = {"mem.0.reads": 700, "mem.1.reads": 300, "mem.0.writes": 24, "net.bytes.task": 4000, "net.bytes.abort": 96}
    for i in range(2):
        added |= {f"core.{i}.l1d.hits": 900, f"core.{i}.l1d.misses": 100}
        added |= {f"tile.{i}.l2.hits": 150, f"tile.{i}.l2.misses": 50}
        added |= {f"tile.{i}.llc.hits": 60, f"tile.{i}.llc.misses": 40}
    return changed(made, added)


def value(expression: str, run: rubato.Run) -> float | None:
    return metrics.values(*metrics.own({"m": expression}), [run])[0]


def test_built_in_metrics_are_sums_over_tiles_and_cores(run):
    s = run.summary
    (row,) = columns.measured([run])
    assert row == pytest.approx({
        "chip.ipc": s.instructions / s.cycles,
        "l1d.miss_rate": 0.1, "l1d.mpki": 200_000 / s.instructions,
        "l2.miss_rate": 0.25, "l2.mpki": 100_000 / s.instructions,
        "llc.miss_rate": 0.4, "llc.mpki": 80_000 / s.instructions,
        "memory.gb_per_second": 1024 * 64 / s.seconds / 1e9, "network.gb_per_second": 4096 / s.seconds / 1e9,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"tile.*.l2.misses"', 100), ('-"tile.0.l2.misses" + 2 ** 3', -42), ("max(2, sqrt(81), abs(-3))", 9),
        ("cores * chip.cores_per_tile", 32), ("l2.size / 1024", 256), ("l2.miss_rate * 4", 1),
        ("tasks.committed / (tasks.committed - tasks.committed)", None), ("log2(0)", None), ("sqrt(-1)", None),
        ("(0 - 8) ** 0.5", None),
    ],
)  # fmt: skip
def test_an_expression_has_statistics_numbers_of_the_summary_keys_and_metrics(run, expression, expected):
    assert value(expression, run) == (None if expected is None else pytest.approx(expected))


def test_a_histogram_is_its_mean(run):
    every = [v for p, v in run.stats.items() if p.endswith(".gvt_lag")]
    mean = sum(h.sum for h in every) / sum(h.samples for h in every)
    assert value('"tile.*.task_unit.gvt_lag"', run) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ('"tile.*.l2.hitz"', r"metric m: there is no statistic tile\.\*\.l2\.hitz\. Did you mean tile\.\*\.l2\.hits"),
        ("tasks.comitted", r"metric m: there is no tasks\.comitted\. Did you mean tasks\.committed"),
        ("tile.*.l2.hits", "metric m: tile.* cannot be read; names of statistics stand in quotes"),
        ("__import__('os')", "metric m: there is no function __import__"),
        ("[cycles]", r"metric m: an expression has no \[cycles\]"),
        ("cycles and 1", "metric m: an expression has no cycles and 1"),
        ("True", "metric m: an expression has no True"),
    ],
)
def test_an_expression_that_is_wrong_is_refused_in_a_sentence(run, expression, said):
    with pytest.raises(rubato.UsageError, match=said):
        value(expression, run)


def test_a_plan_names_metrics_that_frames_exports_and_reports_have(home, capsys):
    Path("plan.toml").write_text(
        'program = "sssp"\ncores = 4\nseeds = 2\n[set]\n"l2.size" = ["64KiB", "128KiB"]\n'
        f"[metrics]\nmisses_a_task = '{EVICTIONS}'\n"
    )
    assert call("sweep", "plan.toml", "--out", "s") == 0
    sweep = rubato.load("s")
    frame = sweep.frame({"busy": lambda r: 1 - r.summary.cycle_breakdown.idle, "half": "cycles / 2"})
    for row, run in zip(frame.iter_rows(named=True), sweep.runs, strict=True):
        misses = run.stats.total("tile.*.l2.misses")
        assert row["misses_a_task"] == pytest.approx(1000 * misses / run.summary.tasks.committed)
        assert row["half"] == run.summary.cycles / 2 and row["l2.mpki"] == 1000 * misses / run.summary.instructions
        assert row["busy"] == pytest.approx(1 - row["cycle_breakdown.idle"])
    assert frame.schema["l2.size"] == pl.Int64 and "l1d.mpki" not in frame.columns, "the stand-in has no L1s"
    capsys.readouterr()
    assert call("export", "s", "--metric", "half=cycles / 2") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(r["misses_a_task"]) for r in rows] == pytest.approx(frame["misses_a_task"].to_list())
    assert [float(r["half"]) for r in rows] == frame["half"].to_list()
    assert call("report", "s", "--metric", "half=cycles / 2") == 0
    text = Path("s/report.html").read_text()
    titles = [p["title"] for p in data_of(text)["panels"]["parameters-0"][0]["panels"]]
    assert titles[-2:] == ["misses_a_task", "half"] and "L2 MPKI" in titles
    assert "<th class=n>L2 miss rate</th>" in text and "<th class=n>misses_a_task</th>" in text


def test_a_metric_may_be_added_to_a_sweep_that_is_finished(home, capsys):
    plan = ("sweep", "--program", "sssp", "--cores", "4")
    assert call(*plan, "--out", "s") == 0
    before = (Path("s/sssp-c4/stats.json")).stat().st_mtime_ns
    assert call(*plan, "--out", "s", "--resume", "--metric", f"m={EVICTIONS}") == 0
    assert (Path("s/sssp-c4/stats.json")).stat().st_mtime_ns == before, "nothing ran again"
    assert rubato.load("s").frame()["m"].to_list() == [value(EVICTIONS, rubato.load("s/sssp-c4"))]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweep", "--program", "sssp", "--metric", "m=1 +"], "metric m: 1 + cannot be read"),
        (["sweep", "--program", "sssp", "--metric", "m"], "--metric takes NAME=EXPRESSION"),
        (["export", "r", "--metric", 'm="tile.*.l2.hitz"'], "metric m: there is no statistic tile.*.l2.hitz."),
        (["export", "r", "--metric", "cycles=1"], "there already is a column cycles"),
        (["export", "r", "--metric", "m=1", "--statistics"], "leave out --statistics"),
        (["report", "r", "--metric", "m=cycle"], "metric m: there is no cycle. Did you mean cycles"),
        (["export", "r", "--metric", "m=1", "--metric", "m=2"], "--metric m is given twice"),
    ],
)
def test_a_wrong_metric_ends_the_command_in_a_sentence(home, capsys, words, said):
    rubato.run("sssp", cores=4, out="r")
    assert call(*words) == 2
    assert said in capsys.readouterr().err


def test_two_plans_that_mean_different_things_by_a_name_are_told_apart(home, capsys):
    for name, expression in (("a", "cycles"), ("b", "seconds")):
        rubato.sweep({"program": "sssp", "cores": 4, "metrics": {"m": expression}}, out=f"two/{name}")
    assert call("export", "two") == 2
    assert "metric m is cycles in one plan and seconds in another" in capsys.readouterr().err
    assert call("export", "two", "--metric", "m=cores") == 0


def test_a_summary_has_cache_misses_and_bandwidth(run, capsys):
    rates = dict(terminal.rates(run))
    assert rates["cache misses"].startswith("L1D 10.0% (") and "LLC 40.0% (" in rates["cache misses"]
    assert "memory " in rates["bandwidth"] and "network " in rates["bandwidth"]
    assert call("run", "sssp", "--cores", "4", "--out", "other") == 0
    assert "cache misses  L2 " in capsys.readouterr().out


def test_runs_of_this_machine_have_no_metrics_of_the_chip(home):
    sweep = rubato.sweep({"program": "sssp", "engine": "native", "cores": 1, "metrics": {"m": "seconds * 2"}}, out="s")
    frame = sweep.frame()
    assert frame["m"].to_list() == [s * 2 for s in frame["seconds"]] and "chip.ipc" not in frame.columns


def test_numbers_of_a_key_stay_numbers_and_mixed_values_are_words(home):
    runs = [rubato.run("sssp", cores=4, out=f"r{i}") for i in range(2)]
    for run, values in zip(runs, ({"a": 1, "b": True, "c": 2}, {"a": 0.5, "b": "auto", "c": None}), strict=True):
        run.__dict__["configuration"] = values
    assert columns.settings(runs, "abc") == [{"a": 1.0, "b": "true", "c": 2}, {"a": 0.5, "b": "auto", "c": None}]
