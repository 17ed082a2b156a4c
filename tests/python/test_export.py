"""Results as CSV, Parquet, pandas data frames and tables of a notebook."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import sys
from importlib import resources
from pathlib import Path

import polars as pl
import pytest

import rubato
from helpers import call
from rubato.home import locate
from rubato.results import export


@pytest.fixture
def study(home) -> rubato.Sweep:
    settings = {"l2.size": [65536, 262144], "net.contention": ["true", "false"]}
    return rubato.sweep({"program": "sssp", "cores": 4, "seeds": 2, "set": settings}, out="study")


def test_csv_has_a_row_a_run_with_what_differs_and_its_numbers(study, capsys):
    assert call("export", "study") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 8
    by_directory = {r["directory"]: r for r in rows}
    for run in study.runs:
        row = by_directory[str(run.directory)]
        assert int(row["cycles"]) == run.summary.cycles and float(row["cycle_breakdown.idle"]) == pytest.approx(
            run.summary.cycle_breakdown.idle
        )
        assert (row["program"], row["seed"]) == ("sssp", str(run.summary.seed))
        assert int(row["l2.size"]) == run.configuration["l2.size"]
        assert row["net.contention"] == run.configuration["net.contention"]
    assert "l1d.size" not in rows[0], "the same in all"


def test_parquet_says_the_same_as_csv_and_keeps_types(study, capsys):
    assert call("export", "study", "--out", "tables/study.parquet") == 0
    assert capsys.readouterr().out.startswith("tables/study.parquet: 8 runs, 8 rows of ")
    frame = pl.read_parquet("tables/study.parquet")
    assert frame.schema["cycles"] == pl.Int64 and frame.schema["l2.size"] == pl.Int64
    assert call("export", "study", "--out", "study.csv") == 0
    assert Path("study.csv").read_text() == export.csv(frame)


def test_statistics_are_rows_with_their_run(study):
    assert call("export", "study", "--statistics", "--out", "s.parquet") == 0
    frame = pl.read_parquet("s.parquet")
    run = study.runs[0]
    of_run = frame.filter(pl.col("directory") == str(run.directory)).drop("directory")
    assert of_run.equals(run.frame()) and frame.height == sum(len(r.stats) for r in study.runs)
    row = frame.filter(pl.col("path") == "tile.0.task_unit.occupancy").row(0, named=True)
    assert " ".join(map(str, row["buckets"])) in export.csv(frame.head(2000)), "lists are words in CSV"


def test_incomplete_runs_are_left_out_with_a_note_and_nothing_is_refused(study, capsys):
    (study.runs[0].directory / "incomplete").write_text("interrupted.\n")
    assert call("export", "study") == 0
    out = capsys.readouterr()
    assert out.err == "note: 1 incomplete run left out.\n" and len(out.out.splitlines()) == 8
    Path("study2/r").mkdir(parents=True)
    Path("study2/r/incomplete").write_text("interrupted.\n")
    assert call("export", "study2") == 2
    assert "there is no complete run in study2." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["study.xlsx", "study"])
def test_another_format_is_refused_in_a_sentence(study, capsys, name):
    assert call("export", "study", "--out", name) == 2
    assert f"a table is written as .csv or .parquet, not {name}." in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_without_pandas_a_sentence_says_what_to_install(study, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    for results in (study, study.runs[0]):
        with pytest.raises(rubato.UsageError, match=r"needs pandas and pyarrow .*pip install 'rubato\[pandas\]'"):
            results.to_pandas()


def test_pandas_has_the_same_rows(study):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = study.to_pandas()
    assert list(frame["cycles"]) == [r.summary.cycles for r in study.runs]
    assert len(study.runs[0].to_pandas()) == len(study.runs[0].stats)


def test_a_notebook_shows_a_run_with_its_numbers(study):
    run = study.runs[0]
    shown = run._repr_html_()
    assert f"{run.summary.cycles:,}" in shown and str(run.directory) in shown and "passed" in shown
    (run.directory / "summary.json").write_text("{")
    assert "cannot be read" in rubato.load(run.directory)._repr_html_()


def test_a_notebook_shows_a_sweep_by_points_with_intervals(study):
    from rubato.results.intervals import interval

    shown = study._repr_html_()
    assert shown.count("<tr>") == 1 + 4, "two seeds a point"
    cycles = [r.summary.cycles for r in study.runs if "l2.size=65536-net.contention=true" in r.directory.name]
    assert f"<td class=n>2</td><td class=n>{interval(cycles).mean:,.0f}</td>" in shown
    rubato.run("sssp", cores=1, out="evil", arguments=["<script>"])
    assert "<script>" not in rubato.load("evil")._repr_html_()


def test_a_sweep_with_failures_says_so_in_a_notebook(home):
    failed = rubato.sweep({"program": "sssp", "cores": 4, "arguments": ["--fail-check"]}, out="failed")
    assert "0 runs, 1 failed" in failed._repr_html_()


def test_types_are_for_type_checkers_too():
    assert (resources.files("rubato") / "py.typed").is_file()
    project = (locate.PACKAGE.parents[1] / "pyproject.toml").read_text()
    assert '"py.typed"' in project, "so that an installed package has it"
