"""FLASK coherence: ten workloads (docs/workloads.md) in their region, with warm caches, under each protocol and size of
the directory. Of the three programs of one thread 15 copies run side by side, and core 0 is idle.

`quick` has four of the programs, of each group at least one, with small inputs, whose lines do not fill the caches:
bars do not apply. `sampled` has all ten with the workloads' own inputs on the machine with cores in order, `full` the
same on the publication's machine, whose cores have windows. A ratio is the geometric mean over the programs, or of the
worst or best one where the row says so.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from harness import ROOT
from harness.workloads import Workload, found
from rubato import toml
from rubato.results import energy
from rubato.results.intervals import Interval
from rubato.results.publication import Mark
from rubato.results.run import Run, Stats
from school.points import Measured, Simulated
from school.samples import Samples
from school.study import SIZES, Curve, Figure, Row, Study, published_values
from school.verdicts import Bar

PUBLISHED = published_values(Path(__file__))
SERVERS = ("oltp", "web_threads", "web_events", "midtier")
NUMERICAL = ("mg", "ft", "lu")
ALONE = ("path", "hmm", "sim")  # one thread each
PROGRAMS = (*SERVERS, *NUMERICAL, *ALONE)
UNSTEADY = ("web_threads", "web_events")  # their threads take requests in another order in each run
#: Means of single seeds are of these. A point of sim takes as long as one of all others together.
STEADY = tuple(program for program in PROGRAMS if program not in (*UNSTEADY, "sim"))
#: The programs of `quick`, and about the seconds of one of their points.
QUICK_SECONDS = {"web_events": 2.5, "midtier": 1.0, "ft": 1.0, "hmm": 4.0}
SECONDS = {"sampled": 90.0, "full": 600.0}
CAPACITIES = (160, 80, 40, 20, 10, 5)  # percent of the lines of private caches
WAYS = (1, 4, 16, 64)  # of the directory
WAITS = ("l1", "l2", "llc", "memory", "network")
MACHINES = {"quick": "flask-16-inorder", "sampled": "flask-16-inorder", "full": "flask-16"}
SMALL = "The inputs do not fill the caches as the publication's did."
QUIET = ("TokenB sends twenty times FLASK's multicasts and a tenth more flit-hops, and its access time "
         "is a little shorter: this network is not busy. Links of 8 bytes hardly change that; with 64 "
         "agents TokenB is slower in oltp and mg (table sensitivity). By seeds of seven programs "
         "TokenB's time is 0.968 to 1.003 of FLASK's.")  # fmt: skip
FEWER_HOPS = ("FLASK saves a tenth of the flit-hops; the network is a part of the energy, and no time "
              "is gained. By seeds of seven programs the ratio is 0.949 to 0.999.")  # fmt: skip
LESS_MEMORY = ("The access time rises to 1.42 times, the publication's to almost twice (Fig. 5). Cores wait for "
               "accesses in an eighth of midtier's time and in three eighths of oltp's.")  # fmt: skip
ORDER = ("The worst is web_threads, whose threads take requests in another order in each run. Its time differs "
         "by a seventh between the five seeds, and the interval contains 1. An access waits 11 % less (0.873 "
         "to 0.902).")  # fmt: skip
SPREAD = ("The mean of web_threads is the published one, and its time differs by a seventh between the five "
          "seeds, so that the interval ends above the bar.")  # fmt: skip
EVERY_READ = ("At 5 % the filter says yes to each read of memory, which waits for the answers of all tiles; the "
              "publication's was still right in some programs.")  # fmt: skip
FULL_FILTER = ("At 10 % more lines are cached than the filter has cells for. With seven sub-tables it says yes in "
               "vain to 22 to 56 % of the reads of memory (hmm has 60), with one, as for servers, to nearly "
               "each.")  # fmt: skip
SPLIT = ("The best static split is that of the publication: 7 ways of directory and 1 sub-table for servers, 1 and 7 "
         "for other programs. The on-line split is each home's own choice while it runs.")  # fmt: skip
CHOICE = ("Not in the publication. The base is FLASK at 40 %, and TokenB where the row says so. Means are of "
          "single seeds, but for the row by seeds. A filter that counts all lines on the chip is overfull and "
          "hardly better than none: it says yes in vain to 70 % of the reads of memory or more (hmm has 60). "
          "`mosaic_probe=needed` saves a fifth of MOSAIC's flit-hops, and what it still has more than FLASK "
          "is what a filter saves. The conventional filter errs less than the d-left one for servers, and for "
          "numerical programs in 7 to 20 % of the reads of memory, where the d-left one hardly errs. An exact "
          "filter would save 1 % of the flit-hops. Twice as many tokens change nothing. A control message is "
          "one flit of any width, so its energy follows the width of the links. With 64 agents the caches "
          "hold nearly all data of mg and ft. TokenB takes 1.23 times FLASK's time in oltp, 1.42 times in mg, "
          "and 0.96 to 1.00 in the others. In mg cores then wait for memory about as long under both "
          "protocols, and for each other longer under TokenB, 127,000 of whose requests become persistent. "
          "Each probe of FLASK has 63 answers there, so its flit-hops exceed TokenB's in ft and mg.")  # fmt: skip
#: Bits a line at which the chip's filters err in 5 % of questions.
BITS = Measured("bits of a tracked line", "bits of a tracked line", ("{build}/bin/bench_filter_bits",),
                values=("dlcbf", "cbf"), rounds=1, estimate=12)  # fmt: skip


@dataclass(frozen=True)
class Protocol:
    """A protocol, the size of its directory, and what else differs from the machine's configuration."""

    name: str
    percent: int = 0
    settings: tuple[tuple[str, str], ...] = ()

    def on(self, program: str, size: str) -> Simulated:
        settings = [("coherence.protocol", self.name), *self.settings]
        if self.percent:
            settings.append(("coherence.capacity", str(self.percent / 100)))
        workload = workloads()[program]
        share = f" {self.percent} %" if self.percent else ""
        more = "".join(f" {key.removeprefix('coherence.')}={value}" for key, value in self.settings)
        return Simulated(
            name=f"{program}: {self.name}{share}{more}", program=program,
            arguments=tuple(workload.words(size == "quick")), settings=tuple(sorted(settings)),
            options=("--config", f"{{root}}/configs/{MACHINES[size]}.toml", "--warm", "--roi", "@markers",
                     *workload.options),
            copies=15 if program in ALONE else 1, size=size,
            estimate=QUICK_SECONDS[program] if size == "quick" else SECONDS[size],
        )  # fmt: skip

    def set(self, key: str, value: int) -> Protocol:
        return replace(self, settings=(*self.settings, (key, str(value))))


@cache
def workloads() -> dict[str, Workload]:
    return found()


def sized(protocol: str, percent: int, **more: object) -> Protocol:
    return Protocol(protocol, percent, tuple((f"coherence.{key}", str(value)) for key, value in more.items()))


TOKENB = Protocol("tokenb")
FLASK_40, FLASK_20, FLASK_5, FLASK_160 = (sized("flask", percent) for percent in (40, 20, 5, 160))
SPARSE_5, SPARSE_160 = (sized("sparse", percent) for percent in (5, 160))
#: Its directory has 8 sets a tile, and the tags of 15 programs side by side need more than 15: the chip refuses them.
TOO_FEW_SETS = sized("flask", 20, directory_assoc=64)
SPLIT_CAPACITIES = (10, 5)
ADAPTIVE = {percent: sized("flask", percent, partition="adaptive") for percent in SPLIT_CAPACITIES}


@dataclass(frozen=True)
class BestSplit:
    """The static split that suits a program (VI.C): servers have 7 directory ways and 1 sub-table, others 1 and 7."""

    percent: int

    def on(self, program: str, size: str) -> Simulated:
        return sized("flask", self.percent, directory_ways=7 if program in SERVERS else 1).on(program, size)


@dataclass(frozen=True)
class Repeated:
    """Five seeds of programs that need them, and `others` of the others, but of quick inputs. Memory takes 0 to 3
    cycles more, so that seeds are samples."""

    of: Protocol
    others: int = 0  # 0: the seed that figures have

    def on(self, program: str, size: str) -> Simulated:
        seeds = 5 if program in UNSTEADY else 0 if size == "quick" else self.others
        if seeds == 0:
            return self.of.on(program, size)
        return replace(self.of.set("chip.perturb", 3).on(program, size), seeds=seeds)


@dataclass(frozen=True)
class ManyAgents:
    """The machine with 64 tiles and four times the memory controllers: 64 threads, each with a quarter of the work."""

    of: Protocol

    def on(self, program: str, size: str) -> Simulated:
        point = self.of.set("chip.cores", 64).set("mem.controllers", 16).on(program, size)
        words = dict(zip(point.arguments[::2], point.arguments[1::2], strict=True)) | {"--threads": "64"}
        if "--work" in words:
            words["--work"] = str(max(1, int(words["--work"]) // 4))
        return replace(point, arguments=tuple(word for pair in words.items() for word in pair))


Machine = Protocol | BestSplit | Repeated | ManyAgents
Protocols = Mapping[str, Mapping[int, Machine]]  # by label and capacity


@dataclass(frozen=True)
class Choice:
    """A row of the table of sensitivity: a machine that differs in one choice, over its base."""

    label: str
    machine: Machine
    base: Machine = FLASK_40
    programs: tuple[str, ...] = STEADY


THREADS = tuple(program for program in STEADY if program not in ALONE)
SEEDED = tuple(program for program in PROGRAMS if program not in ("mg", "lu", "sim"))  # of several seeds
CHOICES = (
    Choice("filter_counts=chip", sized("flask", 40, filter_counts="chip")),
    Choice("MOSAIC, mosaic_probe=always", sized("mosaic", 40)),
    Choice("MOSAIC, mosaic_probe=needed", sized("mosaic", 40, mosaic_probe="needed")),
    *(Choice(f"filter={kind}", sized("flask", 40, filter=kind)) for kind in ("cbf", "exact", "none")),
    Choice("tokens=32", sized("flask", 40, tokens=32)),
    *(Choice(f"links of {width} bytes", FLASK_40.set("net.link_bytes", width)) for width in (8, 32)),
    Choice("16 slices of 2 MB", FLASK_40.set("llc.size", 2 << 20)),
    Choice("32 slices of 1 MB", FLASK_40.set("llc.size", 2 << 20).set("llc.banks", 2)),
    Choice("FLASK over TokenB", FLASK_40, TOKENB, THREADS),
    Choice("FLASK over TokenB, by seeds", Repeated(FLASK_40, 2), Repeated(TOKENB, 2), SEEDED),
    Choice("FLASK over TokenB, links of 8 bytes", *(p.set("net.link_bytes", 8) for p in (FLASK_40, TOKENB)), THREADS),
    Choice("FLASK over TokenB, 64 agents", ManyAgents(FLASK_40), ManyAgents(TOKENB), THREADS),
)  # fmt: skip


Points = tuple[Simulated, ...]
Over = Callable[[Samples, Points, Points], Interval]  # what the first points have, by what the second ones have


def means(measure: str) -> Over:
    """The geometric mean of the programs' ratios."""
    return lambda samples, above, below: samples.geometric_mean(list(zip(above, below, strict=True)), measure)


def sums(measure: str, of: str = "") -> Over:
    """The ratio of sums over the programs: for counts, which a program may have none of."""

    def ratio(samples: Samples, above: Points, below: Points) -> Interval:
        first = sum(samples.mean(p, measure) for p in above)
        second = sum(samples.mean(p, of or measure) for p in below)
        return Interval(first / max(1.0, second), None, None, 1)

    return ratio


def delay(samples: Samples, above: Points, below: Points) -> Interval:
    """By how many percent a request that memory serves takes longer."""
    ratio = means("memory_latency")(samples, above, below)
    low, high = (None if end is None else 100 * (end - 1) for end in (ratio.low, ratio.high))
    return Interval(100 * (ratio.mean - 1), low, high, ratio.samples)


def by_capacity(protocol: str) -> dict[int, Machine]:
    return {percent: sized(protocol, percent) for percent in CAPACITIES}


class At:
    """Rows and curves at a size."""

    def __init__(self, size: str) -> None:
        self.size = size

    def points(self, protocol: Machine, programs: tuple[str, ...]) -> tuple[Simulated, ...]:
        """One a program that the size has."""
        there = (program for program in programs if self.size != "quick" or program in QUICK_SECONDS)
        return tuple(protocol.on(program, self.size) for program in there)

    def mean(self, key: str, measure: str, above: Machine, below: Machine, bar: Bar, why: str = SMALL,
             programs: tuple[str, ...] = PROGRAMS) -> Row:  # fmt: skip
        return self.row(key, means(measure), above, below, bar, why, programs)

    def one(self, key: str, measure: str, above: Machine, below: Machine, bar: Bar,
            of: Callable[..., Interval], why: str = SMALL) -> Row:  # fmt: skip
        """The same of the program where it is largest or smallest."""
        first, second = (self.points(protocol, PROGRAMS) for protocol in (above, below))

        def value(samples: Samples) -> Interval:
            pairs = zip(first, second, strict=True)
            return of((samples.ratio(a, b, measure) for a, b in pairs), key=lambda i: i.mean)

        return Row(key, (*first, *second), value, bar, why)

    def share(self, key: str, above: str, below: str, protocols: tuple[Protocol, ...], bar: Bar, *,
              rest: bool = False) -> Row:  # fmt: skip
        """A ratio of sums over programs and protocols, in percent, or what is left of 100."""
        points = tuple(p for protocol in protocols for p in self.points(protocol, PROGRAMS))

        def value(samples: Samples) -> Interval:
            whole = sum(samples.mean(p, below) for p in points)
            part = 100 * sum(samples.mean(p, above) for p in points) / max(1.0, whole)
            return Interval(100 - part if rest else part, None, None, 1)

        return Row(key, points, value, bar, SMALL)

    def row(self, key: str, over: Over, above: Machine, below: Machine, bar: Bar, why: str = SMALL,
            programs: tuple[str, ...] = PROGRAMS) -> Row:  # fmt: skip
        first, second = (self.points(protocol, programs) for protocol in (above, below))
        return Row(key, (*first, *second), lambda samples: over(samples, first, second), bar, why)

    def curve(self, facet: str, label: str, over: Over, protocols: Mapping[int, Machine], base: Machine,
              programs: tuple[str, ...]) -> Curve:  # fmt: skip
        """By capacity or associativity, over the base, as far as all programs run."""
        below = self.points(base, programs)
        refused = TOO_FEW_SETS if set(programs) & set(ALONE) else None
        above = {x: self.points(protocol, programs) for x, protocol in protocols.items() if protocol != refused}

        def marks(samples: Samples) -> list[Mark]:
            return [Mark.of(over(samples, points, below), x=x) for x, points in above.items()]

        return Curve(f"{facet}, {label}", (*below, *(p for points in above.values() for p in points)), marks)

    def sensitivity(self, name: str, over: Over) -> Curve:
        """A measure of each choice that is recorded, over its base's."""
        pairs = {choice.label: (self.points(choice.machine, self.few(choice.programs)),
                                self.points(choice.base, self.few(choice.programs))) for choice in CHOICES}  # fmt: skip
        needed, *_ = ((*above, *below) for above, below in pairs.values())

        def marks(samples: Samples) -> list[Mark]:
            return [Mark.of(over(samples, above, below), label=label)
                    for label, (above, below) in pairs.items() if samples.has(*above, *below)]  # fmt: skip

        return Curve(name, tuple(p for pair in pairs.values() for points in pair for p in points), marks, needed)

    def few(self, programs: tuple[str, ...]) -> tuple[str, ...]:
        """At the quick size, those of which a point takes a second."""
        return tuple(p for p in programs if self.size != "quick" or QUICK_SECONDS.get(p, 9) <= 1)

    def curves(self, over: Over, protocols: Protocols, base: Machine = TOKENB) -> tuple[Curve, ...]:
        """One a group of programs and protocol."""
        groups = {"all": PROGRAMS, "servers": SERVERS, "numerical": NUMERICAL, "copies": ALONE}
        return tuple(
            self.curve(facet, name, over, machines, base, programs)
            for facet, programs in groups.items() for name, machines in protocols.items()
        )  # fmt: skip


def table_1() -> Figure:
    """The machine of configs/flask-16.toml beside the published one."""
    keys = {
        "cores": ("chip.cores", 1), "clock": ("chip.frequency_mhz", 1e-3), "width": ("core.width", 1),
        "rob": ("core.rob", 1), "int": ("core.int_ports", 1), "fp": ("core.fp_ports", 1), "mem": ("core.mem_ports", 1),
        "l1": ("l1d.size", 1 / 1024), "l1-ways": ("l1d.ways", 1), "l1-latency": ("l1d.latency", 1),
        "l2": ("l2.size", 1 / 1024), "l2-ways": ("l2.ways", 1), "l2-latency": ("l2.latency", 1),
        "mshrs": ("l2.mshrs", 1), "llc": ("llc.size", 1 / 1024**2), "llc-ways": ("llc.ways", 1),
        "llc-latency": ("llc.latency", 1), "memory": ("mem.latency", 1), "controllers": ("mem.controllers", 1),
        "link": ("net.link_bytes", 1),
    }  # fmt: skip
    told = toml.flatten(toml.load(ROOT / "configs/flask-16.toml"))
    values = {key: factor * told[name] for key, (name, factor) in keys.items()}
    values["bandwidth"] = told["mem.controllers"] * told["mem.bytes_per_cycle"] * told["chip.frequency_mhz"] / 1000

    def row(key: str, value: float) -> Row:
        published = PUBLISHED[f"config-{key}"]
        bar = Bar(published * 0.999, published * 1.001)  # of the bandwidth four digits are given
        return Row(f"config-{key}", (), lambda _: Interval(value, None, None, 1), bar, counts_at=SIZES)

    return Figure("T1", "Configuration of the 16-core machine", rows=tuple(row(*pair) for pair in values.items()),
                  sentence="Ours is `configs/flask-16.toml`.")  # fmt: skip


def figures(size: str) -> list[Figure]:
    at, x = At(size), "directory, % of private lines"
    by_ways: Protocols = {name: {ways: sized(name, 20, directory_assoc=ways) for ways in WAYS}
                          for name in ("flask", "sparse")}  # fmt: skip
    every = tuple(sized("flask", percent) for percent in CAPACITIES)
    time = "time, TokenB = 1"
    both: Protocols = {name: by_capacity(name) for name in ("flask", "sparse")}
    best: dict[int, Machine] = {percent: BestSplit(percent) for percent in SPLIT_CAPACITIES}
    splits: Protocols = {"fixed split": by_capacity("flask"), "best static split": best, "on-line split": ADAPTIVE}
    return [
        Figure("3", "Execution time over TokenB's", "lines", x, time, at.curves(means("cycles"), both), (
            at.mean("match", "cycles", Repeated(FLASK_40), Repeated(SPARSE_160), Bar(most=1.05)),
            at.mean("tokenb", "cycles", Repeated(TOKENB), Repeated(FLASK_40), Bar(least=1.0), QUIET),
            at.mean("loss-5", "cycles", Repeated(FLASK_5), Repeated(FLASK_160), Bar(most=1.12)),
            at.mean("loss-sparse", "cycles", Repeated(FLASK_5), Repeated(SPARSE_160), Bar(most=1.12)),
            at.mean("loss-5-copies", "cycles", FLASK_5, FLASK_160, Bar(most=1.03), programs=ALONE),
            at.one("worst-5", "cycles", Repeated(FLASK_5), Repeated(TOKENB), Bar(most=1.2), max, SPREAD),
            at.mean("sparse-5-servers", "cycles", Repeated(SPARSE_5, 3), Repeated(SPARSE_160, 3), Bar(least=1.2),
                    LESS_MEMORY, SERVERS),
            at.one("sparse-5-worst", "cycles", Repeated(FLASK_5), Repeated(SPARSE_5), Bar(most=1.0), max, ORDER),
        )),
        Figure("4", "Energy-delay product of the memory hierarchy over TokenB's", "lines", x, "EDP, TokenB = 1",
               at.curves(means("edp"), both),
               (at.mean("edp", "edp", Repeated(FLASK_40), Repeated(TOKENB), Bar(most=0.92), FEWER_HOPS),)),
        Figure("5", "Access time over TokenB's", "lines", x, "access time, TokenB = 1",
               at.curves(means("access_time"), both),
               (at.mean("access-servers", "access_time", Repeated(SPARSE_5, 3), Repeated(SPARSE_160, 3), Bar(least=1.4),
                        programs=SERVERS),),
               "Access time is what cores waited for memory, by accesses of an L1, hits among them."),
        Figure("6", "Efficiency of the filter", "lines", x, "multicasts, TokenB = 1",
               (*at.curves(sums("multicasts"), {"flask": by_capacity("flask")}),
                *at.curves(sums("false_positives", of="multicasts"), {"false positives": by_capacity("flask")})), (
            at.share("false-20", "false_positives", "memory_reads", (FLASK_20,), Bar(most=10)),
            Row("saturation", tuple(p for f in every for p in at.points(f, PROGRAMS)),
                lambda samples: Interval(sum(samples.mean(p, "flushes") for f in every
                                             for p in at.points(f, PROGRAMS)), None, None, 1), Bar(most=0), SMALL),
        ), "False positives are held against reads of memory, each of which the filter may delay. Multicasts are "
           "questions to all tiles: TokenB's requests and retries, FLASK's probes. Curves are of sums over programs."),
        Figure("7", "Memory access time over TokenB's", "lines", x, "memory access time, TokenB = 1",
               at.curves(means("memory_latency"), both),
               (at.row("memory-latency", delay, FLASK_5, TOKENB, Bar(most=15), EVERY_READ),),
               "Cycles of a request that memory served, from the access that made it until the line was there. The "
               "most adverse configuration is FLASK's at 5 %."),
        Figure("8", "Traffic with the best split", "lines", x, "multicasts, TokenB = 1",
               at.curves(sums("multicasts"), splits),
               (at.row("adaptive-traffic", sums("multicasts"), BestSplit(10), FLASK_20, Bar(most=1.25),
                       FULL_FILTER),), SPLIT),
        Figure("9", "Time with the best split of filter and directory", "lines", x, "time, FLASK at 40 % = 1",
               at.curves(means("cycles"), splits, base=FLASK_40), (
            at.mean("adaptive-10", "cycles", BestSplit(10), FLASK_40, Bar(most=1.06)),
            at.mean("adaptive-5", "cycles", BestSplit(5), FLASK_40, Bar(most=1.1)),
        ), SPLIT),
        Figure("10", "Associativity of the directory at 20 %", "lines", "ways", "time, sparse with 64 ways = 1",
               at.curves(means("cycles"), by_ways, base=by_ways["sparse"][64]),
               (at.mean("one-way", "cycles", by_ways["flask"][1], by_ways["sparse"][64], Bar(most=1.01)),),
               "With 64 ways FLASK's directory has too few sets for 15 programs side by side: its curves of all "
               "programs and of copies end at 16 ways."),
        Figure("11", "Flit-hops, FLASK over MOSAIC", rows=(
            *(at.mean(f"mosaic-{c}", "flit_hops", sized("flask", c), sized("mosaic", c), Bar(most=0.92))
              for c in CAPACITIES if c >= 20),
            at.one("mosaic-best", "flit_hops", sized("flask", 20), sized("mosaic", 20), Bar(most=0.6), min),
        )),
        Figure("III-B", "Tokens at evictions of the LLC", rows=(
            at.share("all-tokens", "incomplete", "llc_evictions", (FLASK_40,), Bar(least=99.9), rest=True),)),
        Figure("IV-A", "Bits of a tracked line", rows=(
            Row("dlcbf-bits", (BITS,), lambda samples: samples.interval(BITS, "dlcbf"), Bar(most=17), counts_at=SIZES),
            Row("cbf-bits", (BITS,), lambda samples: samples.interval(BITS, "cbf"), Bar(most=32), counts_at=SIZES),
        ), sentence="The chip's own filters hold random lines, as many as give 5 % false positives. The d-left filter "
           "has four sub-tables, whose cells of 12 bits count, as in the publication; a row of 128 bits has overflow "
           "counters beside its eight cells. The conventional filter has the number of hashes that needs the fewest "
           "bits."),
        Figure("sensitivity", "What other choices change", x="choice", y="base = 1", curves=(
            *(at.sensitivity(name, means(measure)) for name, measure in {
                "time": "cycles", "EDP": "edp", "flit-hops": "flit_hops", "memory access time": "memory_latency",
            }.items()),
            at.sensitivity("multicasts", sums("multicasts")),
        ), sentence=CHOICE),
        table_1(),
        Figure("T2", "Workloads", reason="The publication's programs ran on Simics and cannot be had. The workloads of "
               "docs/workloads.md stand for them."),
    ]  # fmt: skip


def access_time(stats: Stats) -> float:
    """By all accesses, hits among them: a directory that takes lines back makes more misses, each of them short, so
    that a mean over misses falls while cores wait longer."""
    accesses = sum(stats.total(f"core.*.{cache}.{kind}") for cache in ("l1d", "l1i") for kind in ("hits", "misses"))
    return sum(stats[f"chip.core_cycles.nonspeculative.{part}"] for part in WAITS) / max(1, accesses)


def memory_latency(stats: Stats) -> float:
    """Cycles of a request that memory served."""
    found = stats.histogram("tile.*.llc.latency_memory")
    assert found is not None
    return found.sum / max(1, found.samples)


def multicasts(stats: Stats) -> float:
    """How often all tiles were asked: probes of a home, or each request and each retry of TokenB."""
    if not stats.matching("tile.*.requests.retries", optional=True):
        return stats.total("tile.*.directory.probes", optional=True)
    served = [stats.histogram(f"tile.*.llc.{name}") for name in ("latency", "latency_other_tile", "latency_memory")]
    persistent = stats.total("tile.*.requests.persistent")
    return sum(h.samples for h in served if h is not None) + stats.total("tile.*.requests.retries") + persistent


def measures(run: Run) -> dict[str, float]:
    stats, spent = run.stats.whole_run, energy.of(run)
    assert spent is not None and run.summary.cycles is not None
    return {
        "cycles": float(run.summary.cycles),
        "edp": float(f"{spent.edp:.12g}"),  # nJ s; a compiler may round the last digits otherwise
        "flit_hops": stats.total("coherence.flit_hops.*"),
        "access_time": float(f"{access_time(stats):.12g}"),
        "memory_reads": stats.total("mem.*.reads"),
        "memory_latency": float(f"{memory_latency(stats):.12g}"),
        "multicasts": multicasts(stats),
        "false_positives": stats.total("tile.*.directory.false_positives", optional=True),
        "flushes": stats.total("tile.*.directory.flushes", optional=True),
        "llc_evictions": stats.total("tile.*.llc.evictions"),
        "incomplete": stats.total("tile.*.directory.incomplete", optional=True),
    }


STUDY = Study(
    name="flask",
    title="FLASK: filtered and token-based coherence",
    source="FLASK coherence",
    figures=figures,
    measures=measures,
    measures_version=2,
    seeds={"quick": 1, "sampled": 1, "full": 3},
)
