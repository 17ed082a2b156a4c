"""bench/speculation with the stand-in simulator: which runs a row needs, what the table says, that it continues."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.machinery
import importlib.util
import json
from pathlib import Path

import pytest

import rubato
from rubato.results.intervals import ratio

SCRIPT = Path(__file__).parents[2] / "bench" / "speculation"
SERIAL = "#!/bin/sh\necho nodes: 90000\necho check: passed\n"


@pytest.fixture
def bench(own_home, monkeypatch):
    """The script as a module, and a serial engine that prints what the stand-in does."""
    serial = own_home / "bin/sssp-serial"
    serial.write_text(SERIAL)
    serial.chmod(0o755)
    loader = importlib.machinery.SourceFileLoader("speculation_table", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, loader.name, module)
    loader.exec_module(module)
    monkeypatch.setattr(module, "_serial", {})
    return module


def run(module, monkeypatch, capsys, *arguments: str) -> tuple[int, dict]:
    monkeypatch.setattr("sys.argv", ["bench/speculation", "--json", "--quick", "--out", "out", *arguments])
    code = module.main()
    return code, json.loads(capsys.readouterr().out)


def test_a_row_makes_the_runs_it_needs_and_compares_their_cycles(bench, monkeypatch, capsys):
    code, table = run(bench, monkeypatch, capsys, "--rows", "road-scaling,hubs,always")
    assert code == 0
    assert {d.name for d in Path("out").iterdir()} == {"road", "road-1", "hubs"}

    def cycles(study: str, mode: str) -> list[int]:
        return [r.summary.cycles for r in rubato.Sweep(f"out/{study}").runs if r.summary.mode == mode]

    scaling, better, *always = table["rows"]
    wanted = ratio(cycles("road-1", "mayspec"), cycles("road", "mayspec"))
    assert tuple(scaling["measured"].values()) == pytest.approx(tuple(wanted))
    assert scaling["measured"]["samples"] == 2 and scaling["verdict"] == "FAIL", "16 cores are not 100 times as fast"
    faster = min((cycles("hubs", mode) for mode in ("spec", "nonspec")), key=sum)
    assert better["measured"]["mean"] == pytest.approx(ratio(faster, cycles("hubs", "mayspec")).mean)
    assert [(row["words"], row["verdict"]) for row in always] == [("10 runs", "pass")] * 2


def test_a_second_call_makes_only_what_is_missing(bench, monkeypatch, capsys):
    run(bench, monkeypatch, capsys, "--rows", "hubs", "--seeds", "1")
    first = {f: f.stat().st_mtime_ns for f in Path("out").glob("hubs/*/summary.json")}
    run(bench, monkeypatch, capsys, "--rows", "hubs", "--seeds", "2")
    second = {f: f.stat().st_mtime_ns for f in Path("out").glob("hubs/*/summary.json")}
    assert len(first) == 3 and len(second) == 6 and first.items() <= second.items()


def test_what_must_always_hold_is_looked_at_in_every_run(bench, monkeypatch, capsys):
    run(bench, monkeypatch, capsys, "--rows", "hubs,always", "--seeds", "1")
    (run_,) = [r for r in rubato.Sweep("out/hubs").runs if r.summary.mode == "mayspec"]
    assert bench.problems("hubs", run_) == [] and bench.equals_serial(run_)

    bench._serial.clear()
    (bench.locate.chip().parent / "sssp-serial").write_text(SERIAL.replace("90000", "90001"))
    assert not bench.equals_serial(run_)

    file = run_.directory / "stats.json"
    document = json.loads(file.read_text())
    document["roi"]["chip.core_cycles.stall"] += 1
    document["roi"]["tile.0.task_unit.occupancy"]["buckets"] = [0] * 9 + [1] + [0] * 9  # 256 to 511 of 256
    file.write_text(json.dumps(document))
    assert len(bench.problems("hubs", rubato.load(run_.directory))) == 1, "the capacity itself is no excess"
    document["roi"]["tile.0.task_unit.occupancy"]["buckets"][10] = 1
    file.write_text(json.dumps(document))
    classes, queue = bench.problems("hubs", rubato.load(run_.directory))
    assert "core cycles of" in classes and "task_unit.occupancy" in queue


def test_rows_that_miss_their_target_fail_the_command_unless_it_is_quick(bench):
    line = bench.Line("x", ratio([96.9], [100.0]), 0.97)
    assert line.verdict() == "FAIL"
    assert bench.Line("x", ratio([97.1], [100.0]), 0.97).verdict() == "pass"
    assert bench.Line("x", None, 0.97).verdict() == "", "not run"


def test_unknown_rows_are_refused(bench, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench/speculation", "--rows", "raod"])
    with pytest.raises(SystemExit) as error:
        bench.main()
    assert error.value.code == 2 and "unknown row raod" in capsys.readouterr().err
