"""Speculative lagging: programs of the Savina suite and two actors with work between messages, without and with it.

A point is a program of this machine; without and with lagging it takes turns. `bench/lagging` guards the speed of the
same programs against bars of this machine.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

from harness import ROOT
from rubato.results.intervals import Interval
from rubato.results.publication import Mark
from rubato.results.run import Run
from school.points import Measured
from school.samples import Samples
from school.study import SIZES, Curve, Figure, Row, Study, published_values
from school.verdicts import Bar

PUBLISHED = published_values(Path(__file__))
WORKERS = ("RUBATO_WORKERS", "2")
GAPS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
GAINING = ("pingpong", "threadring")
OTHERS = ("count", "fjcreate", "chameneos", "big", "fib", "radixsort", "sieve")
IDLE = ("Its turns are 20 to 60 ns apart here, and a look takes 25 ns: no turn lags, and one worker runs actors that "
        "answer each other.")  # fmt: skip


def savina(name: str, mode: str, size: str) -> Measured:
    small = ("--small",) if size == "quick" else ()
    command = ("{build}/bin/savina-native", "--benchmark", name, "--iterations", "8", "--verify", "--json", *small)
    return Measured(f"{name}, lagging {mode}", f"{name}, {size}", command, (WORKERS, ("RUBATO_LAG", mode)),
                    values=("iterations",), size=size)  # fmt: skip


def gap(us: float, mode: str, size: str) -> Measured:
    command = ("{build}/bin/bench_actor_gap", f"{us:g}", "1000" if size == "quick" else "10000")
    return Measured(f"gap of {us:g} us, lagging {mode}", f"gap of {us:g} us, {size}", command,
                    (WORKERS, ("RUBATO_LAG", mode)), values=("us_a_message",), size=size)  # fmt: skip


def over(key: str, above: Measured, below: Measured, bar: Bar, why: str = "") -> Row:
    return Row(key, (above, below), lambda found: found.ratio(above, below, "iterations"), bar, why)


def samples_of_a_phase() -> float:
    """The constant of the engine."""
    text = (ROOT / "native/lag/record.hpp").read_text()
    found = re.search(r"unsigned samples = (\d+);", text)
    assert found is not None
    return float(found[1])


def sweep(size: str) -> Curve:
    pairs = {us: (gap(us, "off", size), gap(us, "on", size)) for us in GAPS}

    def marks(found: Samples) -> list[Mark]:
        return [Mark(x=us, y=i.mean, low=i.low, high=i.high)
                for us, pair in pairs.items() for i in [found.ratio(*pair, "us_a_message")]]  # fmt: skip

    return Curve("time without lagging over time with it", tuple(p for pair in pairs.values() for p in pair), marks)


def figures(size: str) -> list[Figure]:
    modes = {name: (savina(name, "off", size), savina(name, "on", size)) for name in (*GAINING, *OTHERS, "fjthrput")}
    exact = Interval(samples_of_a_phase(), None, None, 1)
    return [
        Figure("2", "Numbers of the analysis", rows=(
            Row("sample-size", (), lambda _: exact, Bar(43, 43), counts_at=SIZES),
        ), sentence="The engine decides after as many samples (`native/lag/record.hpp`)."),
        Figure("4", "The Savina suite", rows=(
            *(over(f"off-{name}", *modes[name], Bar(least=1.0), IDLE) for name in GAINING),
            *(over(f"off-{name}", *reversed(modes[name]), Bar(most=1.05)) for name in OTHERS),
        )),
        Figure("5", "Estimated switch, parallelism and sampling rate", rows=(
            over("fork-join", *modes["fjthrput"], Bar(least=1.3), IDLE),)),
        Figure("gap", "Two actors that work between messages", "lines", "us of work a message", "off / on",
               (sweep(size),), sentence="Not in the publication: lagging against the time between messages."),
    ]  # fmt: skip


def measures(_: Run) -> dict[str, float]:
    raise AssertionError("no point is simulated")


NOT_MEASURED = {
    "akka": "Akka is not part of this system; bench/actors compares with Pekko, CAF, Go and Erlang.",
    "akka-count": "Akka is not part of this system; bench/actors compares with Pekko, CAF, Go and Erlang.",
    "messages-fixed": "Arithmetic of the analysis; the engine always samples adaptively.",
    "messages-low": "A bound of the analysis; no run counts messages until an actor decides.",
    "messages-high": "A bound of the analysis; no run counts messages until an actor decides.",
    "sampling-overhead": "The engine bounds it by an account of 0.2 % of all sleeps, which no run varies.",
    "rate": "The engine's rate is 0.2 % by design, and no run varies it.",
    "switch-512": "The engine measures what a switch costs in time; it does not count spins.",
}

STUDY = Study(
    name="lagging",
    title="Speculative lagging",
    source="The publication on speculative lagging",
    figures=figures,
    measures=measures,
    seeds={"quick": 1, "sampled": 1, "full": 1},
    rounds={"quick": 3, "sampled": 15, "full": 15},
    not_measured=NOT_MEASURED,
)
