"""Espresso and Capsules: points, figures and bars.

Inputs are generated: the publication's files are not to be had, and its largest inputs take days. `quick` has small
inputs on 1 to 64 cores, `sampled` inputs that keep 256 cores busy for 0.1 to 1 M cycles, `full` such of 5 M cycles and
more. As published, runs begin with warm caches, tasks of Sec. VI-B have the ideal allocator, and one core is the base
of all speed-ups. Each program checks its result against a serial execution. Bars: P87, P95 and P96.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness import ROOT
from rubato import toml
from rubato.names import plural
from rubato.results.intervals import Interval
from rubato.results.publication import Mark
from rubato.results.run import Run
from rubato.results.summary import CYCLE_CLASSES, TRAFFIC_CLASSES
from school.points import Simulated
from school.samples import Samples
from school.study import SIZES, Curve, Figure, Row, Study, published_values
from school.verdicts import Bar

PUBLISHED = published_values(Path(__file__))
SPEC, NONSPEC, MAYSPEC = "spec", "nonspec", "mayspec"
MODES = {"Swarm (SPEC)": SPEC, "NONSPEC": NONSPEC, "MAYSPEC": MAYSPEC}
CORES = {"quick": (1, 4, 16, 64), "sampled": (1, 64, 256), "full": (1, 4, 16, 36, 64, 100, 144, 196, 256)}
PAGE = 4096
BY_SIZE = dict[str, tuple[str, ...]]


def road(side: int, *more: str) -> tuple[str, ...]:
    return ("--generate", f"road:{side}x{side}", *more)


def made(what: str, *more: str) -> tuple[str, ...]:
    return ("--generate", what, *more)


def sizes(quick: tuple[str, ...], sampled: tuple[str, ...], full: tuple[str, ...]) -> BY_SIZE:
    return dict(zip(SIZES, (quick, sampled, full), strict=True))


# From the middle of the road network, so that more vertices are equally far: 2,100 tasks a hop level.
MIDDLE = road(700, "--source", "245351")
UNIT = ("--unit-lengths",)
INPUTS: dict[str, tuple[str, BY_SIZE]] = {
    "sssp-cage": ("sssp", sizes(made("band:2000:8:300", *UNIT), made("band:120000:8:30000", *UNIT),
                                made("band:120000:8:30000", *UNIT, "--searches", "12"))),
    "sssp-usa": ("sssp", sizes(road(40), MIDDLE, MIDDLE)),
    "cf": ("cf", sizes(made("band:200:16:80", "--steps", "4"), made("band:1200:270:600", "--steps", "4"),
                       made("band:3000:270:1300", "--steps", "4"))),
    "triangle": ("triangle", sizes(made("rmat:9:8"), made("rmat:14:8"), made("rmat:16:10"))),
    "genome": ("genome", sizes(("--gene", "512", "--segment", "16", "--segments", "8192"),
                               ("--gene", "4096", "--segment", "32", "--segments", "65536"),
                               ("--gene", "4096", "--segment", "48", "--segments", "1048576"))),
    "kmeans": ("kmeans", sizes(("--points", "512", "--centres", "8", "--iterations", "3"),
                               ("--points", "4096", "--iterations", "4"), ("--points", "16384", "--iterations", "8"))),
    "color": ("color", sizes(made("rmat:9:8", "--order", "degrees"), made("rmat:14:8", "--order", "degrees"),
                             made("rmat:19:10", "--order", "degrees"))),
    "bfs": ("bfs", sizes(road(40), road(500, "--source", "125251"), road(1600, "--source", "1280801"))),
    "mis": ("mis", sizes(made("rmat:10:8"), made("rmat:16:8"), made("rmat:19:8"))),
    "astar": ("astar", sizes(road(40), road(450), road(1320))),
    "des": ("des", sizes(made("csa:6", "--vectors", "3", "--resolution", "fs"),
                         made("csa:12", "--vectors", "3", "--resolution", "fs"),
                         made("csa:24", "--vectors", "32", "--resolution", "fs"))),
}  # fmt: skip
#: Inputs whose programs have a software-only version: `--variant threads`.
SOFTWARE = ("sssp-cage", "sssp-usa", "cf", "triangle", "color", "bfs", "mis", "des")
LOGGED = sizes(made("csa:6", "--vectors", "3"), made("csa:24", "--vectors", "3"), made("csa:24", "--vectors", "32"))
#: Of the allocator study: programs whose tasks allocate.
ALLOCATING: dict[str, BY_SIZE] = {
    "genome": sizes(("--gene", "512", "--segment", "16", "--segments", "2048"),
                    ("--gene", "512", "--segment", "16", "--segments", "8192"),
                    ("--gene", "4096", "--segment", "48", "--segments", "1048576")),
    "des": sizes(made("csa:6", "--vectors", "2", "--events", "heap"),
                 made("csa:16", "--vectors", "10", "--events", "heap"),
                 made("csa:24", "--vectors", "32", "--events", "heap")),
    "nocsim": sizes(("--width", "4", "--height", "4", "--cycles", "100"),
                    ("--width", "8", "--height", "8", "--cycles", "200"),
                    ("--width", "16", "--height", "16", "--cycles", "3000")),
    "silo": sizes(("--warehouses", "1", "--transactions", "40"), ("--warehouses", "4", "--transactions", "200"),
                  ("--warehouses", "4", "--transactions", "1000")),
}  # fmt: skip
ALLOCATORS: dict[str, tuple[tuple[str, str], ...]] = {
    "ideal": (("run.alloc", "ideal"),),
    "capalloc": (("task.capsules", "true"),),
    "plain": (("task.capsules", "false"),),  # capalloc without capsules: the same design with tracked metadata
    "TCMalloc": (),  # gperftools', which tools/tcmalloc builds into programs of their own
}
PLAIN = "Beside the published allocators stands `plain`: capalloc whose metadata is tracked, without capsules."
SECONDS = {"quick": 0.3, "sampled": 25.0, "full": 200.0}


def point(name: str, program: str, arguments: tuple[str, ...], size: str, cores: int,
          settings: tuple[tuple[str, str], ...] = ()) -> Simulated:  # fmt: skip
    # Memory that takes 0 to 3 cycles more, so that seeds are samples; whatever the number of seeds.
    common = (("chip.cores", str(cores)), ("chip.perturb", "3"))
    return Simulated(name=f"{name}, {plural(cores, 'core')}", program=program, arguments=(*arguments, "--verify"),
                     settings=tuple(sorted((*common, *settings))), options=("--warm",), size=size,
                     estimate=SECONDS[size])  # fmt: skip


def of_mode(app: str, mode: str, size: str, cores: int, *more: tuple[str, str]) -> Simulated:
    """A point of Sec. VI-B; on one core no mode speculates, and one point is all of them."""
    program, inputs = INPUTS[app]
    mode = MAYSPEC if cores == 1 else mode
    settings = (("task.mayspec", mode), ("run.alloc", "ideal"), *more)
    words = " ".join(f"{key}={value}" for key, value in more)
    return point(f"{app} {mode} {words}".strip(), program, inputs[size], size, cores, settings)


def software(app: str, size: str, cores: int) -> Simulated:
    """A point of a software-only version: a thread a core, the allocator of the other modes, no tasks."""
    program, inputs = INPUTS[app]
    arguments = (*inputs[size], "--variant", "threads")
    return point(f"{app} software only", program, arguments, size, cores, (("run.alloc", "ideal"),))


def logged(kind: str, size: str, cores: int) -> Simulated:
    arguments = (*LOGGED[size], "--log-type", kind)
    return point(f"des logging {kind}", "des", arguments, size, cores, (("run.alloc", "ideal"),))


def allocated(app: str, allocator: str, size: str, cores: int) -> Simulated:
    arguments = (*ALLOCATING[app][size], "--type", SPEC)
    program = f"{app}-tcmalloc" if allocator == "TCMalloc" else app
    return point(f"{app} allocator {allocator}", program, arguments, size, cores, ALLOCATORS[allocator])


def serial(app: str, size: str) -> Simulated:
    if app in INPUTS:
        program, arguments = INPUTS[app][0], INPUTS[app][1][size]
    else:
        program, arguments = app, ALLOCATING[app][size]
    return point(f"{app} serial code", program, (*arguments, "--serial"), size, 1, (("run.alloc", "ideal"),))


def one_core(app: str, size: str) -> Simulated:
    return of_mode(app, MAYSPEC, size, 1) if app in INPUTS else allocated(app, "ideal", size, 1)


# ---- figures ----


def speedup_marks(base: Simulated, points: Mapping[int, Simulated]) -> Callable[[Samples], list[Mark]]:
    def marks(found: Samples) -> list[Mark]:
        return [Mark.of(i, x=cores)
                for cores, p in points.items() for i in [found.ratio(base, p)]]  # fmt: skip

    return marks


def speedups(name: str, base: Simulated, points: Mapping[int, Simulated]) -> Curve:
    return Curve(name, (base, *points.values()), speedup_marks(base, points))


def ratio(key: str, above: Simulated, below: Simulated, bar: Bar, why: str = "", *, measure: str = "cycles") -> Row:
    """The value of `above` over that of `below`: of cycles, how many times faster `below` is."""
    return Row(key, (above, below), lambda found: found.ratio(above, below, measure), bar, why)


def means(key: str, pairs: list[tuple[Simulated, Simulated]], bar: Bar, why: str = "") -> Row:
    points = tuple(p for pair in pairs for p in pair)
    return Row(key, points, lambda found: found.geometric_mean(pairs), bar, why)


def over_the_better(key: str, apps: tuple[str, ...], size: str, cores: int, bar: Bar, why: str = "") -> Row:
    """MAYSPEC over the faster of the other modes, of the program where that is least."""
    triples = [tuple(of_mode(app, mode, size, cores) for mode in (SPEC, NONSPEC, MAYSPEC)) for app in apps]

    def worst(found: Samples) -> Interval:
        ratios = [found.ratio(min(spec, nonspec, key=found.mean), mayspec) for spec, nonspec, mayspec in triples]
        return min(ratios, key=lambda i: i.mean)

    return Row(key, tuple(p for triple in triples for p in triple), worst, bar, why)


def over_software(key: str, size: str, cores: int, bar: Bar, why: str = "") -> Row:
    """MAYSPEC over the software-only version, of the program where that is least."""
    pairs = [(software(app, size, cores), of_mode(app, MAYSPEC, size, cores)) for app in SOFTWARE]

    def worst(found: Samples) -> Interval:
        return min((found.ratio(*pair) for pair in pairs), key=lambda i: i.mean)

    return Row(key, tuple(p for pair in pairs for p in pair), worst, bar, why)


def figure_2(size: str) -> Figure:
    cores, top = CORES[size], CORES[size][-1]
    apps = ("sssp-usa", "sssp-cage")
    curves = tuple(
        speedups(f"{app}, {name}", one_core(app, size), {c: of_mode(app, mode, size, c) for c in cores})
        for app in apps for name, mode in MODES.items()
    )  # fmt: skip
    spec, nonspec = ({app: of_mode(app, mode, size, top) for app in apps} for mode in (SPEC, NONSPEC))
    rows = (
        ratio("usa-spec-nonspec", nonspec["sssp-usa"], spec["sssp-usa"], Bar(least=60)),
        ratio("cage-nonspec-spec", spec["sssp-cage"], nonspec["sssp-cage"], Bar(least=1.1)),
        over_the_better("usa-mayspec-best", ("sssp-usa",), size, top, Bar(least=0.97)),
        over_the_better("cage-mayspec-best", ("sssp-cage",), size, top, Bar(least=0.97)),
    )
    return Figure("2", "Speed-up of sssp on two graphs", "lines", "cores", "speed-up over one core", curves, rows,
                  "The graphs are generated: a road network of 490,000 nodes for East USA's roads, and a band of "
                  "120,000 vertices with some 30,000 a distance for cage14.")  # fmt: skip


def figure_3(size: str) -> Figure:
    cores, top = CORES[size], CORES[size][-1]
    at = {kind: {c: logged(kind, size, c) for c in cores} for kind in ("spec", "nonspec")}
    names = {"spec": "speculative logging", "nonspec": "non-speculative logging"}
    curves = tuple(speedups(names[kind], at["nonspec"][1], points) for kind, points in at.items())
    rows = (
        ratio("log-nonspec-spec", at["spec"][top], at["nonspec"][top], Bar(least=2)),
        ratio("log-spec-beyond-64", at["spec"][64], at["spec"][top], Bar(most=1.5),
              "Speculative logging here still gains beyond 64 cores: tasks that log share 256 logs, not one a core."),
    )
    return Figure("3", "Speed-up of des with logging tasks", "lines", "cores", "speed-up over one core", curves, rows)


def forwarding(size: str) -> Figure:
    top = CORES[size][-1]
    on, off = of_mode("des", SPEC, size, top), of_mode("des", SPEC, size, top, ("conflict.forwarding", "abort"))
    row = ratio("forwarding", off, on, Bar(least=3),
                "Tasks that meet uncommitted data are aborted (`conflict.forwarding=abort`); the circuit is small.")
    return Figure("II-C", "Speculative forwarding", rows=(row,))


def figure_4(size: str) -> Figure:
    cores = {"quick": CORES["quick"], "sampled": (1, 64, 100, 256), "full": CORES["full"]}[size]
    top, middle = cores[-1], cores[-2] if size == "quick" else 100
    at = {name: {c: allocated("des", name, size, c) for c in cores} for name in ALLOCATORS}
    curves = tuple(speedups(name, at["ideal"][1], points) for name, points in at.items())
    theirs = at["TCMalloc"]
    rows = (
        ratio("tcmalloc-100", theirs[1], theirs[middle], Bar(5, 60)),
        ratio("tcmalloc-declines", theirs[middle], theirs[top], Bar(most=0.99)),
        ratio("capalloc-tcmalloc", theirs[top], at["capalloc"][top], Bar(least=8)),
    )
    return Figure("4", "Speed-up of des with different allocators", "lines", "cores",
                  "speed-up over one core with the ideal allocator", curves, rows, PLAIN)


def figure_7(size: str) -> Figure:
    cores, top = CORES[size], CORES[size][-1]
    apps = tuple(INPUTS)
    bases = {app: one_core(app, size) for app in apps}
    at = {mode: {app: of_mode(app, mode, size, top) for app in apps} for mode in MODES.values()}

    def curve(app: str, name: str, mode: str) -> Curve:
        return speedups(f"{app}, {name}", bases[app], {c: of_mode(app, mode, size, c) for c in cores})

    def over(mode: str) -> list[tuple[Simulated, Simulated]]:
        return [(bases[app], at[mode][app]) for app in apps]

    def between(slow: str) -> list[tuple[Simulated, Simulated]]:
        return [(at[slow][app], at[MAYSPEC][app]) for app in apps]

    curves = tuple(curve(app, name, mode) for app in apps for name, mode in MODES.items())
    curves += tuple(speedups(f"{app}, software only", bases[app], {c: software(app, size, c) for c in cores})
                    for app in SOFTWARE)  # fmt: skip
    scaling = ("sssp-cage", "cf", "triangle", "genome", "kmeans", "bfs")
    rows = (
        means("gmean-spec", over(SPEC), Bar(least=80)),
        means("gmean-nonspec", over(NONSPEC), Bar(10, 60)),
        means("gmean-mayspec", over(MAYSPEC), Bar(least=100)),
        means("gmean-mayspec-nonspec", between(NONSPEC), Bar(least=5)),
        means("gmean-mayspec-spec", between(SPEC), Bar(least=1.05)),
        over_the_better("mayspec-best", apps, size, top, Bar(least=0.97),
                        "The worst is des, whose run lasts for some 50,000 cycles: MAYSPEC takes 3,600 more than "
                        "SPEC."),
        over_software("mayspec-software", size, top, Bar(least=1),
                      "The worst is cf: a fifth of MAYSPEC's cycles are aborted attempts, and a quarter have no task. "
                      "Threads take participants from a counter, and wait only at barriers."),
        *(ratio(f"nonspec-scales-{app}", at[SPEC][app], at[NONSPEC][app], Bar(least=0.5),
                "A generated road network has few vertices a level, so NONSPEC cannot fill 256 cores." if app == "bfs"
                else "") for app in scaling),
    )  # fmt: skip
    return Figure("7", "Speed-up of Swarm (SPEC), NONSPEC, MAYSPEC and software-only versions", "lines", "cores",
                  "speed-up over one core", curves, rows,
                  "Speed-ups are over the tasks on one core, which never speculate, as published.")


def stacks(size: str, parts: tuple[str, ...], of: str) -> tuple[Curve, ...]:
    """A bar a program and mode, made of parts, on the scale of the program's bar of SPEC."""
    top = CORES[size][-1]
    bars = [(app, name, of_mode(app, mode, size, top), of_mode(app, SPEC, size, top))
            for app in INPUTS for name, mode in MODES.items()]  # fmt: skip

    def marks_of(part: str) -> Callable[[Samples], list[Mark]]:
        def marks(found: Samples) -> list[Mark]:
            heights = [(f"{app} {name.split()[0]}", found.mean(p, f"{of}.{part}"),
                        sum(found.mean(spec, f"{of}.{each}") for each in parts))
                       for app, name, p, spec in bars]  # fmt: skip
            return [Mark(label=label, y=height / whole if whole else 0.0) for label, height, whole in heights]

        return marks

    points = tuple(p for bar in bars for p in bar[2:])
    return tuple(Curve(part.replace("_", " "), points, marks_of(part)) for part in parts)


def share(key: str, p: Simulated, part: str, whole: tuple[str, ...], bar: Bar, why: str = "") -> Row:
    """A counter's share of the sum of several, in percent."""

    def value(found: Samples) -> Interval:
        return Interval(100 * found.mean(p, part) / max(1.0, sum(found.mean(p, each) for each in whole)), None, None,
                        len(found.values(p)))  # fmt: skip

    return Row(key, (p,), value, bar, why)


def figure_8a(size: str) -> Figure:
    top = CORES[size][-1]

    def slowdown(app: str) -> tuple[Simulated, Simulated]:
        return of_mode(app, NONSPEC, size, top), of_mode(app, SPEC, size, top)

    def speculative(found: Samples) -> Interval:
        p = of_mode("sssp-usa", MAYSPEC, size, top)
        part = 1 - found.mean(p, "nonspeculative_tasks") / found.mean(p, "committed_tasks")
        return Interval(100 * part, None, None, len(found.values(p)))

    rows = (
        ratio("des-nonspec", *slowdown("des"), Bar(least=20)),
        ratio("mis-nonspec", *slowdown("mis"), Bar(least=20)),
        ratio("astar-nonspec", *slowdown("astar"), Bar(least=20)),
        ratio("cf-mayspec", of_mode("cf", SPEC, size, top), of_mode("cf", MAYSPEC, size, top), Bar(least=1.3)),
        ratio("kmeans-equal", of_mode("kmeans", NONSPEC, size, top), of_mode("kmeans", MAYSPEC, size, top),
              Bar(0.97, 1.03), SEEDS_DIFFER),
        share("cage-nonspeculative", of_mode("sssp-cage", MAYSPEC, size, top), "nonspeculative_tasks",
              ("committed_tasks",), Bar(least=90)),
        Row("usa-speculative", (of_mode("sssp-usa", MAYSPEC, size, top),), speculative, Bar(least=90)),
    )  # fmt: skip
    return Figure("8a", "What cores do, by program and mode", "stacks", "", "time, SPEC = 1",
                  stacks(size, CYCLE_CLASSES, "cycles"), rows)  # fmt: skip


def figure_8b(size: str) -> Figure:
    top = CORES[size][-1]
    kmeans = of_mode("kmeans", MAYSPEC, size, top)
    traffic = tuple(f"bytes.{part}" for part in TRAFFIC_CLASSES)
    rows = (
        ratio("cf-traffic", of_mode("cf", SPEC, size, top), of_mode("cf", MAYSPEC, size, top), Bar(least=2),
              "SPEC's aborted attempts take half of its cycles, but memory accesses are most of the traffic, and both "
              "modes have about as many bytes of them.", measure="network_bytes"),
        share("kmeans-traffic", kmeans, "bytes.virtual_time", traffic, Bar(least=50)),
    )  # fmt: skip
    return Figure("8b", "Bytes that enter the network, by program and mode", "stacks", "", "bytes, SPEC = 1",
                  stacks(size, TRAFFIC_CLASSES, "bytes"), rows,
                  "Coherence control is a class of its own here; published, it is part of the memory accesses.")


def figure_9(key: str, size: str, cores: int, rows: tuple[Row, ...]) -> Figure:
    def curve(name: str) -> Curve:
        pairs = {app: (allocated(app, name, size, cores), allocated(app, "ideal", size, cores)) for app in ALLOCATING}

        def marks(found: Samples) -> list[Mark]:
            return [Mark.of(i, label=app)
                    for app, pair in pairs.items() for i in [found.ratio(*pair)]]  # fmt: skip

        return Curve(name, tuple(p for pair in pairs.values() for p in pair), marks)

    return Figure(key, f"Time with three allocators, {'one core' if key == '9a' else 'all cores'}", "bars", "",
                  "time, ideal = 1", tuple(curve(name) for name in ALLOCATORS), rows, PLAIN)  # fmt: skip


def slowdowns(name: str, size: str, cores: int, base: str = "ideal") -> list[tuple[Simulated, Simulated]]:
    return [(allocated(app, name, size, cores), allocated(app, base, size, cores)) for app in ALLOCATING]


def figure_9a(size: str) -> Figure:
    rows = (means("one-capalloc", slowdowns("capalloc", size, 1), Bar(most=1.25)),
            means("one-tcmalloc", slowdowns("TCMalloc", size, 1), Bar(most=1.25)))  # fmt: skip
    return figure_9("9a", size, 1, rows)


SEEDS_DIFFER = "Each mode's time of kmeans differs by a tenth between seeds, so three do not tell 3 % apart."
SMALL_ALLOCATORS = ("The input is small: on 256 cores four fifths of silo's cycles have no task even with the ideal "
                    "allocator, so few tasks allocate at once.")  # fmt: skip


def figure_9b(size: str) -> Figure:
    top = CORES[size][-1]

    def pair(app: str) -> tuple[Simulated, Simulated]:
        return allocated(app, "TCMalloc", size, top), allocated(app, "capalloc", size, top)

    rows = (
        means("all-tcmalloc", slowdowns("TCMalloc", size, top), Bar(least=6), SMALL_ALLOCATORS),
        means("all-capalloc", slowdowns("capalloc", size, top), Bar(most=1.6)),
        means("capalloc-gmean", slowdowns("TCMalloc", size, top, "capalloc"), Bar(least=6), SMALL_ALLOCATORS),
        ratio("capalloc-nocsim", *pair("nocsim"), Bar(least=1.5), SMALL_ALLOCATORS),
        ratio("capalloc-silo", *pair("silo"), Bar(least=10), SMALL_ALLOCATORS),
    )
    return figure_9("9b", size, top, rows)


# ---- the key-value store ----

#: Cores, tuples, queries of the variants, free frames, and rates of misses in percent.
STORES = {
    "quick": (16, 1024, {"capsule": 3000, "promote": 1000}, 64, (1.0, 2.0, 5.0)),
    "sampled": (256, 8192, {"capsule": 24_000, "promote": 2000}, 1024, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)),
    "full": (256, 65536, {"capsule": 55_000, "promote": 10_000}, 1024, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)),
}


def stored(variant: str, rate: float, size: str) -> Simulated:
    """Queries ask for all tuples alike, so the share of tuples without a frame is the rate of misses."""
    cores, tuples, queries, free, _ = STORES[size]
    frames = round(tuples * (1 - rate / 100)) + free
    arguments = ("--variant", variant, "--queries", str(queries[variant]), "--tuples", str(tuples), "--frames",
                 str(frames), "--free", str(free), "--seed", "1")  # fmt: skip
    return point(f"kvstore {variant} {rate:g} %", "kvstore", arguments, size, cores)


def by_rate(size: str, measure: str) -> tuple[Curve, ...]:
    def curve(variant: str) -> Curve:
        points = {rate: stored(variant, rate, size) for rate in STORES[size][4]}

        def marks(found: Samples) -> list[Mark]:
            return [Mark.of(i, x=rate)
                    for rate, p in points.items() for i in [found.interval(p, measure)]]  # fmt: skip

        return Curve(variant, tuple(points.values()), marks)

    return tuple(curve(variant) for variant in ("capsule", "promote"))


def figure_10a(size: str) -> Figure:
    at_2, at_5 = (stored("capsule", rate, size) for rate in (2.0, 5.0))
    promoted = tuple(stored("promote", rate, size) for rate in STORES[size][4])

    def least_share(found: Samples) -> Interval:
        return min((found.interval(p, "disk_share", 100) for p in (at_2, at_5)), key=lambda i: i.mean)

    def most(found: Samples) -> Interval:
        return max((found.interval(p, "disk_megabytes") for p in promoted), key=lambda i: i.mean)

    rows = (
        Row("capsule-bandwidth", (at_2,), lambda found: found.interval(at_2, "disk_megabytes"), Bar(least=1500)),
        Row("capsule-saturates", (at_2, at_5), least_share, Bar(least=90)),
        Row("spec-bandwidth", promoted, most, Bar(most=120)),
    )
    return Figure("10a", "Disk bandwidth of the key-value store", "lines", "misses, %", "MB/s",
                  by_rate(size, "disk_megabytes"), rows,
                  "The device's limit is that of the run's own mix of reads and writes.")  # fmt: skip


def figure_10b(size: str) -> Figure:
    fast, slow = (stored(variant, 2.0, size) for variant in ("capsule", "promote"))
    row = ratio("capsule-throughput", fast, slow, Bar(least=12),
                "capsule reads again after an abort, and promote reads from the same device at its latency.",
                measure="disk_queries")  # fmt: skip
    return Figure("10b", "Throughput of the key-value store", "lines", "misses, %", "queries a second",
                  by_rate(size, "disk_queries"), (row,))  # fmt: skip


# ---- tables ----

#: Keys of configs/espresso-256.toml and the factor that makes published units of them; automatic ones follow the cores.
TABLE_2 = {
    "cores": ("chip.cores", 1), "per-tile": ("chip.cores_per_tile", 1), "clock": ("chip.frequency_mhz", 1e-3),
    "l1": ("l1d.size", 1 / 1024), "l1-ways": ("l1d.ways", 1), "l1-latency": ("l1d.latency", 1),
    "l2": ("l2.size", 1 / 1024), "l2-ways": ("l2.ways", 1), "l2-latency": ("l2.latency", 1),
    "llc": ("llc.size", 1 / 1024**2), "llc-ways": ("llc.ways", 1), "llc-latency": ("llc.latency", 1),
    "link": ("net.link_bytes", 8), "straight": ("net.straight", 1), "turn": ("net.turn", 1),
    "controllers": ("mem.controllers", 1), "memory-latency": ("mem.latency", 1), "task-queue": ("task.task_queue", 1),
    "commit-queue": ("task.commit_queue", 1), "bloom": ("conflict.bloom_bits", 1),
    "bloom-ways": ("conflict.bloom_ways", 1), "check": ("conflict.tile_check", 1),
    "timestamp": ("conflict.per_timestamp", 1), "arbiter": ("arbiter.period", 1), "spill": ("task.spill_batch", 1),
    "spill-at": ("task.spill_threshold", 100),
}  # fmt: skip


#: What these keys say where they follow the number of cores: a run tells.
AUTOMATIC = ("chip.cores_per_tile", "l2.size", "llc.size")


def equal(key: str) -> Bar:
    return Bar(PUBLISHED[key] * (1 - 1e-9), PUBLISHED[key] * (1 + 1e-9))


def within_3(key: str) -> Bar:
    return Bar(PUBLISHED[key] / 3, PUBLISHED[key] * 3)


def table_2(size: str) -> Figure:
    """The chip as a run resolved it, so that automatic keys are numbers; any point of all cores says it."""
    p = of_mode("sssp-usa", SPEC, size, 256)
    shipped = toml.flatten(toml.load(ROOT / "configs/espresso-256.toml"))

    def row(key: str, name: str, factor: float) -> Row:
        value = shipped[name]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            exact = Interval(factor * value, None, None, 1)
            return Row(f"config-{key}", (), lambda _: exact, equal(f"config-{key}"), counts_at=SIZES)
        return Row(f"config-{key}", (p,), lambda found: found.interval(p, f"config.{name}", factor),
                   equal(f"config-{key}"), counts_at=SIZES)  # fmt: skip

    return Figure("T2", "Configuration of the 256-core system", "table",
                  rows=tuple(row(key, name, factor) for key, (name, factor) in TABLE_2.items()),
                  sentence="Ours is `configs/espresso-256.toml`; caches whose size is automatic are those of a run.")


LENGTHS = (*INPUTS, "nocsim", "silo")


def table_3(size: str) -> Figure:
    def length(app: str) -> Row:
        p = one_core(app, size)
        return Row(f"length-{app}", (p,), lambda found: found.ratio(p, p, "cycles", of="committed_tasks"),
                   within_3(f"length-{app}"),
                   "Another input and another instruction set: tasks are of another length.")  # fmt: skip

    def against_serial(app: str) -> Row:
        return ratio(f"serial-{app}", serial(app, size), one_core(app, size),
                     within_3(f"serial-{app}"), "The serial program here is another one.")

    rows = tuple(row for app in LENGTHS for row in (length(app), against_serial(app)))
    return Figure("T3", "Length of tasks, and one core against serial code", "table", rows=rows,
                  sentence="Bars are a factor of three: inputs, instruction set and serial programs are others.")


def figures(size: str) -> list[Figure]:
    return [make(size) for make in (figure_2, figure_3, forwarding, figure_4, figure_7, figure_8a, figure_8b, figure_9a,
                                    figure_9b, figure_10a, figure_10b, table_2, table_3)]  # fmt: skip


def measures(run: Run) -> dict[str, float]:
    s = run.summary
    assert s.cycles is not None and s.cycle_breakdown is not None and s.network_bytes is not None
    found = {"cycles": float(s.cycles), "committed_tasks": float(s.tasks.committed),
             "aborted_tasks": float(s.tasks.aborted), "nonspeculative_tasks": float(s.tasks.nonspeculative),
             "network_bytes": float(sum(getattr(s.network_bytes, part) for part in TRAFFIC_CLASSES))}  # fmt: skip
    found |= {f"cycles.{part}": round(getattr(s.cycle_breakdown, part) * s.cycles) for part in CYCLE_CLASSES}
    found |= {f"bytes.{part}": float(getattr(s.network_bytes, part)) for part in TRAFFIC_CLASSES}
    if s.cores == 256:
        found |= {f"config.{key}": float(run.configuration[key]) for key in AUTOMATIC}
    if s.disk is not None:
        found |= of_disk(run)
    return found


def of_disk(run: Run) -> dict[str, float]:
    """The limit is that of the run's own mix: with d writes a read, 1 + d pages take 1 / read_iops + d / write_iops."""
    disk, seconds = run.summary.disk, run.summary.seconds
    assert disk is not None
    a_read, a_write = (1 / run.configuration[f"disk.{kind}_iops"] for kind in ("read", "write"))
    writes = disk.writes / disk.reads if disk.reads else 0.0
    megabytes = (disk.read_bytes + disk.written_bytes) / seconds / 1e6
    limit = (1 + writes) * PAGE / (a_read + writes * a_write) / 1e6
    queries = int(run.arguments[run.arguments.index("--queries") + 1])
    return {"disk_megabytes": round(megabytes, 3), "disk_share": round(megabytes / limit, 5),
            "disk_queries": round(queries / seconds, 1), "disk_reads": float(disk.reads)}  # fmt: skip


STUDY = Study(
    name="espresso",
    title="Espresso: speculative and non-speculative ordered parallelism",
    source="Espresso and Capsules",
    figures=figures,
    measures=measures,
    seeds={"quick": 1, "sampled": 3, "full": 5},
    optional={"-tcmalloc": "`tools/tcmalloc` fetches and builds it"},
    not_measured={
        "cage-vertices": "cage14 is not among the inputs; the generated band has some 30,000 vertices a distance.",
    },
)
