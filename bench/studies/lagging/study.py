"""Speculative lagging: the benchmarks of the publication without and with it, beside Pekko, and the influence of the
estimated cost of a switch, the number of actors and the rate of sampling.

A point is a program of this machine on two workers; the configurations of a benchmark take turns. *Dear*: each switch
of turns is made 1.5 us dearer (RUBATO_ACTOR_SWITCH), half where a turn is scheduled and half where it begins. That is
about the cost of a switch in the publication's system. `bench/lagging` guards the gap sweep and programs beyond the
publication against bars of this machine, and `bench/actors` the peers.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence

from harness.peers import ALL_PEERS, SIZE_NAMES
from rubato.results.intervals import Interval
from rubato.results.measurements import ratio_of_pairs
from rubato.results.publication import Mark
from rubato.results.run import Run
from school.points import Measured
from school.samples import Samples
from school.study import SIZES, Curve, Figure, Row, Study
from school.verdicts import Bar

WORKERS = 2
DEAR_NS = 1500
#: C in spins of the publication; 2,048 are its switch, and so ours of DEAR_NS.
SPINS = (0, 128, 256, 512, 1024, 2048, 4096)
SPINS_OF_A_SWITCH = 2048
CONVERGED = tuple(spins for spins in SPINS if spins >= 512)
CONSUMERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
RINGS = (2, 4, 8, 16, 32, 64, 128, 256)
RATES = (0.1, 0.2, 1.0, 10.0, 100.0)  # phi0 in per cent
HARMLESS_RATE = 0.2
#: Of these, those of --size quick.
FEW = {CONSUMERS: (1, 2, 8, 128), RINGS: (2, 8, 128), RATES: (0.2, 1.0, 100.0)}
GAPS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)

#: The eight benchmarks.
TITLES = {
    "pingpong": "ping-pong", "threadring": "thread ring", "fjthrput": "fork-join throughput", "count": "counting",
    "fjcreate": "fork-join creation", "big": "big", "streaming": "streaming ping-pong", "fib": "Fibonacci",
}  # fmt: skip
VARIED = {"threadring": "r"}  # else "n"
#: Their sizes: three of the one that is varied, that of --size quick, and the others, large and quick. `big` has a
#: quarter of the suite's messages, since each is a dear turn.
INPUTS: dict[str, tuple[tuple[int, int, int], int, dict[str, tuple[int, int]]]] = {
    "pingpong": ((10_000, 20_000, 40_000), 1000, {}),
    "threadring": ((25_000, 50_000, 100_000), 1000, {"n": (100, 10)}),
    "fjthrput": ((2500, 5000, 10_000), 100, {"a": (60, 20)}),
    "count": ((250_000, 500_000, 1_000_000), 5000, {}),
    "fjcreate": ((10_000, 20_000, 40_000), 2000, {}),
    "big": ((1250, 2500, 5000), 50, {"w": (120, 30)}),
    "streaming": ((6250, 12_500, 25_000), 1000, {"w": (128, 16)}),
    "fib": ((20, 22, 25), 15, {}),
}
#: Bars of Pekko's time over ours.
OVER_PEKKO = {"pingpong": 2.1, "threadring": 2.1, "fjthrput": 2.1, "count": 2.0}
#: The programs of the third row: actors that handle few messages, and one that never waits for any.
SAMPLED = ("threadring", "big", "fib", "streaming")
MINIQUEUE = {"pingpong": Bar(least=1), "threadring": Bar(least=1), "fjthrput": Bar(0.97, 1.03)}

RESOLUTION = "So few rounds on this machine do not tell 1 % apart from noise."
TWO_WORKERS = "Two workers; the publication's processors run eight threads."
SATURATED = ("One worker handles all consumers' messages, and is slower than the producer: mailboxes fill without "
             "lagging, and few turns can be saved.")  # fmt: skip
ACCOUNT = "The account (A42) lets sampling cost as much as the initial rate says, which is too much for high rates."
PREEMPTED = "A worker that loses its CPU while it waits rests from lagging for up to a second (A49)."
SHORT = ("A partner's turn begins with half of a dear switch, 1,024 spins: a shorter sample finds nothing, unless both "
         "actors lag already.")  # fmt: skip
PEKKO = "The faster of Pekko's settings counts, 5 or 50 messages a turn."


# ---- Points ----


def inputs(name: str, size: str) -> list[dict[str, int]]:
    """The sizes of a benchmark by name, in the order in which peers take them; the smallest first."""
    large, quick, others = INPUTS[name]
    fixed = {key: values[size == "quick"] for key, values in others.items()}
    return [{key: fixed.get(key, n) for key in SIZE_NAMES[name]} for n in ((quick,) if size == "quick" else large)]


def varied(name: str, chosen: dict[str, int]) -> int:
    return chosen[VARIED.get(name, "n")]


def environment(lagging: str, is_dear: bool, **more: object) -> tuple[tuple[str, str], ...]:
    """Where switches are dear C is given, as in the publication. Else the engine measures it."""
    found = {"RUBATO_WORKERS": str(WORKERS), "RUBATO_LAG": lagging}
    if is_dear:
        found["RUBATO_ACTOR_SWITCH"] = str(DEAR_NS)
        if lagging != "off":
            found["RUBATO_LAG_TURN_SWITCH"] = f"{DEAR_NS / 1000:g}"
    return tuple((found | {key: str(value) for key, value in more.items()}).items())


def named(what: str, lagging: str, is_dear: bool, more: dict[str, object]) -> str:
    settings = (f"{key.removeprefix('RUBATO_').removeprefix('LAG_').lower()} {value}" for key, value in more.items())
    return ", ".join((what, *(("dear",) if is_dear else ()), f"lagging {lagging}", *settings))


def seconds_of(name: str, size: str, is_dear: bool) -> float:
    """Of a process, about: dear turns of `big` take the longest."""
    return 0.2 if size == "quick" else {"big": 5.0, "fib": 1.5}.get(name, 1.0) if is_dear else 0.4


def savina(family: str, name: str, size: str, chosen: dict[str, int], lagging: str, is_dear: bool = False,
           **more: object) -> Measured:  # fmt: skip
    sizes = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    command = ("{build}/bin/savina-native", "--benchmark", name, "--iterations", "8", "--verify", "--json", *sizes)
    return Measured(named(f"{name} {varied(name, chosen)}", lagging, is_dear, more), f"{family}, {size}", command,
                    environment(lagging, is_dear, **more),
                    values=("iterations",), processors=WORKERS, size=size,
                    estimate=seconds_of(name, size, is_dear))  # fmt: skip


def in_turns(name: str, size: str, chosen: dict[str, int], lagging: str, is_dear: bool = False) -> Measured:
    return savina(f"{name} {varied(name, chosen)}", name, size, chosen, lagging, is_dear)


def pekko(name: str, size: str, chosen: dict[str, int]) -> list[Measured]:
    """One a setting. The JVM warms up for 3 s, and for ten iterations."""
    peer = ALL_PEERS["P"]
    program, *launch = peer.filled(peer.launch, "{root}/build/peers/" + peer.folder)
    warm = f"-Dsavina.warm={0 if size == 'quick' else 3}"
    points = []
    for setting, arguments in peer.settings.items():
        command = (program, warm, *launch, name, "8", str(WORKERS), *arguments, *map(str, chosen.values()))
        points.append(Measured(f"{name} {varied(name, chosen)}, {peer.title}, {setting}",
                               f"{name} {varied(name, chosen)}, {size}", command, values=("iterations",),
                               processors=WORKERS, size=size, estimate=1.5 if size == "quick" else 6,
                               needs=peer.title))  # fmt: skip
    return points


LAG_VALUES = ("us_a_message", "turns_a_message", "hit_share", "lag_us", "switch_us")
TIME = LAG_VALUES[0]


def handing_on(family: str, what: str, actors: int, size: str, lagging: str, is_dear: bool, **more: object) -> Measured:
    """A ring of bound actors, or consumers of one producer (bench/actor_lag.cpp)."""
    messages = {"ring": {"quick": 2000}.get(size, 100_000), "consumers": {"quick": 25_600}.get(size, 3_200_000)}[what]
    command = ("{build}/bin/bench_actor_lag", what, str(actors), str(messages))
    return Measured(named(f"{what} {actors}", lagging, is_dear, more), f"{family}, {size}", command,
                    environment(lagging, is_dear, **more),
                    values=LAG_VALUES, processors=WORKERS, size=size,
                    estimate=0.2 if size == "quick" else {"ring": 1.5, "consumers": 0.5}[what])  # fmt: skip


def by_switch(what: str, actors: int, size: str) -> dict[int, Measured]:
    """By C in spins, dear. With none, turns do not lag, and workers do as in the others: only turns differ."""
    points = {}
    for spins in SPINS:
        given = {"RUBATO_LAG_TURN_SWITCH": f"{DEAR_NS / 1000 * spins / SPINS_OF_A_SWITCH:g}"}
        more = given if spins else {"RUBATO_LAG_LEVELS": "workers"}
        points[spins] = handing_on(f"{what} {actors}, C", what, actors, size, "on", True, **more)
    return points


def with_measured_switch(what: str, actors: int, size: str) -> Measured:
    """As by_switch, with C as the engine measures it."""
    return handing_on(f"{what} {actors}, C", what, actors, size, "on", True, RUBATO_LAG_TURN_SWITCH=0)


def by_actors(what: str, size: str, lagging: str, is_dear: bool) -> dict[int, Measured]:
    places = {"consumers": CONSUMERS, "ring": RINGS}[what]
    return {n: handing_on(f"{what} {n}", what, n, size, lagging, is_dear)
            for n in (FEW[places] if size == "quick" else places)}  # fmt: skip


def by_rate(name: str, size: str, mode: str, is_dear: bool) -> dict[float, Measured]:
    chosen = inputs(name, size)[0]
    return {rate: savina(f"{name}, rates", name, size, chosen, mode, is_dear, RUBATO_LAG_PHI0=f"{rate / 100:g}")
            for rate in (FEW[RATES] if size == "quick" else RATES)}  # fmt: skip


def without_samples(name: str, size: str, is_dear: bool) -> Measured:
    return savina(f"{name}, rates", name, size, inputs(name, size)[0], "off", is_dear)


def miniqueue(name: str, size: str, is_dear: bool, is_on: bool) -> Measured:
    return savina(f"{name}, miniqueue", name, size, inputs(name, size)[-1], "on", is_dear, RUBATO_MINIQUEUE=int(is_on))


def numbers() -> Measured:
    return Measured("numbers of the analysis", "numbers", ("{build}/bin/bench_lag_numbers",), values=NUMBERS, rounds=1,
                    estimate=0.1)  # fmt: skip


def gap(us: float, mode: str, size: str) -> Measured:
    command = ("{build}/bin/bench_actor_gap", f"{us:g}", "1000" if size == "quick" else "10000")
    return Measured(f"gap of {us:g} us, lagging {mode}", f"gap of {us:g} us, {size}", command,
                    environment(mode, False), values=(TIME,), processors=WORKERS, size=size,
                    estimate=0.2 if size == "quick" else 0.6)  # fmt: skip


# ---- Values ----


def worst(intervals: Sequence[Interval], *, is_low: bool) -> Interval:
    """The one that a bar is missed by first: with the lowest lower end, or the highest upper one."""
    def end(i: Interval) -> float:
        found = i.low if is_low else i.high
        return i.mean if found is None else found

    return min(intervals, key=end) if is_low else max(intervals, key=end)


def of_pairs(key: str, pairs: Sequence[tuple[Measured, Measured]], bar: Bar, why: str, value: str) -> Row:
    """Of several pairs, the one that the bar is missed by first."""
    def found_in(found: Samples) -> Interval:
        return worst([found.ratio(a, b, value) for a, b in pairs], is_low=bar.least is not None)

    return Row(key, points_of(pairs), found_in, bar, why)


def points_of(pairs: Sequence[tuple[Measured, Measured]]) -> tuple[Measured, ...]:
    return tuple(point for pair in pairs for point in pair)


def line(name: str, points: dict[int, Measured] | dict[float, Measured], value: str, factor: float = 1) -> Curve:
    def marks(found: Samples) -> list[Mark]:
        return [Mark.of(i, x=x)
                for x, point in points.items() for i in [found.interval(point, value, factor)]]  # fmt: skip

    return Curve(name, tuple(points.values()), marks)


def over_line(name: str, pairs: dict[float, tuple[Measured, Measured]], value: str) -> Curve:
    def marks(found: Samples) -> list[Mark]:
        return [Mark.of(i, x=x)
                for x, pair in pairs.items() for i in [found.ratio(*pair, value)]]  # fmt: skip

    return Curve(name, points_of(list(pairs.values())), marks)


# ---- Figures ----

NUMBERS = ("samples", "fixed", "fewest", "most", "gain", "overhead_percent", "most_overhead_percent")


def analysis() -> Figure:
    point = numbers()
    bars = {
        "sample-size": ("samples", Bar(43, 43)),
        "messages-fixed": ("fixed", Bar(4300, 4300)),
        "messages-low": ("fewest", Bar(468, 469)),
        "messages-high": ("most", Bar(496, 497)),
        "messages-gain": ("gain", Bar(least=8)),
        "sampling-overhead": ("overhead_percent", Bar(most=1)),
        "worst-overhead": ("most_overhead_percent", Bar(most=50)),
    }

    def row(key: str, value: str, bar: Bar) -> Row:
        return Row(key, (point,), lambda found: found.interval(point, value), bar, counts_at=SIZES)

    return Figure("2", "Numbers of the analysis", rows=tuple(row(key, *given) for key, given in bars.items()),
                  sentence="The engine's formulas (`native/lag/formulas.hpp`) give them, with its own confidence and "
                           "error of a sample; `tests/native/lag` tests the decisions.")  # fmt: skip


def faster_pekko(found: Samples, points: Sequence[Measured]) -> Measured:
    return min(points, key=lambda point: found.mean(point, "iterations"))


def over_pekko(name: str, size: str) -> Row:
    """At the three sizes; the worst counts."""
    pairs = [(pekko(name, size, chosen), in_turns(name, size, chosen, "on")) for chosen in inputs(name, size)]

    def value(found: Samples) -> Interval:
        return worst([found.ratio(faster_pekko(found, theirs), ours, "iterations") for theirs, ours in pairs],
                     is_low=True)  # fmt: skip

    points = tuple(point for theirs, ours in pairs for point in (*theirs, ours))
    return Row(f"akka-{name}", points, value, Bar(least=OVER_PEKKO.get(name, 1.0)), PEKKO)


def harmless(key: str, name: str, size: str, is_dear: bool) -> Row:
    pairs = [(in_turns(name, size, c, "on", is_dear), in_turns(name, size, c, "off", is_dear))
             for c in inputs(name, size)]  # fmt: skip
    return Row(f"{key}-{name}", points_of(pairs), lambda found: found.ratio_of_all(pairs, "iterations"), Bar(most=1.01),
               RESOLUTION)  # fmt: skip


def suite(size: str) -> Figure:
    rows = [over_pekko(name, size) for name in TITLES]
    rows += [harmless("off", name, size, False) for name in TITLES]
    rows += [harmless("dear", name, size, True) for name in TITLES]
    curves = []
    for name, title in TITLES.items():
        chosen = {varied(name, c): c for c in inputs(name, size)}
        for words, is_dear in (("", False), (", dear", True)):
            for mode in ("off", "on"):
                points = {n: in_turns(name, size, c, mode, is_dear) for n, c in chosen.items()}
                curves.append(line(f"{title}, lagging {mode}{words}", points, "iterations", 1000))
        for points in zip(*(pekko(name, size, c) for c in chosen.values()), strict=True):
            setting = points[0].name.rpartition("-")[2]
            curves.append(line(f"{title}, Pekko, {setting} messages a turn", dict(zip(chosen, points, strict=True)),
                               "iterations", 1000))  # fmt: skip
    return Figure("4", "The Savina suite", "lines", "N", "ms", tuple(curves), tuple(rows),
                  "Pekko is the successor of Akka. Times are of an iteration. The text of the publication names seven "
                  "of the eight benchmarks; the eighth is taken to be fork-join creation.")  # fmt: skip


def converged(key: str, what: str, actors: int, size: str) -> Row:
    points = [by_switch(what, actors, size)[spins] for spins in CONVERGED]

    def value(found: Samples) -> Interval:
        order = sorted(points, key=lambda point: found.mean(point, TIME))
        return found.ratio(order[-1], order[0], TIME)

    return Row(key, tuple(points), value, Bar(most=1.1), TWO_WORKERS if actors > WORKERS else SHORT)


def with_and_without(what: str, actors: int, size: str) -> tuple[Measured, Measured]:
    """Turns do not lag, and lag for a C that is the switch."""
    points = by_switch(what, actors, size)
    return points[0], points[SPINS_OF_A_SWITCH]


def predicted(base_us: float, switch_us: float, hits: float, lag_us: float) -> float:
    """Theorem 3: (1 + eta) / (1 + eta + delta - p), with the work as what a message takes beside its switch."""
    if switch_us <= 0:
        return 1
    eta = max(base_us - switch_us, 0) / switch_us
    return (1 + eta) / (1 + eta + lag_us / switch_us - hits)


def theorem(key: str, what: str, actors: int, size: str) -> Row:
    off, on = with_and_without(what, actors, size)

    def value(found: Samples) -> Interval:
        base = found.values(off, TIME)
        gains = [a / b for a, b in zip(base, found.values(on, TIME), strict=True)]
        of_lags = (found.values(on, kind) for kind in ("switch_us", "hit_share", "lag_us"))
        return ratio_of_pairs(gains, [predicted(*given) for given in zip(base, *of_lags, strict=True)])

    return Row(key, (off, on), value, Bar(least=0.85), TWO_WORKERS if actors > WORKERS else PREEMPTED)


def over_switch(key: str, what: str, actors: int, size: str, bar: Bar, value: str = TIME) -> Row:
    off, on = with_and_without(what, actors, size)
    why = SATURATED if what == "consumers" else TWO_WORKERS if actors > WORKERS else PREEMPTED
    return Row(key, (off, on), lambda found: found.ratio(off, on, value), bar, why)


def first_row(size: str) -> Figure:
    programs = {"ping-pong": ("ring", 2), "thread ring of 4": ("ring", 4), "fork-join throughput": ("consumers", 128)}
    curves = tuple(line(f"{title}, C as given", by_switch(*program, size), TIME) for title, program in programs.items())
    curves += tuple(line(f"{title}, C as measured", {SPINS_OF_A_SWITCH: with_measured_switch(*program, size)}, TIME)
                    for title, program in programs.items())  # fmt: skip
    rows = (
        over_switch("gains-pingpong", *programs["ping-pong"], size, Bar(least=1)),
        over_switch("gains-threadring", *programs["thread ring of 4"], size, Bar(least=1)),
        over_switch("fork-join", *programs["fork-join throughput"], size, Bar(least=3)),
        over_switch("fork-join-turns", *programs["fork-join throughput"], size, Bar(least=3), "turns_a_message"),
        converged("converged-pingpong", *programs["ping-pong"], size),
        converged("converged-threadring", *programs["thread ring of 4"], size),
        theorem("theorem-pingpong", *programs["ping-pong"], size),
        theorem("theorem-threadring", *programs["thread ring of 4"], size),
    )
    return Figure("5a", "Estimated cost of a switch", "lines", "spins of C", "us a message", curves, rows,
                  "All switches are dear; 2,048 spins are such a switch. Actors are bound to workers. At each C "
                  "workers lag before they sleep; at 0 turns do not lag.")  # fmt: skip


def least_gain(size: str) -> Row:
    off, on = (by_actors("consumers", size, mode, True) for mode in ("off", "on"))

    def value(found: Samples) -> Interval:
        gains = {n: found.ratio(off[n], on[n], TIME).mean for n in off}
        return Interval(min(gains, key=lambda n: gains[n]), None, None, 1)

    return Row("consumers-least", (*off.values(), *on.values()), value, Bar(most=WORKERS), SATURATED)


def second_row(size: str) -> Figure:
    curves: list[Curve] = []
    on_off: dict[tuple[str, bool], dict[int, tuple[Measured, Measured]]] = {}
    for what, title in (("consumers", "fork-join throughput"), ("ring", "thread ring")):
        for words, is_dear in (("", False), (", dear", True)):
            off, on = (by_actors(what, size, mode, is_dear) for mode in ("off", "on"))
            on_off[what, is_dear] = {n: (on[n], off[n]) for n in on}
            curves += [line(f"{title}, lagging {mode}{words}", points, TIME)
                       for mode, points in (("off", off), ("on", on))]  # fmt: skip
    rings = on_off["ring", True]
    return Figure("5b", "Number of actors", "lines", "actors", "us a message", tuple(curves), (
        least_gain(size),
        of_pairs("consumers-dear", list(on_off["consumers", True].values()), Bar(most=1.03), RESOLUTION, TIME),
        of_pairs("consumers-as-is", list(on_off["consumers", False].values()), Bar(most=1.01), RESOLUTION, TIME),
        of_pairs("ring-gain", [(rings[2][1], rings[2][0])], Bar(least=1), PREEMPTED, TIME),
        of_pairs("ring-beyond", [pair for n, pair in rings.items() if n > WORKERS], Bar(most=1.01), RESOLUTION, TIME),
    ), "As many messages to all consumers together. Actors are bound to workers.")  # fmt: skip


def third_row(size: str) -> Figure:
    curves: list[Curve] = []
    rows: list[Row] = []
    for name in SAMPLED:
        pairs: dict[str, dict[float, list[tuple[Measured, Measured]]]] = {}
        for words, is_dear in (("", False), (", dear", True)):
            off = without_samples(name, size, is_dear)
            for mode in ("published", "on"):
                points = by_rate(name, size, mode, is_dear)
                curves.append(over_line(f"{TITLES[name]}, {mode}{words}", {r: (p, off) for r, p in points.items()},
                                        "iterations"))  # fmt: skip
                for rate, point in points.items():
                    pairs.setdefault(mode, {}).setdefault(rate, []).append((point, off))
        limit = max(RATES) if name == "streaming" else HARMLESS_RATE
        rows.append(of_pairs(f"rate-{name}", [p for rates in pairs.values() for rate, of in rates.items() for p in of
                                              if rate <= limit], Bar(most=1.01), RESOLUTION, "iterations"))  # fmt: skip
        rows.append(of_pairs(f"account-{name}", [p for of in pairs["on"].values() for p in of], Bar(most=1.01),
                             RESOLUTION if name == "streaming" else ACCOUNT, "iterations"))  # fmt: skip
    return Figure("5c", "Initial rate of sampling", "lines", "% of all giving-ups", "time with / without lagging",
                  tuple(curves), tuple(rows), "The rate is that with which an actor begins.")  # fmt: skip


def with_miniqueue(size: str) -> Figure:
    def bars(words: str, is_dear: bool) -> Curve:
        pairs = {name: (miniqueue(name, size, is_dear, False), miniqueue(name, size, is_dear, True))
                 for name in MINIQUEUE}  # fmt: skip

        def marks(found: Samples) -> list[Mark]:
            return [Mark.of(i, label=TITLES[name])
                    for name, pair in pairs.items() for i in [found.ratio(*pair, "iterations")]]  # fmt: skip

        return Curve(words, points_of(list(pairs.values())), marks)

    def row(name: str, bar: Bar) -> Row:
        off, on = (miniqueue(name, size, True, is_on) for is_on in (False, True))
        return Row(f"miniqueue-{name}", (off, on), lambda found: found.ratio(off, on, "iterations"), bar, RESOLUTION)

    return Figure("5d", "The miniqueue", "bars", "", "time without / with it",
                  (bars("as it is", False), bars("dear", True)), tuple(row(*item) for item in MINIQUEUE.items()),
                  "The rows are of dear switches.")  # fmt: skip


def figures(size: str) -> list[Figure]:
    sweep = over_line("time without lagging over time with it",
                      {us: (gap(us, "off", size), gap(us, "on", size)) for us in GAPS}, TIME)  # fmt: skip
    return [
        analysis(), suite(size), first_row(size), second_row(size), third_row(size), with_miniqueue(size),
        Figure("gap", "Two actors that work between messages", "lines", "us of work a message", "off / on", (sweep,),
               sentence="Not in the publication: lagging against the time between messages."),
    ]  # fmt: skip


def measures(_: Run) -> dict[str, float]:
    raise AssertionError("no point is simulated")


NOT_MEASURED = {
    "akka-128": "The dear switch stands for that of the publication's system: beside Pekko the row would only say how "
                "many ns were chosen.",
    "akka-ring": "Here one worker keeps a ring with one message, with and without the miniqueue; figure 4 has the "
                 "thread ring of 100 actors beside Pekko.",
}  # fmt: skip

STUDY = Study(
    name="lagging",
    title="Speculative lagging",
    source="The publication on speculative lagging",
    figures=figures,
    measures=measures,
    seeds={"quick": 1, "sampled": 1, "full": 1},
    rounds={"quick": 3, "sampled": 7, "full": 15},
    not_measured=NOT_MEASURED,
    peers={ALL_PEERS["P"].title: ALL_PEERS["P"]},
)
