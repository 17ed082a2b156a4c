"""Readability of reports: no colours that look alike, no labels beyond the edge, no tables that say nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import browser
import rubato
from rubato import report
from rubato.cli import terminal
from rubato.report import aborts, inside
from rubato.report.comparison import said
from rubato.report.markup import stacked
from rubato.results.intervals import Interval
from rubato.results.summary import CYCLE_CLASSES, TRAFFIC_CLASSES, CycleBreakdown
from test_parameters import data_of

needs_browser = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.DRIVER), reason="needs chromium and chromedriver (apt install chromium-driver)"
)


def test_a_ratio_has_the_digits_that_its_interval_leaves():
    assert said(Interval(1.0, 0.959, 1.041, 3)) == "1.000× ± 0.041"
    assert said(Interval(12.84, 4.2, 21.4, 3)) == "12.8× ± 8.6"
    assert said(Interval(120.3, 98.0, 142.0, 3)) == "120× ± 22" and said(Interval(2.0, None, None, 1)) == "2×"


def test_a_time_series_of_very_many_samples_becomes_means(home):
    run = rubato.run("sssp", cores=4)
    values = list(range(5_003))
    document = {"interval": 1, "cycles": [v + 1 for v in values], "series": {"tasks.committed": values}}
    (run.directory / "series.json").write_text(json.dumps(document))
    (shown,) = inside.series(run)
    assert len(shown["cycles"]) == len(shown["values"]) == 5_003 // 9
    assert shown["values"][:2] == [4.0, 13.0] and shown["cycles"][:2] == [9, 18]


@pytest.mark.parametrize("symbols", [["", ""], ["table+0x40", ""]])
def test_lines_of_memory_without_a_name_have_no_column_for_it(home, symbols):
    run = rubato.run("sssp", cores=16, mode="spec")
    document = run.stats_document
    for line, symbol in zip(document["conflicts"]["lines"], symbols, strict=True):
        line["symbol"] = symbol or line["line"]
        line["lost_cycles"] = 1
    (run.directory / "stats.json").write_text(json.dumps(document))
    text = aborts.section(0, report.gather([run.directory]).workloads[0])
    assert ("<th>symbol</th>" in text) == any(symbols)
    assert "None stands out" in text and text.count("0x9bc40") == 1


def test_neighbours_in_a_bar_differ_in_more_than_colour(home):
    rubato.sweep({"program": "sssp", "cores": [1, 16], "mode": ["spec", "nonspec"]}, out="study")
    report.write(["study"], Path("r.html"))
    data = data_of(Path("r.html").read_text())
    charts = [c for w in data["workloads"] for c in (w["cycles"], w["traffic"], w["parts"], w["aborts"]) if c]
    charts += [c for m in data["modes"] for c in (m["time"], m["traffic"])]
    assert len(charts) > 5
    for chart in charts:
        patterns = [p["pattern"] for p in chart["parts"]]
        assert all(a != b for a, b in zip(patterns, patterns[1:], strict=False))
        assert len(patterns) > 7 or len(set(patterns)) == len(patterns)
    assert [p["pattern"] for p in stacked(dict.fromkeys("abcdefgh", ""), "{}")] == [0, 1, 2, 3, 4, 5, 6, 0]


@pytest.fixture
def several(home) -> Path:
    """Two programs with long command lines, in one report."""
    arguments = ["--generate", "road:300x300", "--source", "45151", "--output", "a-rather-long-name-of-a-file.txt"]
    for cores in (1, 16):
        rubato.run("sssp", cores=cores, arguments=arguments, out=f"study/a{cores}")
        rubato.run("sssp", cores=cores, arguments=[*arguments, "--again"], out=f"study/b{cores}")
    report.write(["study"], Path("r.html"))
    return Path("r.html")


def test_each_workload_is_named_once_and_folds(several):
    text = several.read_text()
    assert text.count('<details class="workload"') == 2
    assert text.count('<details class="workload" id="workload-0" open') == 1
    assert text.count("<h2>sssp --generate road:300x300") == 2, "not over every card"
    assert text.count('<a href="#workload-') == 2 and '<a href="#cycles-0"' not in text


def test_a_native_run_without_keys_does_not_say_what_runs_share(home):
    run = rubato.run("sssp", engine="native", cores=2)
    manifest = (run.directory / "run.toml").read_text()
    (run.directory / "run.toml").write_text(manifest.partition("[config")[0])
    report.write([run.directory], Path("r.html"))
    assert "What all runs share" not in Path("r.html").read_text()


@needs_browser
def test_nothing_leaves_the_page_on_narrow_screens_and_folds_open_by_their_links(several):
    with browser.Browser() as page:
        for width in (320, 390, 1400):
            page.size(width, 800)
            page.load(several)
            page.run("for (const d of document.querySelectorAll('details')) d.open = true")
            page.run("window.dispatchEvent(new Event('resize')); redrawAll()")
            assert page.run("return document.documentElement.scrollWidth") <= width
            beyond = page.run(
                "return [...document.querySelectorAll('.chart text')].filter(t => { const c = t.closest('section');"
                "return c && t.getBoundingClientRect().right > c.getBoundingClientRect().right + 1; })"
                ".map(t => t.textContent)"
            )
            assert beyond == [], width
        page.load(several)
        assert page.run("return document.getElementById('workload-1').open") is False
        page.run("location.hash = '#workload-1'; unfold()")
        assert page.run("return document.getElementById('workload-1').open") is True
        over = "#cycles-chart-1 rect[fill^='url(#fill-']"
        overlays = page.run(f'redrawAll(); return document.querySelectorAll("{over}").length')
        assert overlays > 4 and page.run("return document.querySelectorAll('pattern').length") == 7
        assert [e["message"] for e in page.log("browser")] == []


def test_cycles_that_the_throttle_held_back_are_not_shown_as_no_task(home, capsys):
    run = rubato.run("sssp", cores=16, mode="mayspec")
    document = json.loads((run.directory / "summary.json").read_text())
    document |= {"cycles": 1000, "cycle_breakdown": {"nonspeculative": 0.25, "committed": 0.25, "idle": 0.5}}
    document["tasks"]["held_back"] = 2000  # of 16,000 core cycles
    (run.directory / "summary.json").write_text(json.dumps(document))
    report.write([run.directory], Path("r.html"))
    page = Path("r.html").read_text()
    (workload,) = data_of(page)["workloads"]
    (row,) = workload["cycles"]["groups"][0]["rows"]
    assert (row["fractions"]["idle"], row["fractions"]["held_back"]) == (0.375, 0.125)
    assert (row["amounts"]["idle"], row["amounts"]["held_back"]) == (6000, 2000)
    assert {"key": "held_back", "name": "held back (throttle)"}.items() <= workload["cycles"]["parts"][-1].items()
    assert page.count("--held_back: #") == page.count("--idle: #") > 0
    assert "<b>Held back</b> cores" in page
    again = rubato.load(run.directory)
    assert "no task 37.5%, held back (throttle) 12.5%" in again._repr_html_()
    capsys.readouterr()
    terminal.out.print(terminal.summary(again.summary, "r"))
    assert re.search(r"no task +\S* +37\.5 ?%(.|\n)*held back \(throttle\) +\S* +12\.5 ?%", capsys.readouterr().out)


def test_no_more_is_held_back_than_had_no_task_and_nothing_where_nothing_was_simulated(home):
    summary = rubato.run("sssp", cores=16).summary
    breakdown = CycleBreakdown(nonspeculative=0.9, idle=0.1)
    tasks = summary.tasks.model_copy(update={"held_back": 16 * summary.cycles})
    shares = summary.model_copy(update={"cycle_breakdown": breakdown, "tasks": tasks}).cycle_shares
    assert (shares["idle"], shares["held_back"]) == (0, 0.1) and sum(shares.values()) == pytest.approx(1)
    nothing = summary.model_copy(update={"cycle_breakdown": None, "cycles": None, "tasks": tasks})
    assert set(nothing.cycle_shares.values()) == {0}


def test_regions_show_what_was_held_back(home):
    run = rubato.run("sssp", cores=16)
    values = {f"chip.core_cycles.{c}": 0 for c in CYCLE_CLASSES}
    values |= {"chip.core_cycles.nonspeculative": 600, "chip.core_cycles.idle": 400, "tasks.held_back": 300}
    values |= {"chip.cycles": 100, "chip.instructions": 50, "tasks.committed": 7}
    values |= {f"net.bytes.{c}": 0 for c in TRAFFIC_CLASSES}
    region = {"name": "middle", "times": 1, "functions": [], "values": values}
    file = run.directory / "stats.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"regions": [region]}))
    report.write([run.directory], Path("r.html"))
    (rows,) = re.findall(r'id="regions-0".*?<table.*?</table>', Path("r.html").read_text(), re.S)
    head, cells = (re.findall(rf"<{tag}(?: [^>]*)?>([^<]*)</{tag}>", rows) for tag in ("th", "td"))
    shown = dict(zip(head, cells, strict=True))
    assert (shown["no task"], shown["held back (throttle)"]) == ("10.0 %", "30.0 %")
