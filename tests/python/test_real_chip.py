"""The same with the real simulator, when it is built: one small run of sssp, its numbers, a sweep and a report."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

import rubato
from rubato import report
from rubato.home import locate, schema
from rubato.report.parameters import Parameters

pytestmark = pytest.mark.skipif(
    locate.find_chip() is None or locate.program("sssp", "chip") is None,
    reason="needs rubato-chip and sssp (make build)",
)

ARGUMENTS = ["--generate", "road:20x20"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.delenv("RUBATO_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(locate.program("sssp", "native") is None, reason="needs sssp-native")
def test_a_run_replaces_one_of_this_machine():
    native = rubato.run("sssp", engine="native", cores=1, arguments=ARGUMENTS, trace=True, out="r")
    assert native.trace.name == "trace.json"
    chip = rubato.run("sssp", cores=4, arguments=ARGUMENTS, out="r", force=True)
    assert chip.summary.engine == "chip" and chip.trace is None
    assert not {"counters.json", "trace.json"} & {f.name for f in Path("r").iterdir()}


def test_a_run_passes_its_check_and_adds_up():
    run = rubato.run("sssp", cores=16, arguments=ARGUMENTS)
    s = run.summary
    written = json.loads((run.directory / "summary.json").read_text())
    of_other_runs = {"lagging", "disk", "prefetches", "programs", "mean_program_cycles"}
    assert written == s.model_dump(exclude=of_other_runs) and s.program == "sssp"
    assert (s.check, s.cores, s.name, s.complete) == ("passed", 16, "sssp", True)
    assert sum(s.cycle_breakdown.model_dump().values()) == pytest.approx(1)
    classes = sum(run.stats.total(f"chip.core_cycles.{c}") for c in s.cycle_breakdown.model_dump())
    assert classes == s.cycles * 16
    assert s.tasks.committed >= 400
    for tile in range(4):
        for queue in ("occupancy", "commit_occupancy"):
            assert run.stats[f"tile.{tile}.task_unit.{queue}"].samples == s.cycles
    assert run.stats.total("net.bytes.*") == sum(s.network_bytes.model_dump().values()) > 0
    assert run.configuration["chip.cores"] == 16
    assert run.frame().height == len(run.stats)


def test_names_that_are_not_utf_8_leave_a_run_that_can_be_read():
    graph, out = (os.fsdecode(name) for name in (b"graph-\xe4.txt", b"run-\xe4"))
    Path(graph).write_text("0 1\n1 2\n")
    rubato.run("sssp", cores=4, arguments=["--graph", graph], out=out)
    again = rubato.load(out)
    assert again.arguments == ["--graph", "graph-\N{REPLACEMENT CHARACTER}.txt", "--verify"]
    assert again.summary.check == "passed"
    assert report.write([out], Path("report.html"), None).runs


def test_the_same_run_gives_the_same_statistics():
    first, second = (rubato.run("sssp", cores=4, seed=3, arguments=ARGUMENTS) for _ in range(2))
    assert (first.directory / "stats.json").read_bytes() == (second.directory / "stats.json").read_bytes()


def test_aborts_are_the_same_in_summary_statistics_tables_and_trace():
    run = rubato.run("sssp", cores=16, mode="spec", trace=True, arguments=["--generate", "road:30x30"])
    aborted = run.summary.tasks.aborted
    assert aborted > 0 and run.summary.tasks.committed >= 900
    assert run.stats.total("chip.aborts.*") == aborted
    assert sum(row["aborts"] for row in run.conflicts["functions"]) == aborted
    unnamed = {row["cause"] for row in run.conflicts["functions"] if row["by"] == "(no task)"}
    assert not unnamed & {"conflict", "parent", "dependence", "locale", "commit_queue"}, "a task is always the cause"
    assert any(row["cause"] == "locale" for row in run.conflicts["functions"])
    lost = run.stats.total("chip.aborts.*.cycles")
    assert sum(row["lost_cycles"] for row in run.conflicts["functions"]) == lost
    assert lost <= run.stats.total("chip.core_cycles.aborted"), "roll-backs come on top"
    assert run.conflicts["line_count"] >= len(run.conflicts["lines"]) > 0
    with gzip.open(run.trace, "rt") as file:
        events = json.load(file)["traceEvents"]
    while_running = [e for e in events if e["ph"] == "X" and "aborted" in e.get("args", {})]
    afterwards = [e for e in events if e["ph"] == "i" and e["cat"] == "abort"]
    assert while_running and afterwards and len(while_running) + len(afterwards) == aborted
    assert any(e["ph"] == "t" for e in events), "a task that runs again keeps the arrow from its parent"


def test_a_sweep_of_the_real_chip_is_reported():
    swept = rubato.sweep({"program": "sssp", "cores": [1, 4], "arguments": ARGUMENTS, "interval": 5000}, out="s")
    assert len(swept.runs) == 3, swept.failures  # the serial code, too
    found = report.write(["s"], Path("r.html"))
    assert len(found.runs) == 3 and "Speed-up" in Path("r.html").read_text()


def test_wrong_values_are_refused_in_the_simulators_words():
    with pytest.raises(rubato.UsageError, match="l2.ways"):
        rubato.run("sssp", cores=4, set={"l2.ways": "many"}, arguments=ARGUMENTS)
    assert not any(Path("runs").glob("*"))


@pytest.mark.parametrize("engine", ["chip", "native"])
def test_an_application_that_refuses_its_input_is_wrong_usage_on_every_engine(engine):
    Path("bad.gr").write_text("p sp 3 x\n")
    with pytest.raises(rubato.UsageError, match="^bad.gr:1: 'x' is not"):
        rubato.run("sssp", cores=1, engine=engine, arguments=["--graph", "bad.gr"])
    assert not any(Path("runs").glob("*"))


def test_a_sweep_with_values_that_no_chip_has_starts_nothing():
    with pytest.raises(rubato.UsageError, match=r"--set l2.size=3: l2.size is 3, expected 64 to"):
        rubato.sweep({"program": "sssp", "cores": [1], "set": {"l2.size": ["64KiB", 3]}}, out="s")
    Path("chip.toml").write_text("[l2]\nsize = 3\n")
    with pytest.raises(rubato.UsageError, match=r"chip.toml:2: l2.size is 3, expected 64 to"):
        rubato.sweep({"program": "sssp", "cores": [1], "config": "chip.toml"}, out="s")
    assert not Path("s").exists()
    plan = {"program": "sssp", "cores": [4], "arguments": ARGUMENTS, "set": {"chip.cores_per_tile": [3, 4]}}
    assert [f["name"] for f in rubato.sweep(plan, out="s").failures] == ["sssp-c4-chip.cores_per_tile=3"]


@pytest.mark.parametrize("engine", ["chip", "native"])
def test_a_sweep_says_which_option_of_an_application_is_wrong(engine):
    plan = {"program": "sssp", "cores": [1], "engine": engine, "arguments": ["--source", "x"]}
    (failed,) = rubato.sweep(plan, out="s").failures
    assert failed["exit_code"] == 2 and failed["reason"].startswith("--source: 'x' is not"), failed["reason"]


def test_every_key_has_a_sentence_and_a_default():
    for key in schema.keys().values():
        assert key.description and key.default is not None, key.key


def test_protocols_are_words_on_an_axis_beside_each_other():
    settings = {"coherence.protocol": ["mesi", "sparse", "flask"], "chip.cores_per_tile": 1}
    swept = rubato.sweep({"program": "sssp", "cores": 4, "arguments": ARGUMENTS, "set": settings}, out="study")
    (over,) = Parameters(report.gather(["study"]).workloads[0], swept.swept).data()
    assert [t["label"] for t in over["axis"]["ticks"]] == ["mesi", "sparse", "flask"], "in the order of the plan"
    shown = {p["title"]: [q["y"] for q in p["lines"][0]["points"]] for p in over["panels"]}
    assert shown["execution time"] == [r.summary.cycles for r in swept.runs]
    assert all(len(shown[name]) == 3 and min(shown[name]) > 0 for name in ("network traffic", "wait of an L2 miss"))
    hops = swept.runs[2].stats.total("coherence.flit_hops.*")
    assert 0 < hops <= shown["network traffic"][2], "links carry messages of coherence, and others"
