"""Transactional memcached: times of its figures, and the counts of transactions of its tables (T93).

A point is `bench/memcached_trial`: a server, and memcslap's load. The curves of a number of threads take turns. `quick`
has 1,000 operations a thread, `sampled` 20,000, `full` the published 625,000. Counts hardly vary, so they are taken
once; absolute numbers are not held against the publication's, which had another memcached, but shares and zeros are.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

from harness.targets import Target
from rubato.results.intervals import Interval
from rubato.results.publication import Mark
from rubato.results.run import Run
from school.points import Measured
from school.samples import Samples
from school.study import SIZES, Curve, Figure, Row, Study, published_values
from school.verdicts import Bar

PUBLISHED = published_values(Path(__file__))
OPERATIONS = {"quick": 1000, "sampled": 20_000, "full": 625_000}
THREADS = {"quick": (1, 2), "sampled": (1, 2, 4, 8, 12), "full": (1, 2, 4, 8, 12)}
COUNTED_WITH = {"quick": 2, "sampled": 4, "full": 4}
CALLABLE, MAX, LIB, ON_COMMIT = (
    (f"IP-{stage}", f"IT-{stage}") for stage in ("Callable", "Max", "Lib", "onCommit")
)
WAKING = ("Condition variables", "Semaphores")
STAGES = Target("rubato-cached-stages")
OF_STAGES = (*WAKING, "IP", "IT", *CALLABLE, *MAX, *LIB)
DRAWN = {
    "4": ("Transactions in the place of locks", ("Baseline", *WAKING, "IP", "IT", *CALLABLE)),
    "6": ("As much as the specification allows", ("Baseline", *CALLABLE, *MAX)),
    "8": ("Safe library functions", ("Baseline", *CALLABLE, *MAX, *LIB)),
    "9": ("Performance with onCommit handlers", ("Baseline", *CALLABLE, *LIB, *ON_COMMIT)),
    "10": ("Performance without the readers/writer lock", ("Baseline", *ON_COMMIT, "IP-NoLock", "IT-NoLock")),
    "11": ("Other algorithms and contention managers", ("IP-NoLock", "Lazy", "NOrec", "Backoff", "Hourglass")),
}
TABLES = {"T1": ("IP", "IT", *CALLABLE), "T2": MAX, "T3": LIB, "T4": ON_COMMIT}
COUNTS = ("committed", "in_flight_switch", "start_serial", "abort_serial", "operations")
SOURCES = ("1.4.15 read its volatile clock in most sections and counted references in assembly, and a set here meets "
           "libc only if its key is there.")  # fmt: skip
WAITS = "With fewer processors than threads, which wait for each other, the times of one trial differ by half."


def needs_of(curve: str) -> str:
    """The target whose program serves the curve, if `make build` leaves it out."""
    return STAGES.title if curve in OF_STAGES else ""


def timed(curve: str, threads: int, size: str) -> Measured:
    command = ("{root}/bench/memcached_trial", curve, "--threads", str(threads), "--operations", str(OPERATIONS[size]))
    return Measured(f"{curve}, {threads} threads", f"times, {threads} threads, {size}", command, size=size,
                    estimate={"quick": 1.5, "sampled": 4, "full": 60}[size], needs=needs_of(curve))  # fmt: skip


def counted(curve: str, size: str) -> Measured:
    threads = COUNTED_WITH[size]
    command = ("{root}/bench/memcached_trial", curve, "--counts", "--threads", str(threads), "--operations",
               str(OPERATIONS[size]))  # fmt: skip
    return Measured(f"{curve}, counts, {threads} threads", f"counts of {curve}, {size}", command, values=COUNTS,
                    rounds=1, size=size, estimate=1, needs=needs_of(curve))  # fmt: skip


def drawn(key: str, size: str) -> tuple[Curve, ...]:
    def curve(name: str) -> Curve:
        points = {threads: timed(name, threads, size) for threads in THREADS[size]}

        def marks(found: Samples) -> list[Mark]:
            return [Mark.of(i, x=threads)
                    for threads, point in points.items() for i in [found.interval(point, "seconds")]]  # fmt: skip

        return Curve(name, tuple(points.values()), marks)

    return tuple(curve(name) for name in DRAWN[key][1])


def over(key: str, slow: str, fast: str, size: str, bar: Bar, *, is_worst: bool = False) -> Row:
    """The time of `slow` over that of `fast`: with the most threads up to four, or with those where it is largest."""
    counts = THREADS[size] if is_worst else (max(t for t in THREADS[size] if t <= 4),)
    pairs = [(timed(slow, threads, size), timed(fast, threads, size)) for threads in counts]

    def value(found: Samples) -> Interval:
        return max((found.ratio(a, b, "seconds") for a, b in pairs), key=lambda i: i.mean)

    return Row(key, tuple(p for pair in pairs for p in pair), value, bar, WAITS)


def rows_of(key: str, size: str) -> tuple[Row, ...]:
    slower, alike, found = Bar(least=1), Bar(0.8, 1.25), []
    for branch in ("IP", "IT"):
        stages = {stage: f"{branch}-{stage}" for stage in ("Callable", "Max", "Lib", "onCommit", "NoLock")}
        found += {
            "4": [over(f"{branch}-callable", branch, stages["Callable"], size, alike)],
            "6": [over(f"{branch}-max", stages["Max"], stages["Callable"], size, slower)],
            "8": [over(f"{branch}-lib", stages["Max"], stages["Lib"], size, slower)],
            "9": [over(f"{branch}-on-commit", stages["Lib"], stages["onCommit"], size, slower)],
            "10": [over(f"{branch}-baseline", stages["NoLock"], "Baseline", size, Bar(most=1.3), is_worst=True),
                   over(f"{branch}-lock", stages["onCommit"], stages["NoLock"], size, slower)],
        }.get(key, [])  # fmt: skip
    if key == "4":
        found.append(over("semaphores", *reversed(WAKING), size, alike))
    if key == "9":
        found.append(over("IT-ahead", *ON_COMMIT, size, slower))
    if key == "11":
        found += [over("hourglass", "Hourglass", "IP-NoLock", size, alike),
                  over("backoff", "Backoff", "Hourglass", size, slower)]  # fmt: skip
    return tuple(found)


def table(key: str, size: str) -> Figure:
    """Shares are held within a factor of two, published zeros of the last stage exactly."""
    def row(name: str, what: str, above: str, below: str, factor: float) -> Row:
        point, published = counted(name, size), PUBLISHED[f"{name}-{what}"]
        bar = Bar(published / 2, published * 2) if published else Bar(most=0 if name in ON_COMMIT else 0.1)

        def value(found: Samples) -> Interval:
            whole = max(1.0, found.mean(point, below)) if below else 1.0
            return Interval(factor * found.mean(point, above) / whole, None, None, 1)

        return Row(f"{name}-{what}", (point,), value, bar, SOURCES, counts_at=SIZES)

    rows = [one for name in TABLES[key] for one in (
        row(name, "transactions", "committed", "operations", 1),
        row(name, "switch", "in_flight_switch", "committed", 100),
        row(name, "start", "start_serial", "committed", 100),
    )]  # fmt: skip
    return Figure(key, f"Frequency and cause of serialized transactions, {', '.join(TABLES[key])}", rows=tuple(rows),
                  sentence="Transactions an operation: the published counts by 625,000 operations, which fit one "
                  "switch an operation.")  # fmt: skip


def figures(size: str) -> list[Figure]:
    times = [Figure(key, title, "lines", "threads", "seconds", drawn(key, size), rows_of(key, size))
             for key, (title, _) in DRAWN.items()]  # fmt: skip
    return [*times, *(table(key, size) for key in TABLES)]


def measures(_: Run) -> dict[str, float]:
    raise AssertionError("no point is simulated")


NOT_MEASURED = dict.fromkeys(("aborts-NOrec", "aborts-Lazy", "aborts-GCC"),
                             "The publication's machine had 12 cores; with fewer, threads wait for each other.")
NOT_MEASURED |= {key: "It depends on how threads meet, so a count of another machine is not comparable."
                 for key in PUBLISHED if key.endswith("-abort")}  # fmt: skip

STUDY = Study(
    name="memcached",
    title="Transactional memcached",
    source="The publication on a transactional memcached",
    figures=figures,
    measures=measures,
    seeds={"quick": 1, "sampled": 1, "full": 1},
    rounds={"quick": 2, "sampled": 5, "full": 5},
    not_measured=NOT_MEASURED,
    peers={STAGES.title: STAGES},
)
