"""Charts over whatever was swept: which axes there are, what their lines say, and how the browser draws them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import browser
import rubato
from rubato import report
from rubato.report.axes import Axis, axes
from rubato.results.intervals import interval
from rubato.results.run import Run

needs_browser = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.DRIVER), reason="needs chromium and chromedriver (apt install chromium-driver)"
)

SIZES = [65536, 262144, 1048576]


@pytest.fixture(scope="session")
def made_once(shared_home, tmp_path_factory) -> Path:
    """A number with powers of two, one without, and words, on two numbers of cores, three seeds."""
    directory = tmp_path_factory.mktemp("made") / "study"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUBATO_HOME", str(shared_home))
        settings = {"l2.size": SIZES, "net.contention": ["true", "false"]}
        rubato.sweep(
            {"program": "sssp", "cores": [4, 16], "seeds": 3, "set": settings, "baseline": False}, out=directory
        )
    return directory


@pytest.fixture
def swept(made_once, home) -> Path:
    Path("study").symlink_to(made_once)
    return Path("study")


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def panels(directory: Path) -> dict:
    report.write([directory], Path("r.html"))
    return data_of(Path("r.html").read_text())["panels"]


def test_every_swept_key_is_an_axis_with_a_line_for_each_combination_of_the_others(swept):
    over = {a["axis"]["title"]: a for a in panels(swept)["parameters-0"]}
    assert list(over) == ["l2.size", "net.contention", "cores"]
    l2 = over["l2.size"]
    assert l2["axis"]["kind"] == "log2"
    assert l2["axis"]["ticks"] == [
        {"at": 65536, "label": "64 KiB"}, {"at": 262144, "label": "256 KiB"}, {"at": 1048576, "label": "1 MiB"},
    ]  # fmt: skip
    time = l2["panels"][0]
    assert {line["name"] for line in time["lines"]} == {
        f"net.contention={c}, cores={n}" for c in ("true", "false") for n in (4, 16)
    }
    assert over["net.contention"]["axis"]["kind"] == "words"
    assert len(over["net.contention"]["panels"][0]["lines"]) == 6, "of three sizes on two chips"


def test_a_point_is_the_mean_over_seeds_with_its_interval(swept):
    (l2, *_) = panels(swept)["parameters-0"]
    (line,) = [s for s in l2["panels"][0]["lines"] if s["name"] == "net.contention=true, cores=16"]
    runs = [
        r for r in rubato.load(swept).runs
        if (r.summary.cores, r.configuration["l2.size"], r.configuration["net.contention"]) == (16, 262144, "true")
    ]  # fmt: skip
    wanted = interval([r.summary.cycles for r in runs])
    (point,) = [p for p in line["points"] if p["x"] == 262144]
    assert (point["y"], point["low"], point["high"]) == pytest.approx(wanted[:3]) and point["n"] == 3


def test_panels_are_time_traffic_and_what_a_miss_waits(swept):
    (l2, *_) = panels(swept)["parameters-0"]
    assert [(p["title"], p["unit"]) for p in l2["panels"]] == [
        ("execution time", "cycles"), ("network traffic", "flit-hops"),
        ("wait of an L2 miss", "cycles"), ("aborted tasks", "tasks"), ("L2 MPKI", ""),
    ]  # fmt: skip
    (line,) = [s for s in l2["panels"][2]["lines"] if s["name"] == "net.contention=false, cores=4"]
    (point,) = [p for p in line["points"] if p["x"] == 65536]
    waits = []
    for run in rubato.load(swept).runs:
        if run.directory.name.startswith("sssp-c4-l2.size=65536-net.contention=false"):
            beyond = re.compile(r"chip\.core_cycles\.\w+\.(llc|memory|network)")
            cycles = sum(v for p, v in run.stats.items() if beyond.fullmatch(p))
            waits.append(cycles / run.stats["tile.0.l2.misses"])
    assert len(waits) == 3 and point["y"] == pytest.approx(sum(waits) / 3)


def test_the_numbers_are_also_a_table(swept):
    report.write([swept], Path("r.html"))
    card = re.search(r'<section class="card" id="parameters-0">.*?</section>', Path("r.html").read_text(), re.S)[0]
    assert card.count("<tr>") == 1 + 3 * 2 * 2
    assert "<td>256 KiB</td><td>true</td><td>16</td><td class=n>3</td>" in card


def test_a_study_of_cores_and_modes_alone_has_no_such_card(home):
    rubato.sweep({"program": "sssp", "cores": [1, 4], "mode": ["spec", "nonspec"]}, out="study")
    assert panels(Path("study")) == {}


def test_powers_of_two_are_logarithmic_and_words_are_words():
    def kind(*values):
        return Axis("k.k", "k.k", values).kind

    assert kind(1, 2, 16) == "log2" and kind(60, 120, 240) == "linear" and kind(1, 10, 100, 1000) == "log"
    assert kind("mesi", "flask") == "words" and kind(True, False) == "words" and kind(0, 8) == "linear"
    assert kind(64, "auto") == "words" and Axis("k", "k", (64, "auto")).position("auto") == 1


class _Configured(Run):
    """A run with no more than a configuration."""

    def __init__(self, cores: int, **configuration):
        super().__init__(Path("none"))
        self.configuration = {k.replace("__", "."): v for k, v in configuration.items()}
        self.manifest = {}
        self.summary = rubato.Summary(program="p", cores=cores)


def test_words_are_in_the_order_of_the_plan():
    runs = [_Configured(4, coherence__protocol=p) for p in ("flask", "mesi", "sparse")]
    (axis,) = axes(runs, {"coherence.protocol": ["mesi", "sparse", "flask"]})
    assert axis.values == ("mesi", "sparse", "flask")


def test_keys_that_follow_others_are_no_axes_unless_the_plan_names_them():
    runs = [
        _Configured(cores, chip__mesh_width=cores // per, chip__cores_per_tile=per, l2__ways=per)
        for cores in (4, 16) for per in (1, 2)
    ]  # fmt: skip
    assert [a.key for a in axes(runs, {"chip.cores_per_tile": ["1", "2"]})] == ["chip.cores_per_tile", "cores"]
    assert [a.key for a in axes(runs, {})] == ["chip.mesh_width", "cores"], "one of those that change together"


@needs_browser
def test_the_browser_draws_the_panels_and_changes_the_axis(swept):
    report.write([swept], Path("r.html"))
    with browser.Browser() as page:
        page.size(1200, 900)
        page.load(Path("r.html"))

        def drawn() -> list:
            return page.run(
                "return [...document.querySelectorAll('#parameters-0-panels .chart')].map(c => "
                "[c.querySelectorAll('path.line').length, c.querySelectorAll('.whisker').length,"
                " [...c.querySelectorAll('text')].map(t => t.textContent)])"
            )

        first = drawn()
        assert [(lines, whiskers) for lines, whiskers, _ in first] == [(4, 12)] * len(first) and len(first) == 5
        assert {"64 KiB", "256 KiB", "1 MiB", "l2.size"} <= set(first[0][2])
        assert page.run("return document.querySelectorAll('#parameters-0-legend svg').length") == 4
        page.run("const s = document.getElementById('parameters-0-axis'); s.value = 1;"
                 "s.dispatchEvent(new Event('change'))")  # fmt: skip
        second = drawn()
        assert [(lines, whiskers) for lines, whiskers, _ in second] == [(0, 12)] * 5, "no lines between words"
        assert {"true", "false", "net.contention"} <= set(second[0][2])
        # Neither colour alone nor mark alone: every line differs from all others without its colour.
        shapes = page.run(
            "return [...document.querySelectorAll('#parameters-0-legend svg')].map(s => {"
            "const c = s.cloneNode(true); c.querySelectorAll('[style]').forEach(n => n.removeAttribute('style'));"
            "return c.innerHTML; })"
        )
        assert len(set(shapes)) == 6
        page.size(320, 700)
        assert page.run("return document.documentElement.scrollWidth") <= 320
        assert [e["message"] for e in page.log("browser")] == []
