"""Several programs in one report: a panel each on one scale, and their geometric mean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import browser
import rubato
from rubato import report
from test_parameters import data_of

needs_browser = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.DRIVER), reason="needs chromium and chromedriver (apt install chromium-driver)"
)


@pytest.fixture
def three(home) -> Path:
    """Three programs on three sizes of chip, two modes, two seeds; one of them not on the largest."""
    for name in ("alpha", "beta"):
        Path(name).write_bytes((home / "guest/sssp").read_bytes() + name.encode())
    plan = {"mode": ["spec", "nonspec"], "seeds": 2, "baseline": False}
    rubato.sweep({**plan, "program": ["sssp", "./alpha"], "cores": [1, 4, 16]}, out="study/all")
    rubato.sweep({**plan, "program": "./beta", "cores": [1, 4]}, out="study/less")
    return Path("study")


def means(directory: Path, program: str) -> dict[tuple[str, int], float]:
    found: dict[tuple[str, int], list[int]] = {}
    for run in report.gather([directory]).runs:
        if run.summary.name == program:
            found.setdefault((f"mode={run.summary.mode}", run.summary.cores), []).append(run.summary.cycles)
    return {k: sum(v) / len(v) for k, v in found.items()}


def test_each_program_is_a_panel_relative_to_its_own_first_point(three):
    report.write([three], Path("r.html"))
    (cores, modes) = data_of(Path("r.html").read_text())["panels"]["programs-chip"]
    assert (cores["axis"]["title"], modes["axis"]["title"]) == ("cores", "mode") and cores["shared"]
    assert [p["title"].split()[0] for p in cores["panels"]] == ["alpha", "sssp", "beta", "geometric"]
    for panel in cores["panels"][:3]:
        cycles = means(three, panel["title"].split()[0])
        first = cores["panels"][0]["lines"][0]["name"]
        for line in panel["lines"]:
            for p in line["points"]:
                assert p["y"] == pytest.approx(cycles[first, 1] / cycles[line["name"], p["x"]])


def test_the_last_panel_is_the_geometric_mean_of_what_all_programs_have(three):
    report.write([three], Path("r.html"))
    (cores, _) = data_of(Path("r.html").read_text())["panels"]["programs-chip"]
    *programs, mean = cores["panels"]
    for line in mean["lines"]:
        assert [p["x"] for p in line["points"]] == [1, 4], "one program did not run on 16 cores"
        for p in line["points"]:
            of = [q["y"] for panel in programs for s in panel["lines"] for q in s["points"]
                  if s["name"] == line["name"] and q["x"] == p["x"]]  # fmt: skip
            assert len(of) == 3 and p["y"] == pytest.approx(math.prod(of) ** (1 / 3))
            assert p["low"] is None if p["y"] == 1 else p["low"] < p["y"] < p["high"]


def test_one_program_has_nothing_beside_it(home):
    rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="study")
    report.write(["study"], Path("r.html"))
    text = Path("r.html").read_text()
    assert data_of(text)["panels"] == {} and "Programs side by side" not in text


@needs_browser
def test_the_browser_draws_all_programs_on_one_scale(three):
    report.write([three], Path("r.html"))
    with browser.Browser() as page:
        page.size(1200, 900)
        page.load(Path("r.html"))
        drawn = page.run(
            "return [...document.querySelectorAll('#programs-chip-panels .chart')].map(c => "
            "[c.querySelectorAll('path.line').length, [...c.querySelectorAll('text')].map(t => t.textContent)])"
        )
        assert [lines for lines, _ in drawn] == [2, 2, 2, 2]
        scales = [tuple(t for t in texts if re.fullmatch(r"[\d.]+×", t)) for _, texts in drawn]
        assert len(set(scales)) == 1 and len(scales[0]) > 2
        assert [e["message"] for e in page.log("browser")] == []


def test_bars_have_every_point_relative_to_each_base_that_all_programs_have(three):
    report.write([three], Path("r.html"))
    text = Path("r.html").read_text()
    bars = data_of(text)["bars"]["programs-chip"]
    *names, last = (name.split()[0] for name in bars["groups"])
    assert sorted(names) == ["alpha", "beta", "sssp"] and last == "geometric"
    assert bars["points"] == [f"{c} core{'s' * (c > 1)}, mode={m}" for c in (1, 4, 16) for m in ("spec", "nonspec")]
    assert [bars["points"][b] for b in bars["bases"]] == bars["points"][:4], "one program did not run on 16 cores"
    at = [(f"mode={m}", c) for c in (1, 4, 16) for m in ("spec", "nonspec")]
    for base, ratios in zip(bars["bases"], bars["ratios"], strict=True):
        *programs, mean = ratios
        for name, row in zip(names, programs, strict=True):
            cycles = means(three, name)
            for place, entry in zip(at, row, strict=True):
                assert (entry is None) == (place not in cycles)
                assert entry is None or entry[0] == pytest.approx(cycles[at[base]] / cycles[place], rel=1e-5)
        assert mean[4:] == [None, None]
        for i, entry in enumerate(mean[:4]):
            of = [row[i][0] for row in programs]
            assert entry[0] == pytest.approx(math.prod(of) ** (1 / 3), rel=1e-5)
            assert (entry[1] is None) == (i == base)
    card = re.search(r'<section class="card" id="programs-chip">.*?</section>', text, re.S)[0]
    assert re.search(r"<th>point</th>(<th class=n>[^<]+</th>){3}<th class=n>geometric mean</th>", card)
    assert card.count("<tr>") == 1 + 6, "points are rows"


def test_sets_of_bars_are_all_points_and_those_along_one_axis(three):
    report.write([three], Path("r.html"))
    bars = data_of(Path("r.html").read_text())["bars"]["programs-chip"]
    assert [s["title"] for s in bars["sets"]] == [
        "all 6 points", "cores at mode=spec", "cores at mode=nonspec", "mode at cores=1", "mode at cores=4",
        "mode at cores=16",
    ]  # fmt: skip
    assert [s["points"] for s in bars["sets"]] == [[0, 1, 2, 3, 4, 5], [0, 2, 4], [1, 3, 5], [0, 1], [2, 3], [4, 5]]


def test_programs_without_a_common_axis_of_lines_still_have_bars(home):
    Path("alpha").write_bytes((home / "guest/sssp").read_bytes() + b"alpha")
    for name, cores in (("sssp", [1, 4]), ("./alpha", [4, 16])):
        rubato.sweep({"program": name, "cores": cores, "baseline": False}, out=f"s/{Path(name).name}")
    report.write(["s"], Path("r.html"))
    data = data_of(Path("r.html").read_text())
    bars = data["bars"]["programs-chip"]
    assert [bars["points"][b] for b in bars["bases"]] == ["4 cores"] and data["panels"] == {}


def test_each_program_has_one_sentence_on_top(three, monkeypatch):
    monkeypatch.setattr(rubato.Run, "conclusion", property(lambda run: f"{run.summary.cores} % of {run.summary.name}."))
    report.write([three], Path("r.html"))
    said = re.search(r'<ul class="conclusion">.*?</ul>', Path("r.html").read_text(), re.S)[0]
    assert sorted(re.findall(r"</b> ([^<]*)</li>", said)) == ["16 % of alpha.", "16 % of sssp.", "4 % of beta."]


def test_sentences_of_one_program_differ_in_more_than_numbers(home, monkeypatch):
    rubato.sweep({"program": "sssp", "cores": [4, 16, 64], "baseline": False}, out="s")
    words = {4: "5 % wait.", 16: "70 % wait.", 64: "20 % run."}
    monkeypatch.setattr(rubato.Run, "conclusion", property(lambda run: words[run.summary.cores]))
    report.write(["s"], Path("r.html"))
    said = re.search(r'<ul class="conclusion">.*?</ul>', Path("r.html").read_text(), re.S)[0]
    assert re.findall(r"</b> ([^<]*)</li>", said) == ["20 % run.", "70 % wait."]


@needs_browser
def test_the_browser_draws_bars_relative_to_the_chosen_point_and_saves_them(three):
    report.write([three], Path("r.html"))
    with browser.Browser() as page:
        page.size(1200, 900)
        page.load(Path("r.html"))
        chart = "document.querySelector('#programs-chip-bars-chart svg')"

        def choose(**values: int | str) -> None:
            for name, value in values.items():
                page.run(f"const s = document.getElementById('programs-chip-bars-{name}'); s.value = '{value}';"
                         "s.dispatchEvent(new Event('change'))")  # fmt: skip

        def heights() -> list[float]:
            return page.run(f"return [...{chart}.querySelectorAll('.bar')].map(b => Number(b.getAttribute('height')))")

        first = heights()
        assert len(first) == 3 * 6 - 2 + 4, "a bar a point in each group, where the group has it"
        bars = data_of(Path("r.html").read_text())["bars"]["programs-chip"]
        values = [e[0] for row in bars["ratios"][0] for e in row if e]
        assert [h / first[0] for h in first] == pytest.approx([v / values[0] for v in values], rel=1e-3)
        choose(base=2, measure="time")
        times = [1 / e[0] for row in bars["ratios"][2] for e in row if e]
        assert [h / heights()[0] for h in heights()] == pytest.approx([t / times[0] for t in times], rel=1e-3)
        choose(points=1, scale="near")
        assert len(heights()) == 3 * 3 - 1 + 2
        choose(scale="log")
        saved = page.run(f"return standalone({chart})")
        assert page.run("return [...document.querySelectorAll('.chart')].every(c => c.querySelector('button.save'))")
        assert [e["message"] for e in page.log("browser")] == []
    root = ElementTree.fromstring(saved)
    svg = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in root.iter(f"{svg}text")]
    assert "var(" not in saved and "class=" not in saved, "a file that needs no page"
    assert {"geometric mean", "1 core, mode=spec", "time relative to 4 cores, mode=spec"} <= set(texts)
    used = {e.get("fill") for e in root.iter(f"{svg}rect") if e.get("fill", "").startswith("url(")}
    assert used == {f"url(#{p.get('id')})" for p in root.iter(f"{svg}pattern")} != set()
