"""What a reader of a report stumbled over: colours that look alike, labels beyond the edge, tables that say nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path

import pytest

import browser
import rubato
from rubato import report
from rubato.report import aborts, inside
from rubato.report.comparison import said
from rubato.report.markup import stacked
from rubato.results.intervals import Interval
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
