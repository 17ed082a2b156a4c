"""XTasking: YCSB on the B-link tree, by programming model, synchronization, prefetching and reclamation.

A point is `ycsb-native`; the configurations of a workload take turns on all processors of this machine. The publication
has two sockets of 12 cores, 100 million records and as many operations. `bench/native` guards the speed of the same
programs against bars of this machine, and `bench/native_activity` counts cycles by activity.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

from rubato.results.intervals import Interval
from rubato.results.publication import Mark
from rubato.results.run import Run
from school.points import Measured
from school.samples import Samples
from school.study import Curve, Figure, Row, Study
from school.verdicts import Bar

RATE, LOADED = "million_requests_a_second", "million_loaded_a_second"
#: Workers of the figure over workers; a machine runs as many of them as it has processors.
WORKERS = (1, 2, 4, 8, 16, 32, 64)
SIZES_OF = {
    "quick": ("--records", "200000", "--operations", "300000"),
    "sampled": ("--records", "40000000", "--operations", "20000000"),
    "full": ("--records", "100000000", "--operations", "100000000"),
}
SYNCS = ("spin", "rw", "optimistic")
FEW = "Two processors of one socket: too few for latches to be contended as on 48 logical cores."


def ycsb(name: str, workload: str, size: str, *arguments: str, **environment: str) -> Measured:
    command = ("{build}/bin/ycsb-native", "--json", *SIZES_OF[size], "--workload", workload, *arguments)
    return Measured(f"YCSB {workload}: {name}", f"YCSB {workload}, {size}", command, tuple(environment.items()),
                    values=(RATE,), size=size, estimate={"quick": 0.5, "sampled": 20, "full": 120}[size])  # fmt: skip


def tasks(workload: str, size: str) -> Measured:
    return ycsb("tasks", workload, size)


def no_prefetch(workload: str, size: str) -> Measured:
    return ycsb("tasks, no prefetching", workload, size, RUBATO_PREFETCH="off")


def threads(workload: str, size: str, sync: str) -> Measured:
    return ycsb(f"threads, {sync}", workload, size, "--variant", "threads", "--sync", sync)


def with_sync(workload: str, size: str, sync: str) -> Measured:
    return ycsb(f"tasks, {sync}", workload, size, "--sync", sync)


def reclaiming(workload: str, size: str, how: str) -> Measured:
    return ycsb(f"tasks, reclamation {how}", workload, size, RUBATO_RECLAIM=how)


def onetbb(workload: str, size: str) -> Measured:
    return ycsb("oneTBB, optimistic", workload, size, "--variant", "tbb-step", "--sync", "optimistic")


def speculative(workload: str, size: str) -> Measured:
    """Reader/writer latches of oneTBB that use hardware transactions where the processor has them."""
    return ycsb("oneTBB, speculative", workload, size, "--variant", "tbb-lookup", "--sync", "speculative")


#: The indexes that the publication has beside the task tree, by variant of the program.
INDEXES = {"olc": "BtreeOLC", "masstree": "Masstree", "bwtree": "Bw-tree"}


def index(workload: str, size: str, variant: str) -> Measured:
    return ycsb(INDEXES[variant], workload, size, "--variant", variant)


def inserts(name: str, size: str, *arguments: str) -> Measured:
    """The records of a run, inserted into the empty index; as in the publication, the load phase."""
    records = SIZES_OF[size][:2]
    command = ("{build}/bin/ycsb-native", "--json", *records, "--operations", "1000", "--load", "insert", *arguments)
    return Measured(f"inserts: {name}", f"inserts, {size}", command, values=(LOADED,), size=size,
                    estimate={"quick": 0.5, "sampled": 40, "full": 240}[size])  # fmt: skip


def over(key: str, above: Measured, below: Measured, bar: Bar, why: str = "") -> Row:
    """The rate of `above` over that of `below`."""
    return Row(key, (above, below), lambda found: found.ratio(above, below, RATE), bar, why)


def bars(workload: str, points: dict[str, Measured]) -> tuple[Curve, ...]:
    def curve(name: str, point: Measured) -> Curve:
        def marks(found: Samples) -> list[Mark]:
            i = found.interval(point, point.values[0])
            label = "inserts" if workload == INSERTS else f"YCSB {workload}"
            return [Mark(label=label, y=i.mean, low=i.low, high=i.high)]

        return Curve(name, (point,), marks)

    return tuple(curve(name, point) for name, point in points.items())


INSERTS = "I"  # beside YCSB's letters


def model(workload: str, size: str, arguments: tuple[str, ...], name: str) -> Measured:
    return inserts(name, size, *arguments) if workload == INSERTS else ycsb(name, workload, size, *arguments)


TITLES = {"C": "Lookups", "A": "Reads and updates", INSERTS: "Inserts"}
#: Curves of the figure over workers: programming models of the B-link tree, and the other indexes.
MODELS = {
    "tasks": (),
    "threads": ("--variant", "threads", "--sync", "optimistic"),
    "oneTBB": ("--variant", "tbb-step", "--sync", "optimistic"),
    **{name: ("--variant", variant) for variant, name in INDEXES.items()},
}


def over_workers(workload: str, size: str) -> tuple[Curve, ...]:
    def curve(name: str, arguments: tuple[str, ...]) -> Curve:
        points = {n: replace(model(workload, size, (*arguments, "--workers", str(n)), f"{name}, {n} workers"),
                             processors=n) for n in WORKERS}  # fmt: skip

        def marks(found: Samples) -> list[Mark]:
            there = {n: point for n, point in points.items() if found.has(point)}
            intervals = {n: found.interval(point, point.values[0]) for n, point in there.items()}
            return [Mark(x=n, y=i.mean, low=i.low, high=i.high) for n, i in intervals.items()]

        return Curve(name, tuple(points.values()), marks, needed=(points[1],))

    return tuple(curve(name, arguments) for name, arguments in MODELS.items())


def figures(size: str) -> list[Figure]:
    rate, both = "M requests/s", ("C", "A")
    lookups = tasks("C", size)
    unfetched = replace(inserts("tasks, no prefetching", size), environment=(("RUBATO_PREFETCH", "off"),))

    def value(found: Samples) -> Interval:
        return found.interval(lookups, RATE)

    models = tuple(curve for w in both for curve in bars(w, {
        "tasks": tasks(w, size),
        **{f"tasks, {sync}": with_sync(w, size, sync) for sync in (*SYNCS, "scheduled")},
        **{f"threads, {sync}": threads(w, size, sync) for sync in SYNCS},
        "oneTBB": onetbb(w, size), "oneTBB, speculative": speculative(w, size),
        **{name: index(w, size, variant) for variant, name in INDEXES.items()},
    }))  # fmt: skip
    models += bars(INSERTS, {name: inserts(name, size, *arguments) for name, arguments in MODELS.items()})
    return [
        Figure("7", "Task memory", reason="Cycles of single activities need the processor's counters, which virtual "
               "machines do not offer; `bench/native --rows allocation-local,allocation-malloc` compares times."),
        Figure("8", "Levels of task allocation", reason="A drawing: the engine's heap has three levels, too, as "
               "docs/inside.md says."),
        Figure("9", "Hash join by records a task", reason="The text gives no numbers to hold ours against; "
               "`bench/native --rows join` draws ours."),
        Figure("10", "Prefetching", "bars", "", rate,
               tuple(c for w in both for c in bars(w, {"prefetching": tasks(w, size), "none": no_prefetch(w, size)}))
               + bars(INSERTS, {"prefetching": inserts("tasks", size), "none": unfetched}),
               (Row("prefetch-insert", (inserts("tasks", size), unfetched),
                    lambda found: found.ratio(inserts("tasks", size), unfetched, LOADED), Bar(least=1.1)),
                over("prefetch-C", tasks("C", size), no_prefetch("C", size), Bar(least=1.3)),
                over("prefetch-A", tasks("A", size), no_prefetch("A", size), Bar(least=1.1)))),
        Figure("11", "Reclamation by epochs", "bars", "", rate,
               tuple(c for w in both for c in bars(w, {"batched": tasks(w, size),
                                                       "each task": reclaiming(w, size, "task"),
                                                       "none": reclaiming(w, size, "off")})),
               tuple(over(f"reclamation-{w}", tasks(w, size), reclaiming(w, size, "off"), Bar(least=0.98))
                     for w in both)),
        Figure("12", "Programming models and synchronization", "bars", "", rate, models, (
            over("scheduled-spin", with_sync("A", size, "scheduled"), threads("A", size, "spin"), Bar(least=1), FEW),
            over("rw-threads", with_sync("C", size, "rw"), threads("C", size, "rw"), Bar(least=1.2), FEW),
            over("htm-tasks", speculative("C", size), with_sync("C", size, "rw"), Bar(least=1.04), FEW),
            over("htm-threads", speculative("C", size), threads("C", size, "rw"), Bar(least=1.48), FEW),
            over("tasks-threads", lookups, threads("C", size, "optimistic"), Bar(least=1.29)),
            over("updates-threads", threads("A", size, "optimistic"), tasks("A", size), Bar(most=1.04)),
            over("tasks-masstree", lookups, index("C", size, "masstree"), Bar(least=1.09)),
            Row("lookups", (lookups,), value, Bar(least=74.6), "A machine with fewer processors."),
        )),
        *(Figure(f"12-{w}", f"{title} by workers", "lines", "workers", rate,
                 over_workers(w, size)) for w, title in TITLES.items()),
        Figure("13", "Cycles by activity", reason="The text gives no numbers to hold ours against; "
               "`bench/native_activity` draws ours."),
    ]  # fmt: skip


def measures(_: Run) -> dict[str, float]:
    raise AssertionError("no point is simulated")


COUNTERS = "Stalls and instructions need the processor's counters, which virtual machines do not offer."
RATES = "Absolute rates are of the publication's machine; the figure has ours."
NOT_MEASURED = {
    "stalls-read-only": COUNTERS, "stalls-inserts": COUNTERS, "stalls-reads": COUNTERS, "instructions": COUNTERS,
    "lookups-threads": RATES, "lookups-masstree": RATES, "lookups-olc": RATES,
}  # fmt: skip

STUDY = Study(
    name="xtasking",
    title="XTasking: a task-based framework for data structures",
    source="XTasking",
    figures=figures,
    measures=measures,
    seeds={"quick": 1, "sampled": 1, "full": 1},
    rounds={"quick": 3, "sampled": 15, "full": 15},
    not_measured=NOT_MEASURED,
)
