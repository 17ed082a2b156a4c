"""`bench/lagging`: the gap sweep and the suite without and with lagging in turns, and the programs that it and the
publication's study run; with the smallest sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rubato.process import machine


def bench(root: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "bench" / "lagging", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.skipif(machine.processors() < 2, reason="lagging needs two CPUs")
def test_rows_are_measured_without_and_with_lagging(root: Path, tmp_path: Path) -> None:
    done = bench(root, "--quick", "--rows", "gap-1,sieve", "--rounds", "1", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [r["name"] for r in result["rows"]] == ["gap-1", "gap-1-cpu", "sieve"]
    assert all(r["mean"] > 0 and r["samples"] == 1 for r in result["rows"])
    kept = json.loads((tmp_path / "measurements.json").read_text())["samples"]
    assert set(kept) == {f"{n}/{m}" for n in ("gap-1", "sieve") for m in ("off/time", "on/time")} | {
        "gap-1/off/cpu", "gap-1/on/cpu"}  # fmt: skip
    assert min(kept["gap-1/off/time"] + kept["gap-1/on/time"]) >= 1, "a message takes at least its microsecond of work"


@pytest.mark.skipif(machine.processors() < 2, reason="lagging needs two CPUs")
def test_whether_it_may_be_the_default_is_measured_by_programs_of_both_kinds(root: Path, tmp_path: Path) -> None:
    rows = "sieve,native/C/tasks,native/bfs/2,native/fib,native/wake-up"
    done = bench(root, "--default", "--quick", "--rows", rows, "--rounds", "1", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {r["name"] for r in result["rows"]} == {f"{n}{k}" for n in rows.split(",") for k in ("", "-cpu")}
    assert all(r["mean"] > 0 and r["samples"] == 1 and r["bar"] is None for r in result["rows"])


def test_the_gap_program_says_what_it_needs(build: Path) -> None:
    done = subprocess.run([build / "bin" / "bench_actor_gap", "1"], env={"RUBATO_WORKERS": "1"}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 2 and done.stderr == (
        "bench_actor_gap: it needs two workers, for an actor each (RUBATO_WORKERS)\n")
    for wrong in (["-1"], ["fast"], ["1", "0"], []):
        done = subprocess.run([build / "bin" / "bench_actor_gap", *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.startswith("usage: bench_actor_gap MICROSECONDS [MESSAGES]")


@pytest.mark.skipif(machine.processors() < 2, reason="one worker is idle")
def test_the_message_of_a_long_handler_is_handled_before_that_ends(build: Path) -> None:
    """The handler takes 3 ms; the best of ten, since other programs may use the idle worker's CPU."""
    program = build / "bin" / "bench_actor_late"
    done = subprocess.run([program, "1000", "500", "10"], env={"RUBATO_WORKERS": "2"}, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["short_handlers"], found["ns_each"], found["long_handlers"]) == (1000, 500, 10)
    assert 0 < found["late_us_least"] < 3000 and found["late_us_least"] <= found["late_us_median"]
    alone = subprocess.run([program, "1", "1"], env={"RUBATO_WORKERS": "1"}, capture_output=True, text=True,
                           check=False)  # fmt: skip
    assert alone.returncode == 2 and alone.stderr == (
        "bench_actor_late: it needs two workers, one of which is idle (RUBATO_WORKERS)\n")
    for wrong in (["-1", "1"], ["1"], ["1", "many"], ["1", "1", "0"], []):
        done = subprocess.run([program, *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.startswith(
            "usage: bench_actor_late SHORT_HANDLERS NANOSECONDS_EACH [LONG_HANDLERS]")


def handing_on(build: Path, *words: str, **environment: str) -> dict[str, float]:
    done = subprocess.run([build / "bin" / "bench_actor_lag", *words], capture_output=True, text=True, check=False,
                          env={"RUBATO_WORKERS": "1"} | environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_ring_takes_a_turn_for_each_message_and_a_dear_switch_as_long_as_it_says(build: Path) -> None:
    """One worker: nothing else can come, so no turn handles two messages."""
    plain = handing_on(build, "ring", "3", "1000")
    assert (plain["actors"], plain["messages"], plain["turns_a_message"], plain["lags"]) == (3, 1000, 1, 0)
    dear = handing_on(build, "ring", "3", "1000", RUBATO_ACTOR_SWITCH="20000")
    # The first of them is scheduled before the measurement begins.
    assert dear["turns_a_message"] == 1 and dear["us_a_message"] >= 20 * 999 / 1000


def test_the_miniqueue_spares_the_half_of_a_dear_switch_that_is_its_senders(build: Path) -> None:
    """By processor time, which spinning for a time never exceeds, however busy the machine is."""
    for what, miniqueue, halves in (("loose", "0", 2), ("loose", "1", 1), ("ring", "1", 2)):
        found = handing_on(build, what, "3", "100", RUBATO_ACTOR_SWITCH="1000000", RUBATO_MINIQUEUE=miniqueue)
        assert found["us_a_message"] >= 500 * (100 * halves - 1) / 100, "the first one is scheduled before"
        if halves == 1:
            assert found["cpu_us_a_message"] < 750


def test_consumers_handle_as_many_messages_each_in_turns_of_at_most_fifty(build: Path) -> None:
    """One worker: the producer's turn ends before the first of the consumers begins, so turns are full, unless the
    machine is so busy that they are cut short."""
    found = handing_on(build, "consumers", "4", "1003")
    assert found["messages"] == 1000, "as many to each"
    # 250 messages are five turns, after which an actor has ended; and the producer's one.
    assert (4 * 5 + 1) / 1000 <= round(found["turns_a_message"], 4) < 0.5


@pytest.mark.skipif(machine.processors() < 2, reason="lagging needs two CPUs")
def test_turns_lag_for_the_switch_that_is_given(build: Path) -> None:
    found = handing_on(build, "ring", "2", "2000", RUBATO_WORKERS="2", RUBATO_LAG="published", RUBATO_LAG_PHI0="1",
                       RUBATO_LAG_TURN_SWITCH="50", RUBATO_LAG_LEVELS="turns")  # fmt: skip
    assert found["switch_us"] == pytest.approx(50, abs=0.1)
    off = handing_on(build, "ring", "2", "2000", RUBATO_WORKERS="2")
    assert (off["samples"], off["lags"], off["hit_share"], off["switch_us"]) == (0, 0, 0, 0)


def test_the_program_of_switches_says_what_it_needs(build: Path) -> None:
    for wrong in (["ring", "1", "10"], ["ring", "4", "3"], ["consumers", "0", "10"], ["star", "2", "10"],
                  ["ring", "2", "-1"], ["ring", "2"]):  # fmt: skip
        done = subprocess.run([build / "bin" / "bench_actor_lag", *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("usage: bench_actor_lag ring|loose|consumers ACTORS MESSAGES")


def test_the_formulas_give_the_publications_numbers(build: Path) -> None:
    done = subprocess.run([build / "bin" / "bench_lag_numbers"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert found["samples"] == 43 and found["fixed"] == 4300, "43 / 1 %"
    # 43 x .9 + 4300 x .1, and a sum that ends at 497 in the publication.
    assert found["fewest"] == pytest.approx(468.7) and found["most"] == pytest.approx(496.9, abs=0.1)
    assert found["overhead_percent"] == pytest.approx(100 / 101, abs=1e-3) and found["most_overhead_percent"] == 50


@pytest.mark.parametrize("wrong", [["--rows", "gap-7"], ["--rounds", "0"], ["--mode", "off"]])
def test_wrong_usage_is_refused(wrong: list[str], root: Path, tmp_path: Path) -> None:
    done = bench(root, *wrong, "--out", tmp_path)
    assert done.returncode == 2 and not (tmp_path / "measurements.json").exists()
