"""Several programs in one report: a panel each on one scale, and their geometric mean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import re
from pathlib import Path

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
