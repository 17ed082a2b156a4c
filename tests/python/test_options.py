"""An option of a run that RunSpec declares is one of both commands and of plans, and reaches the simulator."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rubato.cli.options import OF_RUN, SHARED_BY_SWEEPS, run_fields
from rubato.errors import UsageError
from rubato.running.options import FLAG, LIST, NUMBER, option, options_of
from rubato.running.spec import OPTIONS, RunSpec
from rubato.sweeping.plan import Plan

#: What a plan has a list of, and what only single runs have.
VARIED = {"cores", "mode", "alloc", "config", "set", "seed"}
NOT_SWEPT = {"instructions", "watch"}


def test_what_is_declared_becomes_an_option():
    @dataclasses.dataclass
    class Spec:
        program: str
        max_speed: int | None = option(None, "How fast.")
        brakes: bool = option(True, "Without brakes.", flag="--no-brakes")
        wheels: list[str] = option([], "Which.")

    speed, brakes, wheels = options_of(Spec)
    assert (speed.flag, speed.kind, speed.in_command(0), speed.in_command(None)) == (
        "--max-speed", NUMBER, ["--max-speed", "0"], [])  # fmt: skip
    assert (brakes.flag, brakes.kind, brakes.in_command(False), brakes.in_command(True)) == (
        "--no-brakes", FLAG, ["--no-brakes"], [])  # fmt: skip
    assert brakes.value(True) is False
    assert (wheels.kind, wheels.in_command(["a", "b"])) == (LIST, ["--wheels", "a", "--wheels", "b"])
    assert Spec("car").wheels == [] and Spec("car").wheels is not Spec("car").wheels


def test_every_option_of_a_run_is_one_of_both_commands_and_a_key_of_plans():
    fields = {f.name for f in dataclasses.fields(RunSpec)}
    assert fields - {one.name for one in OPTIONS} == {"program", "arguments", "serial"}
    assert {one.flag for one in OPTIONS} <= {one.flag for one in OF_RUN}
    shared = {one.name for one in OPTIONS} - VARIED - NOT_SWEPT
    assert {one.flag for one in SHARED_BY_SWEEPS} == {one.flag for one in OPTIONS if one.name in shared}
    of_plans = {"program", "arguments", "seeds", "baseline", "metrics"}
    assert set(Plan.model_fields) == shared | (VARIED - {"seed"}) | of_plans


def test_a_flag_that_turns_off_and_a_zero_are_given():
    values = dict.fromkeys([one.name for one in OF_RUN])
    assert run_fields(values) == {}
    given = values | {"no_ff": True, "trace": False, "seed": 0, "set": ["l2.size=1MiB"], "timeout": "2m", "series": []}
    assert run_fields(given) == {"fast_forward": False, "seed": 0, "set": {"l2.size": "1MiB"}, "timeout": 120.0}


def test_the_simulator_is_told_all_that_it_has(home):
    spec = RunSpec("sssp", cores=4, seed=0, roi="main", fast_forward=False, warm=True, sandbox="d", env=["A=1", "B=2"],
                   max_cycles=9, trace=True, trace_from=5, trace_cycles=6, instructions=True, watch="x", restore="c",
                   commit_order=True, interval=7, series=["a*", "b*"], mode="spec")  # fmt: skip
    command = spec.command(Path("out"))
    kept = "--set task.mayspec=spec --cores 4 --seed 0 --roi main --no-ff --warm --sandbox d --env A=1 --env B=2"
    measured = ("--max-cycles 9 --trace --trace-from 5 --trace-cycles 6 --instructions --watch x --restore c "
                "--commit-order --interval 7 --series a* --series b*")  # fmt: skip

    def options(words: list[str], end: str) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for word in words[: words.index(end)]:
            if word.startswith("--"):
                found.append(())
            found[-1] = (*found[-1], word)
        return sorted(found)

    assert options(command[1:], "--out") == options([*kept.split(), *measured.split(), "--out"], "--out")
    assert options(spec.checkpoint_command(Path("f"))[1:], "--checkpoint") == options([*kept.split(), "."], ".")


@pytest.mark.parametrize("one", [one for one in OPTIONS if one.option.only == "chip"], ids=lambda one: one.name)
def test_what_only_the_chip_has_is_refused_on_this_machine(home, one):
    value = {FLAG: not one.default, NUMBER: 1, LIST: {"l2.size": "1MiB"} if one.name == "set" else ["x"]}
    spec = RunSpec("sssp", engine="native", **{one.name: value.get(one.kind, "ideal")})
    with pytest.raises(UsageError, match=f"^{one.flag} is for the simulated chip; leave it out with --engine native.$"):
        spec.check()
