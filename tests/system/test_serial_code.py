"""The serial code of applications is a run like others, measured alone, on both engines; seeds are samples of time."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

import rubato
from rubato.home import apps
from test_native_applications import INPUTS
from test_task_applications import INPUTS as WITHOUT_GRAPH

WITH_SERIAL = sorted(name for name, app in apps.all_apps().items() if app.serial_arguments)
ON_CHIP = [name for name in WITH_SERIAL if "chip" in apps.all_apps()[name].engines]
SMALL = {"cf": ["--generate", "rmat:5:4"], "des": ["--generate", "csa:4"],
         "kvstore": ["--queries", "300", "--tuples", "64"], **WITHOUT_GRAPH}  # fmt: skip


def input_of(name: str) -> list[str]:
    if name in SMALL:
        return SMALL[name]
    kind = "road:12x12" if name in ("sssp", "astar") else "rmat:6:4"
    return ["--generate", kind]


def test_the_options_of_applications_and_their_descriptions_agree() -> None:
    flags = {name for name, app in apps.all_apps().items() if "--serial" in app.option_names()}
    assert flags | {"hashjoin"} == set(WITH_SERIAL)


@pytest.mark.parametrize("name", ON_CHIP)
def test_the_chip_measures_the_serial_code_and_not_its_check(tmp_path: Path, name: str) -> None:
    runs = {
        verify: rubato.run(
            name, cores=1, arguments=input_of(name), serial=True, verify=verify, out=tmp_path / f"{verify}"
        )
        for verify in (True, False)
    }
    s = runs[True].summary
    assert s.mode == "serial" and s.check == "passed" and s.tasks.created == 0
    assert 0 < s.instructions <= s.cycles
    assert sum(s.cycle_breakdown.model_dump().values()) == pytest.approx(1)
    assert runs[True].stats.total("chip.core_cycles.*") == s.cycles, "one core, accounted in full"
    # The check runs the same code again: if it were measured, there would be twice as much.
    assert s.instructions == pytest.approx(runs[False].summary.instructions, rel=0.02)


def test_several_searches_add_up(tmp_path: Path) -> None:
    one, four = (
        rubato.run("sssp", cores=1, arguments=["--generate", "road:12x12", "--searches", n], serial=True,
                   out=tmp_path / n).summary
        for n in ("1", "4")
    )  # fmt: skip
    assert 3 * one.instructions < four.instructions < 5 * one.instructions


@pytest.mark.parametrize("name", WITH_SERIAL)
def test_the_native_engine_measures_the_serial_code(tmp_path: Path, name: str) -> None:
    run = rubato.run(name, engine="native", cores=1, arguments=INPUTS[name], serial=True, out=tmp_path / "run")
    s = run.summary
    assert s.mode == "serial" and s.cores == 1 and s.tasks.created == 0 and s.check == "passed"
    assert 0 < s.seconds < s.host.seconds


def test_a_trace_without_tasks_has_the_lane_of_its_thread(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text("#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n")
    subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", "hello.c", "-o", "hello"], cwd=tmp_path, check=True)
    command = [rubato_chip, "--cores", "1", "--trace", "--out", tmp_path / "run", tmp_path / "hello"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=120)
    assert "note:" not in done.stderr
    assert "runs on core 0" in gzip.decompress((tmp_path / "run/trace.json.gz").read_bytes()).decode()
    assert json.loads((tmp_path / "run/summary.json").read_text())["mode"] is None


def test_perturbed_seeds_differ_and_repeat_and_without_it_they_do_not_differ(tmp_path: Path) -> None:
    def cycles(perturb: int, seed: int, name: str) -> int:
        return rubato.run(
            "sssp", cores=1, mode="nonspec", arguments=["--generate", "road:12x12"], seed=seed,
            set={"chip.perturb": perturb}, out=tmp_path / name,
        ).summary.cycles  # fmt: skip

    steady = {cycles(0, seed, f"steady-{seed}") for seed in range(1, 4)}
    perturbed = [cycles(3, seed, f"perturbed-{seed}") for seed in range(1, 6)]
    assert len(steady) == 1 and len(set(perturbed)) > 1
    assert cycles(3, 2, "again") == perturbed[1]
    assert all(steady.copy().pop() < c < steady.copy().pop() * 1.05 for c in perturbed), "a little, and only more"
