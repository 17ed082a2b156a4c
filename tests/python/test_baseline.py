"""The serial code beside its tasks, seeds that are samples, and one definition of speed-up wherever it is said."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import browser
import rubato
from helpers import call
from rubato import report
from rubato.results.intervals import ratio
from rubato.sweeping.plan import Plan
from test_report import data_of, needs_browser

PLAN = {"program": "sssp", "cores": [1, 16, 64], "mode": ["nonspec", "mayspec"], "seeds": 3}


@pytest.fixture
def serial_home(own_home, monkeypatch) -> Path:
    """Its application has serial code."""
    monkeypatch.setenv("COLUMNS", "160")
    file = own_home / "apps/sssp/app.toml"
    file.write_text('serial_arguments = ["--serial"]\n' + file.read_text())
    return own_home


def names(plan: Plan) -> list[str]:
    return [p.name for p in plan.points()]


def test_a_study_of_cores_runs_the_serial_code_once_a_seed_on_the_smallest_chip(serial_home):
    points = Plan(**PLAN, trace=True, commit_order=True).points()
    serial = [p for p in points if p.spec.serial]
    assert [p.name for p in serial] == ["sssp-c1-serial-s1", "sssp-c1-serial-s2", "sssp-c1-serial-s3"]
    assert len(points) == 3 + 3 * 2 * 3
    for p in serial:
        assert p.spec.program_arguments() == ["--verify", "--serial"] and p.spec.mode is None
        assert not p.spec.trace and not p.spec.commit_order, "there are no tasks to trace"


def test_the_serial_code_is_left_out_where_nobody_asks_for_speed_up(serial_home):
    one_size = {"program": "sssp", "cores": [64], "set": {"l2.size": ["64KiB", "1MiB"]}}
    assert not any("serial" in n for n in names(Plan(**one_size)))
    assert sum("serial" in n for n in names(Plan(**one_size, baseline=True))) == 2
    assert not any("serial" in n for n in names(Plan(**PLAN, baseline=False)))
    assert not any("serial" in n for n in names(Plan(program="sssp", cores=[1, 4], roi="visit")))
    assert names(Plan(program="sssp", cores=[1, 4], arguments="--serial")) == ["sssp-c1", "sssp-c4"]


def test_a_baseline_that_does_not_exist_is_refused_with_a_sentence(home, capsys):
    assert call("sweep", "--program", "sssp", "--cores", "1,4", "--baseline") == 2
    assert "no serial code is known of sssp" in capsys.readouterr().err
    with pytest.raises(rubato.UsageError, match="sssp has no serial code that Rubato knows of"):
        rubato.run("sssp", serial=True)


def test_resumed_sweeps_keep_serial_runs(serial_home, capsys):
    options = ["sweep", "--program", "sssp", "--cores", "1,4", "--mode", "nonspec", "--out", "s"]
    assert call(*options) == 0
    assert re.search(r"sssp +1 +serial ", capsys.readouterr().out)
    before = Path("s/sssp-c1-serial/summary.json").stat().st_mtime_ns
    assert call(*options, "--resume") == 0
    assert Path("s/sssp-c1-serial/summary.json").stat().st_mtime_ns == before
    assert call("sweep", "--resume", "--out", "s", "--no-baseline") == 0
    assert "2 runs" in capsys.readouterr().out and Path("s/sssp-c1-serial").exists()


def test_curve_table_and_headline_say_the_same_speed_up_and_over_what(serial_home):
    rubato.sweep(PLAN, out="s")
    found = report.write(["s"], Path("r.html"))
    page = Path("r.html").read_text()
    (w,) = found.workloads
    assert [s.name for s in w.tasks] == ["nonspec", "mayspec"], "the serial code is no mode"
    chart = data_of(page)["workloads"][0]["speedup"]
    serial = [r.summary.cycles for r in found.runs if r.summary.mode == "serial"]
    assert len(serial) == 3

    def cycles(mode: str, cores: int) -> list[int]:
        return [r.summary.cycles for r in found.runs if (r.summary.mode, r.summary.cores) == (mode, cores)]

    name, reference = w.reference
    for base, curves in ((cycles(name, 1), chart), (serial, chart["serial"])):
        for curve in curves["series"]:
            for p in curve["points"]:
                wanted = ratio(base, cycles(curve["name"], p["x"]))
                assert p["y"] == pytest.approx(wanted.mean)
                if (curve["name"], p["x"]) == (name, 1) and curves is chart:
                    continue  # the reference itself
                assert (p["low"], p["high"]) == pytest.approx((wanted.low, wanted.high))
                assert f"<td class=n>{wanted.mean:.2f}×</td>" in page, "the table says it, too"
    assert chart["line"] == pytest.approx(ratio(cycles(name, 1), serial).mean)
    assert chart["serial"]["line"] == 1
    best = ratio(serial, cycles("mayspec", 64)).mean
    over_one = ratio(cycles(name, 1), cycles("mayspec", 64)).mean
    said = f"best speed-up over serial code: mayspec, 64 cores; {over_one:.3g}× over the same tasks on 1 core ({name})"
    assert f'<div class="value">{best:.3g}×</div><div class="label">{said}</div>' in page


def test_the_best_speed_up_over_serial_code_may_be_that_of_the_smallest_chip(serial_home):
    rubato.sweep(PLAN | {"seeds": 1}, out="s")
    for file in Path("s").glob("*/summary.json"):
        if "-c1-" not in str(file):  # more cores are slower
            document = json.loads(file.read_text())
            document["cycles"] *= 100
            file.write_text(json.dumps(document))
    found = report.write(["s"], Path("r.html"))
    (w,) = found.workloads
    name, reference = w.reference
    best = reference.speedup_over(w.serial).mean
    assert all(p.speedup_over(w.serial).mean <= best for s in w.tasks for p in s.points)
    said = f"best speed-up over serial code: {name}, 1 core; more cores are no faster"
    assert f'<div class="value">{best:.3g}×</div><div class="label">{said}</div>' in Path("r.html").read_text()


def test_without_serial_code_the_headline_says_that_it_is_over_one_core(home):
    rubato.sweep(PLAN, out="s")
    report.write(["s"], Path("r.html"))
    page = Path("r.html").read_text()
    assert re.search(r"best speed-up over the same tasks on 1 core \(\w+\): mayspec, 64 cores", page)
    assert data_of(page)["workloads"][0]["speedup"]["serial"] is None and ">over serial code<" not in page


def test_a_report_says_what_a_chip_of_one_core_lacks_and_the_step_of_regions(serial_home):
    rubato.sweep(PLAN | {"seeds": 1}, out="s")
    for file in Path("s").glob("*/run.toml"):
        is_one = "-c1-" in str(file)
        text = re.sub(r"(?m)^size = 262144$", f"size = {65536 if is_one else 262144}", file.read_text())
        file.write_text(text + "\n[config.arbiter]\nperiod = 200\n")
    for file in Path("s").glob("*-c1-*/summary.json"):
        document = json.loads(file.read_text())
        document["cycle_breakdown"] = {"nonspeculative": 0.67, "spill": 0.33}
        file.write_text(json.dumps(document))
    report.write(["s"], Path("r.html"))
    page = Path("r.html").read_text()
    assert "has 64 KiB of L2 where a tile of the largest has 256 KiB, and it spends 33% of its time on spilling" in page
    assert "differences below <code>arbiter.period</code> (200 cycles)" in page


def test_several_seeds_perturb_memory_unless_the_plan_or_the_chip_says_otherwise(home):
    assert {p.spec.set["chip.perturb"] for p in Plan(**PLAN).points()} == {3}
    assert all(p.spec.set == {} for p in Plan(**PLAN | {"seeds": 1}).points()), "single runs stay as they are"
    assert {p.spec.set["chip.perturb"] for p in Plan(**PLAN, set={"chip.perturb": [0]}).points()} == {0}
    Path("steady.toml").write_text("[chip]\nperturb = 0\n")
    assert all(p.spec.set == {} for p in Plan(**PLAN, config="steady.toml").points())
    assert all(p.spec.set == {} for p in Plan(program="sssp", engine="native", cores=[1, 2], seeds=2).points())
    assert all(n.count("perturb") == 0 for n in names(Plan(**PLAN)))


def test_where_all_seeds_agree_that_is_said_instead_of_an_interval(home, capsys):
    rubato.sweep({"program": "sssp", "cores": [1, 4], "mode": "nonspec", "seeds": 3}, out="s")
    for file in Path("s").glob("*-c4-*/summary.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"cycles": 14_412}))
    assert call("sweep", "--resume", "--out", "s") == 0
    assert re.search(r"14,412 +the seed had no effect", capsys.readouterr().out)
    report.write(["s"], Path("r.html"))
    page = Path("r.html").read_text()
    assert "<td class=n>the seed had no effect</td>" in page and "0.0%" not in page.split("Configuration")[0]
    (curve,) = data_of(page)["workloads"][0]["speedup"]["series"]
    assert [p["steady"] for p in curve["points"]] == [False, True]


def test_a_small_interval_is_not_said_to_be_none():
    from rubato.results.intervals import interval, relative_spread

    assert relative_spread(interval([100_000, 100_003])) == "< 0.1%"
    assert relative_spread(interval([5, 5])) == "the seed had no effect" and relative_spread(interval([5]), "–") == "–"


def write_native(out: str, seconds: dict[int, list[float]]) -> None:
    """Runs on this machine that took these times."""
    for cores, samples in seconds.items():
        for seed, time in enumerate(samples, 1):
            run = rubato.run("sssp", engine="native", cores=cores, seed=seed, out=f"{out}/c{cores}-s{seed}")
            file = run.directory / "summary.json"
            file.write_text(json.dumps(json.loads(file.read_text()) | {"seconds": time}))


def test_a_speed_up_is_never_negative_however_far_two_times_are_apart(home):
    write_native("s", {1: [0.002, 0.0021], 2: [0.002, 0.006]})
    report.write(["s"], Path("r.html"))
    page = Path("r.html").read_text()
    point = data_of(page)["workloads"][0]["speedup"]["series"][0]["points"][1]
    assert point["y"] == pytest.approx(0.00205 / 0.004) and f"<td class=n>{point['y']:.2f}×</td>" in page
    assert 0 < point["low"] < point["y"] < point["high"] and math.isfinite(point["high"])


@needs_browser
def test_the_chart_stands_intervals_of_any_width_and_both_references(serial_home):
    rubato.sweep(PLAN, out="s")
    write_native("wide", {1: [0.002, 0.0021], 2: [0.002, 0.2]})
    report.write(["s", "wide"], Path("r.html"))
    text = Path("r.html").read_text()
    data = data_of(text)
    wide = next(i for i, w in enumerate(data["workloads"]) if w["cycles"] is None)
    points = data["workloads"][wide]["speedup"]["series"][0]["points"]
    points[1] |= {"low": -3.2, "high": 1e300}  # not even a wrong interval may break the chart
    serialized = json.dumps(data).replace("<", "\\u003c")
    start = text.index('id="data">') + len('id="data">')
    Path("broken.html").write_text(text[:start] + serialized + text[text.index("</script>", start) :])
    with browser.Browser() as page:
        page.size(1200, 900)
        for file in ("r.html", "broken.html"):
            page.load(Path(file))
            for linear in ("", "1"):
                page.run(f"document.querySelector('[data-speedup=\"{wide}\"][data-linear=\"{linear}\"]').click()")
                drawn = page.run(f"return document.getElementById('speedup-chart-{wide}').innerHTML")
                assert "NaN" not in drawn and "Infinity" not in drawn and "h8M" in drawn
            axis = page.run(
                f"return [...document.querySelectorAll('#speedup-chart-{wide} text')].filter(t => "
                "t.textContent.endsWith('×')).length"
            )
            assert axis <= 10, "the axis is of the points, not of their intervals"
        page.load(Path("r.html"))
        chart = "document.getElementById('speedup-chart-0')"
        assert page.run(f"return {chart}.querySelectorAll('line.serial').length") == 1
        before = page.run(f"return {chart}.innerHTML")
        page.run("document.querySelector('[data-base=\"0\"][data-serial=\"1\"]').click()")
        after = page.run(f"return {chart}.innerHTML")
        assert after != before and "serial code" in after
        assert [e["message"] for e in page.log("browser")] == []


def test_a_small_speed_up_is_not_said_to_be_none():
    from rubato.report.cards import _times

    assert [_times(ratio) for ratio in (0.000541, 0.0999, 0.1, 1.268, 12)] == [
        "0.00054×", "0.1×", "0.10×", "1.27×", "12.00×"]  # fmt: skip
