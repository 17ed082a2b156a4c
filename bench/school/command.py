"""The command line of `bench/publications`."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass
from pathlib import Path

from harness import BUILD, ROOT

# isort: split
from rich.table import Table

from harness.command import at_least_one, parser_of
from harness.programs import require
from rubato.cli import terminal
from rubato.errors import UsageError
from rubato.names import plural
from rubato.results.publication import Figure, Publication
from school import documents, turns
from school.conclusions import conclude
from school.estimates import Estimates
from school.points import Measured, Point, Simulated
from school.simulation import Outcome, Simulation, Task, default_jobs
from school.store import Places, Store
from school.study import SIZES, Study, load, names_in
from school.verification import verify

STYLES = {"reproduced": "green", "near": "yellow", "missed": "bold red", "not measured": "dim", "drawn": "cyan"}


def parse(text: str | None, words: list[str]) -> argparse.Namespace:
    parser = parser_of(text)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a publication, or all; without: the overview")
    parser.add_argument("--figures", metavar="KEY,...", help="only these figures, tables and sections")
    parser.add_argument("--size", choices=SIZES, default="quick", help="of the inputs (default quick)")
    parser.add_argument("--seeds", type=int, metavar="N",
                        help="seeds of a simulated point (default: the study's, or the point's)")  # fmt: skip
    parser.add_argument("--jobs", type=int, metavar="N", help="simulations at a time (default: one a processor)")
    parser.add_argument("--hours", type=float, metavar="H", help="stop in time; the next call continues")
    parser.add_argument("--only", choices=("simulated", "measured"), help="leave out the points of the other kind")
    parser.add_argument("--dry-run", action="store_true", help="say what is missing and how long it takes, run nothing")
    parser.add_argument("--verify", type=int, metavar="N", help="run N recorded points again and compare their hashes")
    parser.add_argument("--choose", type=int, metavar="SEED", help="of --verify: draw the points of an earlier call")
    parser.add_argument("--prune", action="store_true", help="drop records of points that no size of the study has, "
                        "and run nothing")  # fmt: skip
    parser.add_argument("--update-docs", action="store_true", help="write the tables of docs/publications, of what is "
                        "recorded, and run nothing")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of pages and records (docs)")
    parser.add_argument("--studies", type=Path, default=ROOT / "bench/studies", help="folder of the studies")
    options = parser.parse_args(words)
    for name in ("seeds", "jobs", "verify"):
        at_least_one(parser, f"--{name}", getattr(options, name))
    if options.hours is not None and not options.hours > 0:
        parser.error("--hours is above 0")
    if options.name is None and (options.verify or options.figures or options.prune):
        parser.error("--verify, --figures and --prune need a publication")
    if options.verify and options.prune:
        parser.error("--verify and --prune are two calls")
    return options


@dataclass(frozen=True)
class Family:
    """Measured points that take turns."""

    points: list[Measured]
    rounds: int

    def seconds(self, estimates: Estimates) -> float:
        return self.rounds * sum(map(estimates.of, self.points))


@dataclass(frozen=True)
class Plan:
    """What a call has to run."""

    tasks: list[Task]
    stale: int
    families: list[Family]
    seconds: float

    @property
    def count(self) -> int:
        return len(self.tasks) + sum(len(family.points) for family in self.families)

    @property
    def words(self) -> str:
        said = f"{self.count} points to run" + (f", {self.stale} of them stale" if self.stale else "")
        return said + (f"; about {terminal.wall_clock(self.seconds)}" if self.count else "; all is there")


class Call:
    """One call of the command: the options, and what it says on the way."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.places = Places(ROOT, BUILD)
        self.deadline = None if options.hours is None else time.monotonic() + 3600 * options.hours
        self.jobs = options.jobs or default_jobs()
        self.failed: list[str] = []

    def say(self, sentence: str) -> None:
        terminal.err.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def store(self, study: Study) -> Store:
        return Store(self.options.docs / "publications" / f"{study.name}.json", study, self.places)

    def figures(self, study: Study) -> list[str] | None:
        return self.options.figures.split(",") if self.options.figures else None

    def points(self, study: Study) -> list[Point]:
        """Points of the chosen figures at the chosen size: those of rows first, so that verdicts come early."""
        chosen = study.chosen(self.options.size, self.figures(study))
        parts = [part for figure in chosen for part in figure.rows] + [c for figure in chosen for c in figure.curves]
        found = {point.identity: point for part in parts for point in part.points}
        kinds = {"simulated": Simulated, "measured": Measured}
        only = kinds[self.options.only] if self.options.only else (Simulated, Measured)
        return [point for point in found.values() if isinstance(point, only)]

    def plan(self, study: Study, store: Store, *, make: bool = False) -> Plan:
        """What is missing or stale of the chosen points, and how long it takes. `make`: build the peers of points."""
        points, estimates = self.points(study), store.estimates()
        simulated = [p for p in points if isinstance(p, Simulated)]
        tasks, stale = self._tasks(study, store, self._possible(study, store, simulated), estimates)
        rounds = study.rounds[self.options.size]
        measured = self._usable(study, store, [p for p in points if isinstance(p, Measured)], make=make)
        families = [Family(family, family[0].rounds or rounds) for family in self._families(store, measured)]
        seconds = sum(task.estimate for task in tasks) / self.jobs
        return Plan(tasks, stale, families, seconds + sum(family.seconds(estimates) for family in families))

    def reproduce(self, study: Study) -> Store:
        """Runs what is missing or stale, and saves what came out. Pages, as a dry run, are of what is recorded."""
        store = self.store(study)
        runs = not (self.options.dry_run or self.options.update_docs)
        plan = self.plan(study, store, make=runs)
        self.say(f"{study.name}, {self.options.size}: {plan.words}")
        if not runs:
            return store
        self._simulate(store, plan.tasks)
        for i, family in enumerate(plan.families):
            self._measure(store, family)
            if waiting := plan.families[i + 1 :]:
                estimates = store.estimates()  # by what the families before took, too
                self.say(f"about {terminal.wall_clock(sum(f.seconds(estimates) for f in waiting))} left")
        self.save(store)
        return store

    def save(self, store: Store) -> None:
        store.publication.figures = conclude(store.study, store.samples())
        store.save()

    def _tasks(self, study: Study, store: Store, points: list[Simulated],
               estimates: Estimates) -> tuple[list[Task], int]:  # fmt: skip
        """The first seeds of all points go first."""
        tasks, stale = [], 0
        runs = [(seed, point) for point in points for seed in self._seeds(study, point)]
        for seed, point in sorted(runs, key=lambda run: run[0]):
            state = store.state(point, seed)
            stale += state == "stale"
            if state != "present":
                tasks.append(Task(point, seed, estimates.of(point)))
        return tasks, stale

    def _seeds(self, study: Study, point: Simulated) -> range:
        count: int = self.options.seeds or max(point.seeds, study.seeds[self.options.size])
        return range(1, count + 1)

    def _families(self, store: Store, points: list[Measured]) -> list[list[Measured]]:
        """Families of which something is missing that this machine has the processors for."""
        families: dict[str, list[Measured]] = {}
        for point in points:
            if point.processors <= default_jobs():
                families.setdefault(point.family, []).append(point)
        return [f for f in families.values() if any(store.state(point, 0) == "missing" for point in f)]

    def _possible(self, study: Study, store: Store, points: list[Simulated]) -> list[Simulated]:
        """The points but those of optional programs that are not built. It names those that have no record."""
        possible = list(points)
        for ending, remedy in study.optional.items():
            missing = [p for p in possible if p.program.endswith(ending) and not self.places.program(p).exists()]
            possible = [point for point in possible if point not in missing]
            new = [p for p in missing if any(store.state(p, seed) != "present" for seed in self._seeds(study, p))]
            if new:
                self.say(f"points left out, since {new[0].program} is not built: {len(new)}; {remedy}.")
        return possible

    def _usable(self, study: Study, store: Store, points: list[Measured], *, make: bool) -> list[Measured]:
        """The points but those of peers that are not installed or cannot be built, which it names. With `make` other
        peers are built, if a point of theirs is missing."""
        unusable: dict[str, str] = {}
        missing = [point for point in points if store.state(point, 0) == "missing"]
        for name in dict.fromkeys(point.needs for point in missing if point.needs):
            peer = study.peers[name]
            if not peer.is_installed():
                unusable[name] = f"{peer.title} is not installed; {peer.remedy}"
            elif make:
                try:
                    peer.make()
                except UsageError as e:
                    unusable[name] = str(e)
                    self.failed.append(unusable[name])
        for name, reason in unusable.items():
            count = sum(point.needs == name for point in missing)
            self.say(f"points left out: {count}, since {reason}")
        return [point for point in points if point.needs not in unusable]

    def _simulate(self, store: Store, tasks: list[Task]) -> None:
        if not tasks:
            return
        programs = {self.places.program(task.point) for task in tasks}
        require(self.places.build / "bin/rubato-chip", *sorted(programs))
        done, begun = 0, time.monotonic()
        waiting = sum(task.estimate for task in tasks)

        def on_done(outcome: Outcome) -> None:
            nonlocal done, waiting
            task = outcome.task
            done, waiting = done + 1, waiting - task.estimate
            if outcome.record is None:
                self.failed.append(f"{task.point.name}, seed {task.seed}: {outcome.reason}")
                self.say(self.failed[-1])
            else:
                store.add(task.point.of_seed(task.seed), outcome.record)
                store.save()
            left = max(waiting / self.jobs, (time.monotonic() - begun) / done * (len(tasks) - done) / 2)
            said = f"{done} of {len(tasks)}: {task.point.name}, seed {task.seed}"
            self.say(f"{said}; about {terminal.wall_clock(left)} left")

        left_out = Simulation(self.places, store.study.measures).run(tasks, self.jobs, on_done, self.deadline)
        if left_out:
            self.say(f"{left_out} points are left for the next call: --hours is over.")

    def _measure(self, store: Store, family: Family) -> None:
        def on_sample(point: Measured, round_: int) -> None:
            self.say(f"round {round_ + 1} of {family.rounds}: {point.name}")

        records = turns.measure(family.points, family.rounds, self.places, on_sample, self.deadline)
        if records is None:
            self.say(f"{family.points[0].family} is left for the next call: --hours is over.")
            return
        for point, record in zip(family.points, records, strict=True):
            store.add(point.of_seed(), record)
        store.save()

    def verify(self, study: Study) -> dict[str, object]:
        store = self.store(study)
        seed = random.randrange(10_000) if self.options.choose is None else self.options.choose
        points = [point for point in self.points(study) if isinstance(point, Simulated)]
        self.say(f"{study.name}: points are drawn by --choose {seed}")
        found = verify(store, points, self.options.verify, seed, self.jobs)
        for name in found.different:
            self.failed.append(f"{name}: the statistics have another hash than recorded")
            self.say(self.failed[-1])
        same, count = len(found.same), len(found.same) + len(found.different)
        said = f"{study.name}: {same} of {count} points have the recorded hash"
        self.say(said + (f"; {found.left_out}" if found.left_out else "") + ".")
        return {"name": study.name, "choose": seed, "same": found.same, "different": found.different,
                "stale": found.stale, "unbuilt": found.unbuilt}  # fmt: skip

    def prune(self, study: Study) -> dict[str, object]:
        store = self.store(study)
        pruned = store.prune()
        if pruned and not self.options.dry_run:
            self.save(store)
        self.say(f"{study.name}: {plural(pruned, 'record')} of points that no size has"
                 + (", to be dropped." if self.options.dry_run else ", dropped."))  # fmt: skip
        return {"name": study.name, "pruned": pruned}

    def state(self, study: Study, store: Store) -> str:
        """How many records are of the present model."""
        records = store.publication.records.values()
        points = study.points()
        simulated = [r for r in records if r.kind == "simulated"]
        present = sum(r.point in points and store.state_of(r, points[r.point]) == "present" for r in simulated)
        measured = len(list(records)) - len(simulated)
        said = f"{present} of {len(simulated)} points of the present model"
        return said + (f", {measured} measured" if measured else "")


def show(figures: list[Figure]) -> None:
    table = Table(box=None, pad_edge=False)
    for title in ("figure", "what", "published", "ours", "bar", "verdict"):
        table.add_column(title, justify="right" if title in ("published", "ours", "bar") else "left", overflow="fold")
    for figure in figures:
        for row in figure.rows:
            verdict = f"[{STYLES[row.verdict]}]{row.verdict}[/]"
            table.add_row(figure.key, row.what, documents.published_of(row), documents.ours_of(row),
                          documents.bar_of(row), verdict)  # fmt: skip
    terminal.out.print(table)


def show_overview(call: Call, studies: list[Study]) -> dict[str, object]:
    found: dict[str, object] = {}
    for study in studies:
        store = call.store(study)
        figures = conclude(study, store.samples())
        state, plan = call.state(study, store), call.plan(study, store)
        found[study.name] = {"title": study.title, "state": state, "to_run": plan.count, "seconds": plan.seconds,
                             "figures": {f.key: {"title": f.title, "verdict": f.verdict} for f in figures}}  # fmt: skip
        if call.options.json:
            continue
        terminal.out.print(f"{study.name}: {study.title}; {documents.counts_of(figures)}; {state}; "
                           f"{call.options.size}: {plan.words}", highlight=False, soft_wrap=True)  # fmt: skip
        table = Table(box=None, pad_edge=False, show_header=False)
        for figure in figures:
            table.add_row("", figure.key, f"[{STYLES[figure.verdict]}]{figure.verdict}[/]", figure.title, figure.reason)
        terminal.out.print(table)
    return found


def lost_rows(store: Store) -> list[str]:
    """Rows that had a value in the file, and have none by its records."""
    found = {row.key: row for figure in store.publication.figures for row in figure.rows}
    before = (row for figure in store.recorded.figures for row in figure.rows)
    return [row.key for row in before if row.ours is not None and row.key in found and found[row.key].ours is None]


def update_docs(call: Call, names: list[str]) -> None:
    """Tables of the pages of `names`, and the overview of all."""
    publications: dict[str, Publication] = {}
    for name in names_in(call.options.studies):
        study = load(name, call.options.studies)
        store = call.store(study)
        store.publication.figures = conclude(study, store.samples())
        publications[name] = store.publication
        if name in names:
            if lost := lost_rows(store):
                call.say(f"{name}: rows without a record, since study.py has other points now: {', '.join(lost)}.")
            call.save(store)
            documents.update(call.options.docs / "publications", name, store.publication)
    documents.update_overview(call.options.docs / "publications.md", publications)


def work(call: Call) -> None:
    options = call.options
    known = names_in(options.studies)
    names = known if options.name in (None, "all") else [options.name]
    studies = [load(name, options.studies) for name in names]
    for study in studies:
        study.chosen(options.size, call.figures(study))  # wrong names are refused before anything is run
    answer: list[object] = []
    if options.name is None:
        answer.append(show_overview(call, studies))
    for study in studies if options.name is not None else []:
        if options.verify:
            answer.append(call.verify(study))
            continue
        if options.prune:
            answer.append(call.prune(study))
            continue
        store = call.reproduce(study)
        keys = call.figures(study)
        chosen = {figure.key for figure in study.chosen(options.size, keys)}
        figures = [f for f in conclude(study, store.samples()) if f.key in chosen]
        answer.append({"name": study.name, "figures": [f.model_dump() for f in figures]})
        if not options.json and not options.dry_run:
            show(figures)
    if options.update_docs:
        update_docs(call, names)
    if options.json:
        print(json.dumps(answer))


def main(text: str | None, words: list[str]) -> int:
    call = Call(parse(text, words))
    try:
        work(call)
    except UsageError as e:
        call.say(f"bench/publications: {e}")
        return 2
    except KeyboardInterrupt:
        call.say("bench/publications: interrupted; what was run is kept, and the same command continues.")
        return 130
    return 1 if call.failed else 0
