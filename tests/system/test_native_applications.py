"""Every application on the native engine: its own check passes on 1, 2 and 8 workers in every mode, and it prints what
it prints on the serial engine."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import rubato
from rubato.cli import call as rubato_command
from rubato.home import apps

WORKERS = [1, 2, 8]
#: An input for each application that takes a moment on one worker; the demo's where none is given.
INPUTS = {
    "sssp": ["--generate", "road:60x60"],
    "bfs": ["--generate", "rmat:11:8"],
    "mis": ["--generate", "rmat:9:8"],
    "color": ["--generate", "rmat:9:8"],
    "triangle": ["--generate", "rmat:9:8"],
    "cf": ["--generate", "rmat:8:8"],
    "astar": ["--generate", "road:60x60"],
    "des": ["--generate", "csa:8"],
    "kmeans": ["--points", "1000", "--centres", "10"],
    "genome": ["--gene", "512", "--segment", "16", "--segments", "8192"],
    "silo": ["--warehouses", "2", "--transactions", "300"],
    "nocsim": ["--width", "8", "--height", "4", "--cycles", "300"],
    "kvstore": ["--queries", "2000", "--tuples", "256"],
    "hashjoin": ["--scale", "0.05", "--records-per-task", "64", "--records-ahead", "1"],
}
NATIVE = [name for name, app in apps.all_apps().items() if "native" in app.engines]
# Measured, so never the same; and on how many workers.
VARYING = re.compile(r"^.*\b(time|seconds|second|latency|load|run)\b.*$|on \d+ workers?", re.MULTILINE)


def arguments(application: str) -> list[str]:
    verify = apps.app(application).verify_flag
    given = INPUTS.get(application, apps.app(application).demo_arguments)
    return [*given, *([verify] if verify and verify not in given else [])]


def test_every_application_is_here() -> None:
    assert set(INPUTS) <= set(NATIVE) and len(NATIVE) >= 7


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("application", NATIVE)
def test_the_check_passes_in_every_mode(application: str, workers: int, build: Path) -> None:
    app = apps.app(application)
    printed = {}
    for mode in ["nonspec", "mayspec", "spec"] if app.mode_flag else [None]:
        command = [*arguments(application), *([app.mode_flag, mode] if mode else [])]
        environment = os.environ | {"RUBATO_WORKERS": str(workers), "RUBATO_OVERSUBSCRIBE": "1"}
        for engine in ("native", "serial"):
            program = build / "bin" / f"{application}-{engine}"
            done = subprocess.run(
                [program, *command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{engine} {mode}: {done.stderr[-2000:]}"
            assert "check: passed" in done.stdout
            printed[engine] = VARYING.sub("", done.stdout)
        assert printed["native"] == printed["serial"]


def test_the_command_measures_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    summary = rubato.run("bfs", engine="native", cores=2, mode="nonspec", arguments=INPUTS["bfs"]).summary
    assert summary.check == "passed" and summary.cores == 2 and summary.mode == "nonspec"
    assert 0 < summary.seconds < summary.host.seconds
    assert summary.tasks.created == summary.tasks.committed > 2000
    assert summary.tasks.promoted == 0


def test_a_trace_shows_every_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = rubato.run("bfs", engine="native", cores=2, arguments=INPUTS["bfs"], trace=True)
    document = json.loads(run.trace.read_text())
    tasks = [e for e in document["traceEvents"] if e.get("cat") == "task"]
    assert len(tasks) == run.summary.tasks.committed > 2000
    assert any("visit" in e["name"] and e["args"]["timestamp"] >= 1 for e in tasks)
    assert {e["tid"] for e in tasks} <= {0, 1}
    assert all(document["otherData"][f"worker {w}"]["task_left_out"] == 0 for w in (0, 1))


def test_long_tasks_are_named_when_the_program_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a trace, which asks for names before: the table of them must still be there."""
    monkeypatch.chdir(tmp_path)
    large = ["--scale", "4", "--partitions", "1", "--records-per-task", "10000000"]
    found = rubato.run("hashjoin", engine="native", cores=1, arguments=large, trace=True).summary.long_tasks
    assert found.count == sum(f.count for f in found.functions) >= 1
    assert all("rubato::apps::" in f.function and f.longest_seconds >= 0.01 for f in found.functions)


@pytest.mark.parametrize("application", NATIVE)
def test_output_that_nothing_takes_is_no_success(application: str, build: Path) -> None:
    command = [build / "bin" / f"{application}-native", *arguments(application)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == f"{application}: cannot write the result: No space left on device\n"


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "1001"])
def test_a_wrong_scale_is_named(scale: str, build: Path) -> None:
    command = [build / "bin" / "hashjoin-native", "--scale", scale]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"hashjoin: --scale {scale}: ")


def test_spec_tasks_run_alone_and_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    summary = rubato.run("mis", engine="native", cores=2, mode="spec", arguments=["--generate", "rmat:7:8"]).summary
    assert summary.tasks.promoted == summary.tasks.committed > 100


@pytest.mark.parametrize("application", NATIVE)
def test_wrong_usage_is_one_sentence_that_names_it(
    application: str, build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (["--nonsense"], ["--seed", "-1"], ["--seed"]):
        for engine in ("native", "serial"):
            program = build / "bin" / f"{application}-{engine}"
            done = subprocess.run([program, *wrong], capture_output=True, text=True, check=False)
            assert done.returncode == 2 and done.stdout == ""
            assert done.stderr.startswith(f"{application}: ") and wrong[-1] in done.stderr
            assert done.stderr.count("\n") == 1
    monkeypatch.chdir(tmp_path)
    assert rubato_command(["run", application, "--engine", "native", "--", "--seed", "-1"]) == 2
    assert capsys.readouterr().err == "rubato: --seed: '-1' is not a whole number\n"
    assert rubato_command(["run", application, "--engine", "native", "--", "--seed", str(2**64)]) == 2
    assert capsys.readouterr().err == f"rubato: --seed: '{2**64}' is larger than 2^64 - 1\n"


@pytest.mark.parametrize("application", NATIVE)
def test_an_empty_value_is_no_value(application: str, build: Path) -> None:
    """An empty value, of a variable that a script did not set, for example, must not choose the default."""
    program = build / "bin" / f"{application}-serial"
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    flags = re.findall(r"^ +(--[a-z-]+)\S* (?=\S)(?!Excludes: )", text, re.MULTILINE)
    assert "--seed" in flags and len(flags) >= 3
    needed = {"--coordinates": ["--graph", "x.gr"], "--customer": ["--orders", "x"], "--orders": ["--customer", "x"]}
    for flag in flags:
        command = [program, flag, "", *needed.get(flag, [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == "", flag
        assert done.stderr.startswith(f"{application}: ") and done.stderr.count("\n") == 1
        assert f"{flag} has an empty value" in done.stderr or flag in done.stderr and "' is n" in done.stderr


@pytest.mark.parametrize("application", NATIVE)
def test_wrong_options_of_the_engine_are_refused_with_2(application: str, build: Path) -> None:
    program = build / "bin" / f"{application}-native"
    for variable, value in (("RUBATO_WORKERS", "many"), ("RUBATO_WORKERS", "1000"), ("RUBATO_PREFETCH", "x"),
                            ("RUBATO_TRACE", "/no/such/folder/trace.json"), ("RUBATO_TRACE_SPANS", "-3"),
                            ("RUBATO_LAG", "maybe"), ("RUBATO_LAG_ERROR", "small"),
                            ("RUBATO_LAG_LEVELS", "actors"), ("RUBATO_LAG_TURN_SWITCH", "dear"),
                            ("RUBATO_MINIQUEUE", "yes"), ("RUBATO_ACTOR_SWITCH", "1000001"),
                            ("RUBATO_COUNTERS", "/no/such/folder/counters.json")):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RUBATO_")} | {variable: value}
        done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"{application}: ") and value in done.stderr and done.stderr.count("\n") == 1
