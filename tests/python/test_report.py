"""The report in a real browser: charts are drawn, nothing is asked of the network, nothing overflows a phone."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import browser
import rubato
from helpers import call
from rubato import report
from rubato.names import short_name
from rubato.report.study import plain, study
from rubato.results.threads import Place

needs_browser = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.DRIVER), reason="needs chromium and chromedriver (apt install chromium-driver)"
)


@pytest.fixture(scope="session")
def made_once(shared_home, tmp_path_factory) -> Path:
    """Three modes, three sizes, three seeds, two failed points, traces and time series."""
    directory = tmp_path_factory.mktemp("made") / "study"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUBATO_HOME", str(shared_home))
        modes = ["nonspec", "mayspec", "spec"]
        plan = {"program": "sssp", "cores": [1, 16, 64], "mode": modes, "seeds": 3, "interval": 50_000}
        rubato.sweep(plan, out=directory)
        rubato.run("sssp", cores=256, mode="mayspec", seed=1, trace=True, interval=50_000, out=directory / "traced")
        rubato.run("sssp", cores=16, arguments=["--fail-check"], check=False, out=directory / "broken")
    (directory / "killed").mkdir()
    (directory / "killed/incomplete").write_text("interrupted\n")
    return directory


@pytest.fixture
def small_study(made_once, home) -> Path:
    Path("study").symlink_to(made_once)
    return Path("study")


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def test_points_are_ordered_by_mode_cores_and_seed(small_study):
    found = report.gather([small_study])
    assert {f.name for f in found.failures} == {"broken", "killed"}
    (workload,) = found.workloads
    curves = {s.name: [(p.cores, len(p.runs)) for p in s.points] for s in workload.series}
    three = [(1, 3), (16, 3), (64, 3)]
    assert curves == {"spec": three, "nonspec": three, "mayspec": [*three, (256, 1)]}
    assert list(curves) == ["spec", "nonspec", "mayspec"], "in this order wherever they are shown"


def test_speed_up_is_reference_cycles_over_cycles_with_its_interval(small_study):
    from rubato.results.intervals import ratio

    found = report.gather([small_study])
    report.write([small_study], Path("r.html"))
    curve = data_of(Path("r.html").read_text())["workloads"][0]["speedup"]
    base = min(
        ([r.summary.cycles for r in found.runs if (r.summary.cores, r.summary.mode) == (1, mode)]
         for mode in ("nonspec", "mayspec", "spec")), key=sum,
    )  # fmt: skip
    cycles = [r.summary.cycles for r in found.runs if (r.summary.cores, r.summary.mode) == (64, "mayspec")]
    wanted = ratio(base, cycles)
    points = {s["name"]: {p["x"]: p for p in s["points"]} for s in curve["series"]}
    point = points["mayspec"][64]
    assert (point["y"], point["low"], point["high"]) == pytest.approx((wanted.mean, wanted.low, wanted.high))
    assert points["mayspec"][256]["low"] is None, "one seed has no interval"


@pytest.mark.parametrize(
    "file, content",
    [
        ("summary.json", '{"program": "ss'), ("summary.json", '{"cores": 1}'), ("summary.json", "\0\xff"),
        ("stats.json", '{"roi": {"chip.cy'), ("stats.json", '{"roi": [1]}'), ("stats.json", None),
        ("run.toml", "version ="), ("run.toml", None),
    ],
)  # fmt: skip
def test_a_damaged_run_is_left_out_with_a_sentence(home, capsys, file, content):
    for name in ("good", "bad"):
        rubato.run("sssp", cores=2, out=f"runs/{name}")
    damaged = Path("runs/bad") / file
    damaged.unlink() if content is None else damaged.write_bytes(content.encode("latin-1"))
    assert call("report", "runs", "--out", "r.html") == 0
    out = capsys.readouterr()
    assert out.err.startswith(f"note: bad is left out: runs/bad/{file}") and out.err.count("\n") == 1
    assert "r.html: 1 run, 1 failed" in out.out
    page = Path("r.html").read_text()
    assert f"runs/bad/{file}" in page and "1 of 2" in page
    assert call("report", "runs/bad", "--out", "bad.html") == 2, "there is nothing else to draw"
    assert f"runs/bad/{file}" in capsys.readouterr().err and not Path("bad.html").exists()


def test_keys_that_follow_the_cores_make_no_curves_of_their_own(home):
    runs = [rubato.run("sssp", cores=c, set={"l2.size": s}, seed=1) for c in (1, 4) for s in (1024, 2048)]
    found = study(runs)
    assert found.varied == ["l2.size"]
    assert [s.name for s in found.workloads[0].series] == ["mayspec, l2.size=1 KiB", "mayspec, l2.size=2 KiB"]
    assert study([runs[0], runs[3]]).varied == [], "at each number of cores there is one value"


def test_only_runs_with_another_seed_are_further_samples(own_home, capsys):
    for out in ("runs/a", "runs/b"):
        rubato.run("sssp", cores=2, seed=1, out=out)
    rubato.run("sssp", cores=2, seed=2, out="runs/c")
    with (own_home / "guest/sssp").open("ab") as changed:
        changed.write(b"\n# another\n")
    rubato.run("sssp", cores=2, seed=1, out="runs/d")
    assert call("report", "runs", "--out", "r.html") == 0
    assert "note: runs/b is left out: it repeats runs/a, with the same seed." in capsys.readouterr().err
    found = report.gather(["runs"])
    samples = [[r.directory.name for r in s.points[0].runs] for s in found.workloads[0].series]
    assert samples == [["a", "c"], ["d"]] and found.workloads[0].series[0].variation.startswith("program ")


def test_sweeps_that_were_set_aside_are_drawn_only_if_they_are_asked_for(own_home):
    plan = {"program": "sssp", "cores": [1]}
    rubato.sweep(plan, out="study/s")
    with (own_home / "guest/sssp").open("ab") as changed:
        changed.write(b"\n# another\n")
    with pytest.warns(UserWarning, match="s.before-1"):
        rubato.sweep(plan, out="study/s", resume=True)
    assert [r.directory for r in report.gather(["study"]).runs] == [Path("study/s/sssp-c1")]
    assert [r.directory for r in report.gather(["study/s.before-1"]).runs] == [Path("study/s.before-1/sssp-c1")]


def test_a_run_without_time_is_left_out_with_the_reason(home):
    for name in ("good", "serial"):
        rubato.run("sssp", cores=2, out=f"runs/{name}", seed=len(name))
    file = Path("runs/serial/summary.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"cycles": 0}))
    assert call("report", "runs", "--out", "r.html") == 0
    assert "nothing ran in the region of interest" in Path("r.html").read_text()


def test_values_are_written_as_people_write_them():
    assert plain("run.warm", True) == "true" and plain("core.predictor_entries", 2048) == "2048"
    assert plain("l2.size", 65536) == "64 KiB" and plain("l2.size", 3 << 20) == "3 MiB" and plain("l2.size", 0) == "0"
    assert plain("run.stack_bytes", 1000) == "1000"


def test_function_names_are_shortened_to_what_a_reader_knows_them_by():
    full = "void rubato::apps::(anonymous namespace)::visit<(rubato::v0::TaskType)2>(rubato::apps::Vertex*)"
    assert short_name(full) == "visit"
    assert short_name("visit(Vertex*)") == "visit" and short_name("main") == "main"
    assert short_name("(no task)") == "(no task)"
    for short in ("lambda of visit", "visit", "visit (2)"):
        assert short_name(short) == short, "as traces have them"
    assert short_name("operator new(unsigned long)") == "new"
    assert short_name("0x1234+0x10") == "0x1234+0x10"
    call = "apps::threads(Graph const&)::{lambda(Team::Member&)#1}::operator()(Team::Member&) const"
    assert short_name(call) == "lambda of threads" and str(Place(call, "t.cpp:7")) == "lambda of threads (t.cpp:7)"
    assert short_name("main::{lambda(unsigned long)#1}") == "lambda of main"
    line = "app::visit<(rubato::v0::TaskType)2>(Line*)::{lambda(app::Arc const*, unsigned long)#1}"
    piece = f"rubato::v0::engine::split_range<(rubato::v0::TaskType)2, {line}, app::Arc const*>(app::Arc const*)"
    assert short_name(piece + "::{lambda(app::Arc const*, app::Arc const*)#1}") == "lambda of visit"


def test_the_file_is_whole_and_names_no_outside_resource(small_study, capsys):
    assert call("report", "study", "--out", "deep/er/r.html") == 0
    said = capsys.readouterr()
    assert "2 failed" in said.out
    assert said.err == "note: there was no folder deep/er; it was made.\n"
    assert call("report", "study", "--out", "deep/er/r.html") == 0 and not capsys.readouterr().err
    page = Path("deep/er/r.html").read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert not re.findall(r"url\((?!data:|#)|@import", page)
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert len(page) < 1_500_000
    assert not list(Path("deep/er").glob("*.part"))


def test_text_from_runs_cannot_become_markup(home):
    run = rubato.run("sssp", cores=4, arguments=["--source", "</script><b>x"])
    report.write([run.directory], Path("r.html"), title="<i>title")
    page = Path("r.html").read_text()
    assert "<b>x" not in page and "<i>title" not in page


def test_a_report_of_nothing_is_refused_and_one_of_failures_is_made(home, capsys):
    Path("empty").mkdir()
    assert call("report", "empty") == 2
    assert call("report", "missing") == 2
    assert "missing is not a directory" in capsys.readouterr().err
    rubato.run("sssp", arguments=["--fail-check"], check=False, out="bad")
    assert call("report", "bad") == 0
    assert "check failed" in Path("bad/report.html").read_text()


def test_modes_are_compared_as_in_figure_8(small_study):
    from rubato.results.intervals import ratio

    found = report.gather([small_study])
    report.write([small_study], Path("r.html"))
    charts = data_of(Path("r.html").read_text())["modes"]
    assert len(charts) == 3, "64, 16 and 1 cores; at 256 there is one mode alone"
    cycles = {
        mode: [r.summary.cycles for r in found.runs if (r.summary.cores, r.summary.mode) == (64, mode)]
        for mode in ("spec", "nonspec", "mayspec")
    }
    (group,) = charts[0]["time"]["groups"]
    assert [r["label"] for r in group["rows"]] == ["spec", "nonspec", "mayspec"]
    spec, nonspec, _ = group["rows"]
    assert (spec["total"], spec["low"], spec["note"]) == (1, None, "1×")
    wanted = ratio(cycles["nonspec"], cycles["spec"])
    assert (nonspec["total"], nonspec["low"], nonspec["high"]) == pytest.approx(wanted[:3])
    assert sum(nonspec["fractions"].values()) == pytest.approx(1)
    (group,) = charts[0]["traffic"]["groups"]
    bytes_ = {
        mode: sum(sum(r.summary.network_bytes.model_dump().values()) for r in found.runs
                  if (r.summary.cores, r.summary.mode) == (64, mode))
        for mode in cycles
    }  # fmt: skip
    assert group["rows"][2]["total"] == pytest.approx(bytes_["mayspec"] / bytes_["spec"])


def test_without_spec_the_first_mode_is_the_measure_and_one_mode_is_not_compared(home):
    rubato.sweep({"program": "sssp", "cores": [4], "mode": ["mayspec", "nonspec"]}, out="two")
    report.write(["two"], Path("r.html"))
    (charts,) = data_of(Path("r.html").read_text())["modes"]
    assert [(r["label"], r["total"] == 1) for r in charts["time"]["groups"][0]["rows"]] == [
        ("nonspec", True),
        ("mayspec", False),
    ]
    rubato.sweep({"program": "sssp", "cores": [4], "mode": "spec"}, out="one")
    report.write(["one"], Path("r.html"))
    page = Path("r.html").read_text()
    assert data_of(page)["modes"] == [] and 'id="modes"' not in page


def test_aborts_are_shown_by_cause_with_functions_and_lines(small_study):
    report.write([small_study], Path("r.html"))
    page = Path("r.html").read_text()
    chart = data_of(page)["workloads"][0]["aborts"]
    assert [p["key"] for p in chart["parts"]] == ["conflict", "parent"]
    assert [g["name"] for g in chart["groups"]] == ["spec", "mayspec"]
    row = chart["groups"][0]["rows"][0]
    assert row["fractions"] == pytest.approx({"conflict": 0.75, "parent": 0.25}, rel=1e-3)
    assert row["note"] == "0.45 a task", "110,000 of 243,000"
    assert "distances+0x40" in page and "0x2a41c80" in page


def test_without_aborts_there_is_no_section_for_them(home):
    run = rubato.run("sssp", cores=4, mode="nonspec")
    report.write([run.directory], Path("r.html"))
    page = Path("r.html").read_text()
    assert 'id="aborts-0"' not in page and data_of(page)["inside"][0]["conflicts"] is None


def test_the_timeline_marks_attempts_aborted_during_and_after_their_run(tmp_path):
    from rubato.report.timeline import piece as timeline
    from rubato.results.run import Run

    lane = {"pid": 0, "tid": 0}

    def slice_(task: int, at: float, **args) -> dict:
        suffix = f" (aborted: {args['aborted']})" if args else ""
        return {"ph": "X", "cat": "task", "name": f"visit(Vertex*){suffix}", **lane, "ts": at, "dur": 1.0,
                "args": {"id": task, "speculative": True, **args}}  # fmt: skip

    events = [
        slice_(1, 0, aborted="conflict"), slice_(1, 2), slice_(2, 4),
        {"ph": "i", "s": "t", "cat": "abort", "name": "aborted: parent", **lane, "ts": 5.0,
         "args": {"id": 1, "cause": "parent", "discarded": False}},
        {"ph": "i", "s": "p", "cat": "internal", "name": "spilled", **lane, "ts": 5.0, "args": {"id": 2}},
        slice_(1, 6),
    ]  # fmt: skip
    with gzip.open(tmp_path / "trace.json.gz", "wt") as file:
        file.write("{\n" + ",\n".join(json.dumps(e, separators=(",", ":")) for e in events) + "\n]}\n")
    drawn = timeline(Run(tmp_path))
    assert [s["kind"] for s in drawn["slices"]] == ["aborted", "aborted", "committed", "committed"]
    assert drawn["names"] == ["visit"]


def test_of_a_trace_that_is_cut_short_the_beginning_is_drawn(home):
    rubato.run("sssp", cores=2, trace=True, out="a")
    slice_ = '{"ph":"X","cat":"task","name":"visit","pid":0,"tid":1,"ts":%d,"dur":2.0,"args":{}},\n'
    with gzip.open("a/trace.json.gz", "wb", 0) as file:
        file.write("".join(slice_ % i for i in range(1000)).encode())
    whole = Path("a/trace.json.gz").read_bytes()
    Path("a/trace.json.gz").write_bytes(whole[: len(whole) // 2])
    assert call("report", "a", "--out", "a.html") == 0
    assert data_of(Path("a.html").read_text())["inside"][0]["timeline"]["names"] == ["visit"]


def test_the_timeline_of_a_native_run_shows_its_tasks(tmp_path):
    from rubato.report.timeline import piece as timeline
    from rubato.results.run import Run

    def slice_(category: str, name: str, worker: int) -> str:
        event = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": worker, "ts": 1.0, "dur": 2.0, "args": {}}
        return json.dumps(event, separators=(",", ":"))

    events = [
        '{"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"worker 1"}}',
        slice_("task", "visit(Vertex*)", 1), slice_("worker", "idle", 0), slice_("order", "timestamp 1", 2),
        slice_("run", "run()", 2),
    ]  # fmt: skip
    (tmp_path / "trace.json").write_text('{"traceEvents":[\n' + ",\n".join(events) + '\n],"otherData":{}}\n')
    drawn = timeline(Run(tmp_path))
    assert drawn["lanes"] == ["worker 1"] and drawn["names"] == ["visit"] and drawn["unit"] == "us"


@needs_browser
def test_the_browser_draws_every_chart_without_errors_or_requests(small_study):
    file = Path("r.html")
    report.write([small_study], file)
    with browser.Browser() as page:
        page.size(1200, 900)
        page.requests()  # those of chromium's own first page
        page.load(file)
        assert page.run("return document.documentElement.dataset.ready") == "yes"
        charts = page.run(
            "return [...document.querySelectorAll('.chart')].map(c => [c.id, !!c.dataset.rendered, "
            "c.querySelectorAll('svg *').length, c.getBoundingClientRect().height])"
        )
        assert len(charts) >= 9 and all(drawn and marks > 5 and height > 40 for _, drawn, marks, height in charts), (
            charts
        )
        lines = page.run("return document.querySelectorAll('#speedup-chart-0 path[stroke-linejoin]').length")
        assert lines == 3
        whiskers = page.run("return document.querySelectorAll('#speedup-chart-0 path[d*=\"h8M\"]').length")
        assert whiskers == 8, "one for each point with several seeds but the reference"
        headings = page.run("return [...document.querySelectorAll('#inside-body h3')].map(h => h.textContent)")
        assert headings == [
            "Load of the mesh",
            "Task functions",
            "Who aborts whom, and where",
            "Queues and delays",
            "Over time",
            "A piece of the timeline",
        ]

        # The modes: whiskers where there are seeds, and another number of cores when it is chosen.
        assert (
            page.run("return document.querySelectorAll('#modes-time-chart .whisker, #modes-time-chart .cut').length")
            == 2
        )
        before = page.run("return document.getElementById('modes-time-chart').innerHTML")
        page.run("const c = document.getElementById('modes-cores'); c.value = 1; c.dispatchEvent(new Event('change'))")
        assert page.run("return document.getElementById('modes-time-chart').innerHTML") != before

        # Switches and the picker redraw.
        before = page.run("return document.getElementById('cycles-chart-0').innerHTML")
        page.run("document.querySelector('[data-cycles][data-relative=\"1\"]').click()")
        assert page.run("return document.getElementById('cycles-chart-0').innerHTML") != before
        page.run("document.querySelector('[data-speedup][data-linear=\"1\"]').click()")
        page.run("const p = document.getElementById('inside-run'); p.value = p.options.length - 1;"
                 "p.dispatchEvent(new Event('change'))")  # fmt: skip
        assert "Load of the mesh" not in page.run("return document.getElementById('inside-body').textContent")
        page.run("document.getElementById('theme').click()")
        assert page.run("return document.documentElement.dataset.theme") == "dark"

        # A phone: nothing wider than the screen.
        page.size(390, 844)
        page.run("window.dispatchEvent(new Event('resize'))")
        assert page.run("return document.documentElement.scrollWidth") <= 390

        assert [e["message"] for e in page.log("browser")] == []
        # Nothing from outside; the browser's own pages (chrome:, chrome-untrusted:) are not the report's.
        schemes = {url.partition(":")[0] for url in page.requests()}
        assert "file" in schemes and not schemes & {"http", "https", "ws", "wss", "ftp"}, schemes
