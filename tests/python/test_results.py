"""`rubato.load`: statistics by path, frames, series; intervals; comparing; configuration and applications."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import rubato
from helpers import call
from rubato.results.compare import compare
from rubato.results.intervals import geometric_mean, interval, ratio, t_quantile
from rubato.results.run import Histogram, Stats, pattern_of
from rubato.suggest import near_misses


def test_statistics_are_found_by_path_and_by_pattern(home):
    stats = rubato.run("sssp", cores=16).stats
    tiles = [stats[f"tile.{t}.l2.hits"] for t in range(4)]
    assert stats.total("tile.*.l2.hits") == sum(tiles)
    assert stats.matching("tile.*.l2.hits").keys() == {f"tile.{t}.l2.hits" for t in range(4)}
    assert stats.total("tile.*.hits", optional=True) == 0, "a star stands for one part of a path"
    assert stats.describe("tile.3.l2.hits")["unit"] == "accesses"
    with pytest.raises(KeyError, match="Did you mean tile.1.l2.hits"):
        stats["tile.1.l2.hit"]


def test_a_statistic_that_is_not_there_is_no_silent_zero(home):
    run = rubato.run("sssp", cores=16, interval=100_000)
    stats = run.stats
    for look_up in (stats.total, stats.matching, stats.histogram, stats.describe, stats.whole_run.total):
        with pytest.raises(KeyError, match=r"no statistic tile\.\*\.l2\.hitz\. Did you mean tile\.\*\.l2\.hits"):
            look_up("tile.*.l2.hitz")
    with pytest.raises(KeyError, match=r"Did you mean tile\.1\.l2\.hits"):
        stats.describe("tile.1.l2.hit")
    with pytest.raises(KeyError, match=r"there is no time series tasks\.commited\. Did you mean tasks\.committed"):
        run.series("tasks.commited")
    assert stats.matching("tile.*.l2.hitz", optional=True) == {}
    assert stats.histogram("tile.*.l2.hitz", optional=True) is None
    assert run.series("tasks.*").height > 0


def test_a_ratio_without_a_value_is_declared_and_sums_to_nothing():
    stats = Stats({"stats": {"tile.*.ratio": {"unit": "", "description": ""}}, "roi": {"chip.cycles": 3}})
    assert stats.total("tile.*.ratio") == 0


def test_histograms_add_up_over_tiles(home):
    stats = rubato.run("sssp", cores=16).stats
    one = stats["tile.0.task_unit.gvt_lag"]
    assert isinstance(one, Histogram) and one.mean == one.sum / one.samples
    all_tiles = stats.histogram("tile.*.task_unit.gvt_lag")
    assert all_tiles.samples == 4 * one.samples
    assert all_tiles.buckets == tuple(4 * b for b in one.buckets)


def test_frame_has_a_row_a_statistic_with_unit_and_index(home):
    import polars as pl

    run = rubato.run("sssp", cores=16)
    frame = run.frame()
    assert frame.height == len(run.stats)
    row = frame.row(by_predicate=pl.col("path") == "tile.2.l2.hits", named=True)
    assert (row["pattern"], row["index"], row["unit"]) == ("tile.*.l2.hits", 2, "accesses")
    assert row["value"] == run.stats["tile.2.l2.hits"]
    assert run.frame("run").height == len(run.stats.whole_run)


def test_series_has_a_column_a_statistic_and_says_when_there_is_none(home):
    run = rubato.run("sssp", cores=16, interval=100_000)
    assert run.series().columns == ["cycle", "tasks.committed", "task_unit.queued"]
    assert run.series("tasks.*").columns == ["cycle", "tasks.committed"]
    with pytest.raises(rubato.UsageError, match="--interval"):
        rubato.run("sssp", cores=16).series()


def test_pattern_replaces_only_whole_numbers_between_dots():
    assert pattern_of("tile.12.l2.hits") == "tile.*.l2.hits"
    assert pattern_of("core.3.cycles.l1") == "core.*.cycles.l1"
    assert pattern_of("chip.core_cycles.idle") == "chip.core_cycles.idle"


def test_load_refuses_what_is_no_run(home):
    Path("empty").mkdir()
    with pytest.raises(rubato.UsageError, match="not a run directory"):
        rubato.load("empty")
    with pytest.raises(rubato.UsageError, match="not a directory"):
        rubato.load("missing")


def test_arguments_may_be_one_string_as_in_plans(home):
    run = rubato.run("sssp", cores=4, arguments="--generate 'road:10x10' --source 3")
    assert run.arguments[:4] == ["--generate", "road:10x10", "--source", "3"]
    with pytest.raises(rubato.UsageError, match="run\\(\\): arguments: no closing quotation"):
        rubato.run("sssp", arguments="--graph 'a b")


def test_load_gives_a_sweep_where_there_is_one(home):
    made = rubato.sweep({"program": "sssp", "cores": [4, 16]}, out="study")
    loaded = rubato.load("study")
    assert isinstance(loaded, rubato.Sweep) and len(loaded.runs) == 2
    assert repr(loaded) == repr(made) == "<Sweep 'study': 2 finished>"
    assert repr(loaded.runs[0].stats) == f"<Stats: {len(loaded.runs[0].stats)} statistics>"
    assert loaded.frame()["program"].to_list() == ["sssp", "sssp"], "as --json names it"
    assert isinstance(rubato.load(loaded.runs[0].directory), rubato.Run)


def test_a_sweep_without_finished_runs_has_a_frame_with_the_usual_columns(home):
    some = rubato.sweep({"program": "sssp", "cores": 4}, out="some").frame()
    none = rubato.sweep({"program": "sssp", "cores": 4, "arguments": "--fail-check"}, out="none").frame()
    assert none.height == 0
    assert set(some.columns) - set(none.columns) <= {c for c in some.columns if "." in c}
    assert {"name", "program", "cores", "cycles"} <= set(none.columns)


def test_a_ratio_counts_the_spread_of_both_sides():
    exact = ratio([200.0, 200.0, 200.0], [100.0, 100.0, 100.0])
    assert exact == (pytest.approx(2), exact.mean, exact.mean, 3)
    one = ratio([190.0, 200.0, 210.0], [100.0, 100.0, 100.0])
    # The logarithm's standard error is 10 / sqrt(3) / 200, of two degrees of freedom.
    assert one.mean == pytest.approx(2)
    assert one.high == pytest.approx(2 * math.exp(4.303 * 10 / math.sqrt(3) / 200))
    both = ratio([190.0, 200.0, 210.0], [95.0, 100.0, 105.0])
    # Twice the variance, of four degrees of freedom.
    assert both.high == pytest.approx(2 * math.exp(2.776 * math.sqrt(2) * 10 / math.sqrt(3) / 200))
    assert both.low * both.high == pytest.approx(both.mean**2)
    assert ratio([3.0], [2.0]) == (pytest.approx(1.5), None, None, 1), "one seed has no interval"


def test_a_geometric_mean_is_surer_than_its_ratios():
    pair = ([190.0, 200.0, 210.0], [95.0, 100.0, 105.0])
    four = geometric_mean([pair, pair, ([50.0] * 3, [100.0] * 3), ([50.0] * 3, [100.0] * 3)])
    assert four.mean == pytest.approx(1)
    assert 1 < four.high < ratio(*pair).high / 2
    with pytest.raises(ValueError, match="no ratios"):
        geometric_mean([])


def test_intervals_are_students_t():
    # 2, 4, 6: mean 4, deviation 2, half width 4.303 * 2 / sqrt(3).
    i = interval([2, 4, 6])
    assert i.mean == 4
    assert i.half_width == pytest.approx(4.303 * 2 / math.sqrt(3), rel=1e-4)
    assert interval([5]) == (5, None, None, 1)
    assert t_quantile(1) == 12.706 and t_quantile(30) == 2.042
    assert t_quantile(31) == pytest.approx(2.0395, abs=2e-4)
    assert t_quantile(120) == pytest.approx(1.9799, abs=2e-4)


def test_comparing_a_run_with_its_repetition_finds_nothing(home, capsys):
    a, b = rubato.run("sssp", cores=16), rubato.run("sssp", cores=16)
    assert compare(a, b).is_identical
    assert call("compare", str(a.directory), str(b.directory)) == 0
    assert "identical" in capsys.readouterr().out


def test_comparing_shows_changed_keys_first_and_statistics_by_size_of_change(home, capsys):
    a, b = rubato.run("sssp", cores=16), rubato.run("sssp", cores=16, set={"l2.size": 1024})
    found = compare(a, b)
    assert [c.key for c in found.configuration] == ["l2.size"]
    sizes = [abs(c.change) for c in found.statistics]
    assert sizes == sorted(sizes, reverse=True) and sizes
    assert call("compare", str(a.directory), str(b.directory), "--json") == 0
    assert json.loads(capsys.readouterr().out)["configuration"][0]["key"] == "l2.size"


def test_comparing_shows_metrics_and_those_of_ones_own_also_if_they_are_equal(home, capsys):
    a, b = rubato.run("sssp", cores=16), rubato.run("sssp", cores=16, set={"l2.size": 1024})
    where = str(a.directory), str(b.directory)
    assert call("compare", *where, "--json", "--metric", "half=cycles / 2", "--metric", "three=1 + 2") == 0
    found = {m["name"]: (m["before"], m["after"]) for m in json.loads(capsys.readouterr().out)["metrics"]}
    assert found["half"] == (a.summary.cycles / 2, b.summary.cycles / 2)
    assert found["three"] == (3, 3)
    assert all(before != after for name, (before, after) in found.items() if name != "three")
    assert call("compare", *where, "--metric", "half=cycles / 2") == 0
    assert "half" in capsys.readouterr().out
    assert call("compare", where[0], where[0], "--metric", "three=1 + 2") == 0
    assert "three" in capsys.readouterr().out
    assert call("compare", *where, "--metric", "none=no_such_thing") == 2
    assert "metric none" in capsys.readouterr().err


def test_comparing_an_unfinished_run_says_that_it_is_one(home, capsys):
    a, b = rubato.run("sssp", cores=16, out="a"), rubato.run("sssp", cores=16, out="b")
    assert call("compare", "a", "b") == 0 and capsys.readouterr().err == ""
    (a.directory / "incomplete").write_text("interrupted\n")
    assert call("compare", "a", "b") == 0
    assert capsys.readouterr().err == "note: a is incomplete: its numbers are those of the part that ran.\n"
    assert b.complete


def test_config_explain_names_meaning_unit_range_and_default(home, capsys):
    assert call("config", "explain", "l2.latency") == 0
    text = capsys.readouterr().out
    for words in ("Tag and data access", "cycles", "1 to 1,000", "7"):
        assert words in text
    assert call("config", "explain", "l2") == 0
    assert "l2.size" in capsys.readouterr().out
    assert call("config", "explain", "l3.size") == 2
    assert "Did you mean" in capsys.readouterr().err


def test_config_check_passes_on_the_simulators_words(home, capsys):
    Path("bad.toml").write_text("[l2]\n\nsizze = 3\n")
    assert call("config", "check", "bad.toml") == 2
    assert "bad.toml:3: there is no key l2.sizze" in capsys.readouterr().err
    assert call("config", "check", "small") == 0


def test_config_show_is_toml(home, capsys):
    from rubato.toml import tomllib

    assert call("config", "show", "--set", "l2.latency=9") == 0
    assert tomllib.loads(capsys.readouterr().out)["l2"]["latency"] == 9


def test_apps_lists_and_explains(home, capsys):
    assert call("apps") == 0
    assert "Shortest paths" in capsys.readouterr().out
    assert call("apps", "sssp") == 0
    text = capsys.readouterr().out
    assert "--graph FILE" in text and "Listing 1" in text
    assert call("apps", "sspp") == 2
    assert "Did you mean sssp?" in capsys.readouterr().err


def test_near_misses_prefer_spelling_and_know_path_tails():
    assert near_misses("l2.sise", ["l1d.size", "l2.size", "net.straight"])[0] == "l2.size"
    assert "llc.ways" in near_misses("l3.ways", ["llc.ways", "chip.cores"])
    assert near_misses("zebra", ["l2.size"]) == []
