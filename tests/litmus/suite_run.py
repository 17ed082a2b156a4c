"""The litmus suite: many tests on many chips, several processes at a time, and what came."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import groupby

from cycle_code import text_of
from litmus_chip import Runs, Settings, run
from litmus_cycle import Cycle
from litmus_file import parse, shown
from rvwmo import Model

PROTOCOLS = ("mesi", "sparse", "tokenb", "mosaic", "flask", "late")
CORE_MODELS = ("inorder", "window")
TESTS_OF_A_PROGRAM = 40


@dataclass
class Verdict:
    """What the model says of a test, and what came."""

    name: str
    cycle: str
    allowed: set[str]
    target: set[str]  #: the allowed outcome of the cycle, if it is allowed
    seen: set[str] = field(default_factory=set)
    chips_of_target: set[Settings] = field(default_factory=set)
    forbidden: Counter[tuple[str, Settings, int]] = field(default_factory=Counter)  #: by outcome, chip and seed
    rounds: int = 0

    @property
    def word(self) -> str:
        """Whether the model allows the cycle's outcome."""
        return "Allowed" if self.target else "Forbidden"

    def add(self, chip: Settings, seed: int, outcome: str, count: int) -> None:
        self.rounds += count
        if outcome not in self.allowed:
            self.forbidden[outcome, chip, seed] += count
            return
        self.seen.add(outcome)
        if outcome in self.target:
            self.chips_of_target.add(chip)


def judge(cycle: Cycle, *, rvwmo: bool = True) -> tuple[Model, Verdict]:
    """The model's word about the test of a cycle."""
    test = parse(text_of(cycle))
    model = Model(test, rvwmo)
    outcomes = {shown(o, test.observed): test.holds(o) for o in model.outcomes()}
    target = {outcome for outcome, holds in outcomes.items() if holds}
    return model, Verdict(cycle.name, str(cycle), set(outcomes), target)


def shard(cycles: Sequence[Cycle], number: int, of: int) -> list[Cycle]:
    """Every `of`-th cycle, from the one with this number on, which counts from 1."""
    return list(cycles[number - 1 :: of])


def batches(cycles: Iterable[Cycle], size: int = TESTS_OF_A_PROGRAM) -> list[list[Cycle]]:
    """Tests that share a program: they have as many threads each."""
    found = []
    for _, same in groupby(sorted(cycles, key=lambda c: c.threads), key=lambda c: c.threads):
        alike = list(same)
        found += [alike[i : i + size] for i in range(0, len(alike), size)]
    return found


def run_batch(cycles: Sequence[Cycle], runs: Runs, rvwmo: bool) -> list[Verdict]:
    """Runs the tests of a batch. @raises LitmusError."""
    judged = [judge(cycle, rvwmo=rvwmo) for cycle in cycles]
    models, verdicts = [m for m, _ in judged], [v for _, v in judged]
    for chip, seed, histograms in run(models, runs):
        for model, verdict, histogram in zip(models, verdicts, histograms, strict=True):
            for outcome, count in histogram:
                verdict.add(chip, seed, shown(outcome, model.test.observed), count)
    return verdicts


def run_suite(
    cycles: Sequence[Cycle], runs: Runs, jobs: int, *, rvwmo: bool = True, progress: Callable[[list[Verdict]], None]
) -> list[Verdict]:
    """Runs the tests, `jobs` programs at a time; `progress` gets each batch's verdicts as they come.

    @returns all, in the order of the cycles. @raises LitmusError."""
    place = {cycle.name: n for n, cycle in enumerate(cycles)}
    verdicts: list[Verdict] = []
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run_batch, batch, runs, rvwmo) for batch in batches(cycles)]
        try:
            for done in as_completed(waiting):
                verdicts += done.result()
                progress(verdicts[-len(done.result()) :])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return sorted(verdicts, key=lambda v: place[v.name])
