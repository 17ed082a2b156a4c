"""Software-only versions of applications: threads without tasks, on the chip and on this machine, against the serial
reference."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rubato
from rubato import report

INPUTS = {
    "sssp": ["--generate", "road:12x12"],
    "bfs": ["--generate", "rmat:7:8"],
    "cf": ["--generate", "band:60:16:24", "--steps", "3"],
    "triangle": ["--generate", "rmat:7:8"],
    "color": ["--generate", "rmat:7:8"],
    "mis": ["--generate", "rmat:7:8"],
    "des": ["--generate", "csa:6", "--vectors", "4"],
}


def on_chip(rubato_chip: Path, program: Path, *arguments: str) -> dict[str, Any]:
    """The summary of a run on four cores."""
    command = [rubato_chip, "--json", "--cores", "4", "--max-cycles", "20000000", program, *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@pytest.mark.parametrize("threads", ["1", "2", "3", "4", "6"])
@pytest.mark.parametrize("application", INPUTS)
def test_threads_compute_what_the_serial_code_does_on_the_chip(
    application: str, threads: str, rubato_chip: Path, guests: Path
) -> None:
    arguments = [*INPUTS[application], "--variant", "threads", "--threads", threads, "--verify"]
    summary = on_chip(rubato_chip, guests / application, *arguments)
    assert summary["check"] == "passed"
    assert summary["tasks"]["created"] == 0
    assert summary["mode"] == "threads"


@pytest.mark.parametrize("engine", ["native", "serial"])
@pytest.mark.parametrize("application", INPUTS)
def test_threads_compute_what_the_serial_code_does_on_this_machine(application: str, engine: str, build: Path) -> None:
    for threads in ["1", "2", "3", "8"]:
        command = [build / "bin" / f"{application}-{engine}", *INPUTS[application], "--variant", "threads"]
        done = subprocess.run([*command, "--threads", threads, "--verify"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "check: passed" in done.stdout


@pytest.mark.usefixtures("build")
def test_threads_on_this_machine_are_not_told_as_serial_code(tmp_path: Path) -> None:
    for name, extra, mode in [("threads", ["--variant=threads"], "threads"), ("serial", ["--serial"], "serial")]:
        run = rubato.run("sssp", engine="native", arguments=[*INPUTS["sssp"], *extra], out=tmp_path / name)
        assert run.summary.mode == mode


@pytest.mark.parametrize("application", INPUTS)
def test_there_is_a_thread_a_core(application: str, rubato_chip: Path, guests: Path) -> None:
    arguments = [*INPUTS[application], "--variant", "threads"]
    idle = {}
    for threads in [[], ["--threads", "2"]]:
        summary = on_chip(rubato_chip, guests / application, *arguments, *threads)
        idle[len(threads)] = summary["cycle_breakdown"]["idle"]
    assert idle[0] < 0.1
    assert idle[2] > 0.4


@pytest.mark.usefixtures("rubato_chip")
def test_a_report_names_threads_on_one_core_as_on_several(tmp_path: Path) -> None:
    arguments = [*INPUTS["bfs"], "--variant", "threads"]
    for cores in (1, 4):
        run = rubato.run("bfs", cores=cores, arguments=arguments, out=tmp_path / f"c{cores}")
        assert run.summary.mode == "threads" and run.summary.check == "passed"
    serial = rubato.run("bfs", cores=1, arguments=[*INPUTS["bfs"], "--serial"], out=tmp_path / "serial")
    assert serial.summary.mode == "serial"
    (workload,) = report.gather([tmp_path / "c1", tmp_path / "c4"]).workloads
    assert [(series.name, [point.cores for point in series.points]) for series in workload.series] == [
        ("threads", [1, 4])]  # fmt: skip
    assert workload.serial is None, "threads on one core are no serial code to compare with"


@pytest.mark.usefixtures("rubato_chip", "build")
@pytest.mark.parametrize("engine", ["chip", "native"])
def test_the_serial_code_beside_threads_in_a_sweep_is_not_told_as_threads(engine: str, tmp_path: Path) -> None:
    arguments = [*INPUTS["bfs"], "--variant", "threads"]
    plan = {"program": "bfs", "cores": [1, 2], "arguments": arguments, "engine": engine, "baseline": True}
    assert not rubato.sweep(plan, out=tmp_path / "s").failures
    (workload,) = report.gather([tmp_path / "s"]).workloads
    assert {series.name for series in workload.series} == {"serial code", "threads"} and workload.serial is not None
