"""XTasking: YCSB on the B-link tree, by programming model, synchronization, prefetching and reclamation.

A point is `ycsb-native`; the configurations of a workload take turns on all processors of this machine. The publication
has two sockets of 12 cores, 100 million records and as many operations. `bench/native` guards the speed of the same
programs against bars of this machine, and `bench/native_activity` counts cycles by activity.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

from harness.native_rows import EQUIVALENT_GRAINS, GRAINS
from rubato.results.intervals import Interval, interval
from rubato.results.publication import Mark
from rubato.results.run import Run
from school.points import Measured
from school.samples import Samples
from school.study import SIZES, Curve, Figure, Row, Study
from school.verdicts import Bar

RATE, LOADED = "million_requests_a_second", "million_loaded_a_second"
#: Workers of the figure over workers; a machine runs as many of them as it has processors.
WORKERS = (1, 2, 4, 8, 16, 32, 64)
SIZES_OF = {
    "quick": ("--records", "200000", "--operations", "300000"),
    "sampled": ("--records", "16000000", "--operations", "8000000"),
    "full": ("--records", "100000000", "--operations", "100000000"),
}
#: Seconds of a process of two workers: of requests on a loaded tree, on an index that is loaded by insertions, and
#: of insertions; of a sampling and what finds its lines; of a counting by callgrind.
SECONDS = {"quick": 0.4, "sampled": 6, "full": 50}
SECONDS_OF_INDEX = {"quick": 0.5, "sampled": 12, "full": 90}
SECONDS_OF_INSERTS = {"quick": 0.2, "sampled": 6, "full": 45}
SECONDS_OF_SAMPLING, SECONDS_OF_COUNTING = {"quick": 6, "sampled": 18, "full": 120}, 40
SYNCS = ("spin", "rw", "optimistic")
#: The indexes that the publication has beside the task tree, by variant of the program.
INDEXES = {"olc": "BtreeOLC", "masstree": "Masstree", "bwtree": "Bw-tree"}
SHORT = "Three samplings of a second each do not tell shares of prefetching apart."
SPREAD = "A ratio of the slowest to the fastest of six times grows with the noise of each."
NOISE = "Five rounds on this machine do not tell 2 % apart from noise."
MALLOC = "Two processors, and malloc has caches of each thread: nothing contends for it as on 48 logical cores."
FEW = "Two processors of one socket: too few for latches to be contended as on 48 logical cores."


def ycsb(name: str, workload: str, size: str, *arguments: str, **environment: str) -> Measured:
    command = ("{build}/bin/ycsb-native", "--json", *SIZES_OF[size], "--workload", workload, *arguments)
    seconds = SECONDS_OF_INDEX if INDEXES.keys() & set(arguments) else SECONDS
    return Measured(f"YCSB {workload}: {name}", f"YCSB {workload}, {size}", command, tuple(environment.items()),
                    values=(RATE,), size=size, estimate=seconds[size])  # fmt: skip


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


def index(workload: str, size: str, variant: str) -> Measured:
    return ycsb(INDEXES[variant], workload, size, "--variant", variant)


def inserts(name: str, size: str, *arguments: str) -> Measured:
    """The records of a run, inserted into the empty index; as in the publication, the load phase."""
    records = SIZES_OF[size][:2]
    command = ("{build}/bin/ycsb-native", "--json", *records, "--operations", "1000", "--load", "insert", *arguments)
    return Measured(f"inserts: {name}", f"inserts, {size}", command, values=(LOADED,), size=size,
                    estimate=SECONDS_OF_INSERTS[size])  # fmt: skip


def over(key: str, above: Measured, below: Measured, bar: Bar, why: str = "") -> Row:
    """The rate of `above` over that of `below`."""
    return Row(key, (above, below), lambda found: found.ratio(above, below, above.values[0]), bar, why)


ACTIVITIES = ("traversal", "operation in the leaf", "synchronization", "prefetching", "reclamation",
              "tasks: create, find, start, end", "memory of tasks", "kernel", "client and libraries")  # fmt: skip
TRAVERSAL, SYNCHRONIZATION, PREFETCHING, TASK_MEMORY = (ACTIVITIES[i] for i in (0, 2, 3, 6))
#: Variants of bench/native_activity that Fig. 13 has, and those of Fig. 7.
MODELS_SAMPLED = {"tasks": "tasks", "threads": "threads", "tbb-step": "oneTBB", **INDEXES}
MEMORY_SAMPLED = {"malloc": "malloc", "tasks": "multi-level allocator"}


def activity(variant: str, size: str) -> Measured:
    """Cycles of a lookup by activity, by where the program is when the clock asks."""
    records, operations = SIZES_OF[size][1], max(3_000_000, int(SIZES_OF[size][3]))  # at least a second of samples
    command = ("{root}/bench/native_activity", "--sample", variant, "--workloads", "C", "--records", records,
               "--operations", str(operations))  # fmt: skip
    return Measured(f"cycles of a lookup: {variant}", f"cycles of lookups, {size}", command,
                    values=ACTIVITIES, rounds=1 if size == "quick" else 3, size=size,
                    estimate=SECONDS_OF_SAMPLING[size])  # fmt: skip


def cycles(key: str, of: str, variant: str, size: str) -> Row:
    """Cycles of `variant` in an activity over those of tasks."""
    theirs, ours = activity(variant, size), activity("tasks", size)
    return Row(key, (theirs, ours), lambda found: found.ratio(theirs, ours, of), Bar(least=1))


def by_activity(variants: dict[str, str], size: str) -> tuple[Curve, ...]:
    points = {title: activity(variant, size) for variant, title in variants.items()}

    def curve(of: str) -> Curve:
        def marks(found: Samples) -> list[Mark]:
            return [Mark(label=title, y=found.mean(point, of)) for title, point in points.items()]

        return Curve(of, tuple(points.values()), marks)

    return tuple(curve(of) for of in ACTIVITIES)


def task_memory(size: str) -> tuple[Row, ...]:
    """Fig. 7. Bars are half of what the publication saw on 48 cores, since fewer contend for malloc here."""
    ours, theirs = activity("tasks", size), activity("malloc", size)

    def share(found: Samples) -> Interval:
        rounds = zip(*(found.values(theirs, of) for of in ACTIVITIES), strict=True)
        return interval([100 * cycles[ACTIVITIES.index(TASK_MEMORY)] / sum(cycles) for cycles in rounds])

    def saved(found: Samples) -> Interval:
        rounds = zip(found.values(ours, PREFETCHING), found.values(theirs, PREFETCHING), strict=True)
        return interval([100 * (1 - with_heap / with_malloc) for with_heap, with_malloc in rounds])

    return (Row("malloc-cycles", (theirs,), lambda found: found.interval(theirs, TASK_MEMORY), Bar(least=225), MALLOC),
            Row("heap-cycles", (ours,), lambda found: found.interval(ours, TASK_MEMORY), Bar(most=30)),
            Row("malloc-share", (theirs,), share, Bar(least=8), MALLOC),
            Row("prefetch-cycles", (ours, theirs), saved, Bar(least=3.5), SHORT))  # fmt: skip


USUAL = 4096  # of GRAINS, beside which the others are held
SCALES, SECONDS_OF_JOIN = {"quick": "0.2", "sampled": "10", "full": "100"}, {"quick": 0.3, "sampled": 8, "full": 90}


def joins(name: str, size: str, *arguments: str) -> Measured:
    command = ("{build}/bin/hashjoin-native", "--json", "--scale", SCALES[size], *arguments)
    return Measured(f"hash join: {name}", f"hash join, {size}", command, size=size, estimate=SECONDS_OF_JOIN[size])


def join(records: int, size: str) -> Measured:
    return joins(f"{records} records a task", size, "--records-per-task", str(records))


def join_curves(size: str) -> tuple[Curve, ...]:
    tasks = {n: join(n, size) for n in GRAINS}

    def curve(name: str, points: dict[int, Measured]) -> Curve:
        def marks(found: Samples) -> list[Mark]:
            return [Mark.of(found.interval(point, "seconds"), x=n) for n, point in points.items()]

        return Curve(name, tuple(points.values()), marks)

    return (curve("tasks", tasks),
            curve("threads", {USUAL: joins("threads, morsels of 4096", size, "--variant", "threads")}),
            curve("oneTBB", {USUAL: joins("oneTBB, ranges of 4096", size, "--variant", "tbb")}))  # fmt: skip


def join_rows(size: str) -> tuple[Row, ...]:
    usual, equivalent = join(USUAL, size), tuple(join(n, size) for n in EQUIVALENT_GRAINS)

    def spread(found: Samples) -> Interval:
        rounds = zip(*(found.values(point, "seconds") for point in equivalent), strict=True)
        return interval([max(seconds) / min(seconds) for seconds in rounds])

    def over_usual(key: str, records: int, least: float) -> Row:
        point = join(records, size)
        return Row(key, (point, usual), lambda found: found.ratio(point, usual, "seconds"), Bar(least=least), NOISE)

    return (Row("join-range", equivalent, spread, Bar(most=1.1), SPREAD), over_usual("join-small", 16, 2),
            over_usual("join-large", 1 << 20, 1))  # fmt: skip


def counted(variant: str, size: str) -> Measured:
    """Instructions of a lookup on one worker, by callgrind: exact, so that one round does."""
    command = ("{root}/bench/native_activity", "--count", variant, "--workloads", "C")
    return Measured(f"instructions of a lookup: {variant}", f"instructions of lookups, {size}", command,
                    values=("all",), rounds=1, size=size, estimate=SECONDS_OF_COUNTING)  # fmt: skip


def added_instructions(size: str) -> Row:
    fetching, plain = counted("tasks", size), counted("no-prefetch", size)

    def value(found: Samples) -> Interval:
        return Interval(found.mean(fetching, "all") - found.mean(plain, "all"), None, None, 1)

    return Row("instructions", (fetching, plain), value, Bar(most=245), counts_at=SIZES)


def bars(workload: str, points: dict[str, Measured]) -> tuple[Curve, ...]:
    def curve(name: str, point: Measured) -> Curve:
        def marks(found: Samples) -> list[Mark]:
            i = found.interval(point, point.values[0])
            label = "inserts" if workload == INSERTS else f"YCSB {workload}"
            return [Mark.of(i, label=label)]

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
            return [Mark.of(i, x=n) for n, i in intervals.items()]

        return Curve(name, tuple(points.values()), marks, needed=(points[1],))

    return tuple(curve(name, arguments) for name, arguments in MODELS.items())


def inserted(above: str, below: str, size: str) -> tuple[Measured, Measured]:
    return inserts(above, size, *MODELS[above]), inserts(below, size, *MODELS[below])


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
        Figure("7", "Task memory", "stacks", "", "cycles a lookup",
               by_activity(MEMORY_SAMPLED, size),
               task_memory(size)),
        Figure("8", "Levels of task allocation", reason="A drawing: the engine's heap has three levels, too, as "
               "docs/inside.md says."),
        Figure("9", "Hash join by records a task", "lines", "records a task", "s", join_curves(size),
               join_rows(size)),
        Figure("10", "Prefetching", "bars", "", rate,
               tuple(c for w in both for c in bars(w, {"prefetching": tasks(w, size), "none": no_prefetch(w, size)}))
               + bars(INSERTS, {"prefetching": inserts("tasks", size), "none": unfetched}),
               (Row("prefetch-insert", (inserts("tasks", size), unfetched),
                    lambda found: found.ratio(inserts("tasks", size), unfetched, LOADED), Bar(least=1.1)),
                over("prefetch-C", tasks("C", size), no_prefetch("C", size), Bar(least=1.3)),
                over("prefetch-A", tasks("A", size), no_prefetch("A", size), Bar(least=1.1)),
                added_instructions(size))),
        Figure("11", "Reclamation by epochs", "bars", "", rate,
               tuple(c for w in both for c in bars(w, {"batched": tasks(w, size),
                                                       "each task": reclaiming(w, size, "task"),
                                                       "none": reclaiming(w, size, "off")})),
               tuple(over(f"reclamation-{w}", tasks(w, size), reclaiming(w, size, "off"), Bar(least=0.98), NOISE)
                     for w in both)),
        Figure("12", "Programming models and synchronization", "bars", "", rate, models, (
            over("scheduled-spin", with_sync("A", size, "scheduled"), threads("A", size, "spin"), Bar(least=1), FEW),
            over("rw-threads", with_sync("C", size, "rw"), threads("C", size, "rw"), Bar(least=1.2), FEW),
            over("htm-tasks", speculative("C", size), with_sync("C", size, "rw"), Bar(least=1.04), FEW),
            over("htm-threads", speculative("C", size), threads("C", size, "rw"), Bar(least=1.48), FEW),
            over("tasks-threads", lookups, threads("C", size, "optimistic"), Bar(least=1.29)),
            over("updates-threads", threads("A", size, "optimistic"), tasks("A", size), Bar(most=1.04)),
            over("tasks-masstree", lookups, index("C", size, "masstree"), Bar(least=1.09)),
            over("tasks-olc", lookups, index("C", size, "olc"), Bar(least=1.35)),
            over("tasks-tbb", lookups, onetbb("C", size), Bar(least=1)),
            over("updates-olc", index("A", size, "olc"), tasks("A", size), Bar(most=1.04)),
            *(over(f"inserts-{name}", *inserted("tasks", other, size), Bar(least=0.9))
              for name, other in (("threads", "threads"), ("olc", "BtreeOLC"))),
            Row("lookups", (lookups,), value, Bar(least=74.6), "A machine with fewer processors."),
        )),
        *(Figure(f"12-{w}", f"{title} by workers", "lines", "workers", rate,
                 over_workers(w, size)) for w, title in TITLES.items()),
        Figure("13", "Cycles by activity", "stacks", "", "cycles a lookup",
               by_activity(MODELS_SAMPLED, size), (
            cycles("traversal-threads", TRAVERSAL, "threads", size),
            cycles("traversal-tbb", TRAVERSAL, "tbb-step", size),
            cycles("synchronization-threads", SYNCHRONIZATION, "threads", size),
            cycles("synchronization-tbb", SYNCHRONIZATION, "tbb-step", size),
        )),
    ]  # fmt: skip


def measures(_: Run) -> dict[str, float]:
    raise AssertionError("no point is simulated")


COUNTERS = "Stalls need the processor's counters, which virtual machines do not offer; callgrind models no prefetching."
RATES = "Absolute rates are of the publication's machine; the figure has ours."
NOT_MEASURED = {
    "stalls-read-only": COUNTERS, "stalls-inserts": COUNTERS, "stalls-reads": COUNTERS,
    "lookups-threads": RATES, "lookups-masstree": RATES, "lookups-olc": RATES,
    "cycles": "A drawing without numbers in the text; the figure has ours.",
}  # fmt: skip

STUDY = Study(
    name="xtasking",
    title="XTasking: a task-based framework for data structures",
    source="XTasking",
    figures=figures,
    measures=measures,
    seeds={"quick": 1, "sampled": 1, "full": 1},
    rounds={"quick": 3, "sampled": 5, "full": 15},
    not_measured=NOT_MEASURED,
)
