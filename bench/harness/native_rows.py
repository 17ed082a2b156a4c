"""The configurations of the native engine that are measured: programs with their arguments, and the rows that compare
them. `bench/native` holds the rows against bars; `bench/lagging --default` runs what may lag of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness import BUILD
from harness.programs import output_of
from rubato.errors import UsageError
from rubato.names import plural
from rubato.process import machine

WORKERS = machine.processors()


@dataclass(frozen=True)
class Config:
    """A program that is run again and again; `read` takes the sample from its results. More is better, or a time."""

    name: str
    family: str
    title: str
    program: str
    arguments: tuple[str, ...]
    quick: tuple[str, ...]  # of --quick: options, each with a value, in place of the same; or all arguments
    read: Callable[[str, dict], float]
    unit: str
    environment: tuple[tuple[str, str], ...] = ()

    def small(self) -> list[str]:
        if not self.quick or not self.quick[0].startswith("--"):
            return list(self.quick or self.arguments)
        kept = [a for before, a in itertools.pairwise(["", *self.arguments])
                if a not in self.quick[::2] and before not in self.quick[::2]]
        return [*kept, *self.quick]

    def sample(self, arguments: Sequence[str], also: Mapping[str, str] | None = None) -> float:
        """Runs it, with `also` in its environment. @raises UsageError with the program's words, if it fails."""
        with tempfile.TemporaryDirectory() as folder:
            counters = Path(folder) / "counters.json"
            environment = os.environ | dict(self.environment) | {"RUBATO_COUNTERS": str(counters)} | dict(also or {})
            command = [str(BUILD / "bin" / self.program), *arguments]
            printed = output_of(command, environment=environment, name=self.name)
            return self.read(printed, json.loads(counters.read_text()) if counters.exists() else {})


@dataclass(frozen=True)
class Row:
    """`over` None: the value itself; BASELINE: its ratio to the committed median. `any_of`: the largest ratio of these
    configurations to the best of them."""

    name: str
    title: str
    of: str
    over: str | None
    bar: float | None
    at_least: bool = True
    any_of: tuple[str, ...] = ()


BASELINE = "baseline"

# ---- what is run ----


def ycsb(name: str, title: str, *arguments: str, key: str = "million_requests_a_second", unit: str = "M requests/s",
         quick: tuple[str, ...] = (), workers: int = WORKERS, **environment: str) -> Config:
    family = name.rpartition("/")[0]
    size = ("--records", "40000000", "--operations", "20000000")
    small = ("--records", "200000", "--operations", "300000", *quick)
    environment = {"RUBATO_WORKERS": str(workers)} | environment
    if workers > WORKERS:
        environment["RUBATO_OVERSUBSCRIBE"] = "1"
    return Config(name, family, title, "ycsb-native", ("--json", *size, "--workers", str(workers), *arguments), small,
                  lambda out, _: json.loads(out)[key], unit, tuple(environment.items()))


def churn(name: str, title: str, key: str, unit: str, times: int) -> Config:
    """The most of it at a time, in a run of `times` as many requests."""
    config = ycsb(name, title, "--workload", "churn", key=key, unit=unit)
    requests = {"--records": "100000", "--operations": str(2_000_000 * times)}
    full = [requests.get(before, a) for before, a in itertools.pairwise(["", *config.arguments])]
    small = ("--records", "50000", "--operations", str(300_000 * times))
    return replace(config, arguments=tuple(full), quick=small)


def join(name: str, title: str, *arguments: str) -> Config:
    return Config(f"join/{name}", "join", title, "hashjoin-native", ("--json", "--scale", "10", *arguments),
                  ("--scale", "0.2"), lambda out, _: json.loads(out)["seconds"], "s")


def in_run(name: str, title: str, program: str, graph: str, small: str, workers: int) -> Config:
    arguments, quick = ("--generate", graph), ("--generate", small)
    return Config(name, name.rpartition("/")[0], title, f"{program}-native", arguments, quick,
                  lambda _, counters: counters["seconds"], "s", (("RUBATO_WORKERS", str(workers)),))


def micro(name: str, title: str, program: str, benchmark: str, counter: str, unit: str = "ns",
          **environment: str) -> Config:
    def read(out: str, _: dict) -> float:
        benchmarks = json.loads(out)["benchmarks"] if out else []  # none matches: not even JSON
        found = next((b for b in benchmarks if b["name"] == benchmark), None)
        if found is None:
            raise UsageError(f"{program} has no benchmark {benchmark}.")
        return 1e9 / found[counter] if counter == "items_per_second" else float(found[counter])

    arguments = ("--benchmark_format=json", f"--benchmark_filter=^{re.escape(benchmark)}$")
    return Config(f"micro/{name}", "micro", title, program, arguments, ("--benchmark_min_time=0.01",), read, unit,
                  tuple(environment.items()))


def divide(program: str, size: int, small: int, library: str, workers: int, key: str = "seconds") -> Config:
    """A program that divides its work. All its libraries and numbers of workers take turns."""
    name = f"{library}-{workers}" if key == "seconds" else f"{library}-{workers}-{key}"
    unit = "s" if key == "seconds" else "MB"
    title = f"{program}, {LIBRARIES[library]}, {plural(workers, 'worker')}"
    return Config(f"{program}/{name}", program, title, "bench_native_divide",
                  (program, library, str(size), str(workers)), (program, library, str(small), str(workers)),
                  lambda out, _: json.loads(out)[key], unit)


def idle(name: str, title: str, key: str, unit: str) -> Config:
    return Config(f"idle/{name}", "idle", title, "bench_native_idle", ("5", "2000"), ("0.5", "100"),
                  lambda out, _: json.loads(out)[key], unit)


C, A = ("--workload", "C"), ("--workload", "A")
#: What actors cost: titles, benchmarks, and the most nanoseconds.
ACTORS = {
    "message": ("a message to an actor", "messages/16384", 25),
    "ping-pong": ("a message and its turn", "ping_pong", 45),
    "ask": ("an ask and its answer", "asks", 120),
    "actor": ("spawn an actor, send it a message, and stop it", "lives/64", 150),
}
DISTANCES = ("2", "4", "16", "adapt")
#: Records a task of a hash join, and those that the publication calls equivalent.
GRAINS = tuple(1 << n for n in (4, 7, 8, 10, 12, 14, 16, 18, 20))
EQUIVALENT_GRAINS = tuple(g for g in GRAINS if 1 << 7 <= g <= 1 << 16)
ROBUST = tuple(f"join/{g}" for g in EQUIVALENT_GRAINS)
ROAD, RMAT = "road:1000x1000", "rmat:20:16"
LIBRARIES = {"serial": "serial", "rubato": "Rubato", "onetbb": "oneTBB", "openmp": "OpenMP"}
#: Programs that divide their work: size, size of --quick, the most of oneTBB's time that is allowed.
DIVIDED = {"tree": (35, 22, 1.0), "wavefront": (2000, 200, 1.0), "fib": (36, 24, 1.5), "queens": (13, 9, None),
           "forks": (36, 24, 1.0), "loops": (100_000, 1_000, 1.0),
           "for": (100_000_000, 1_000_000, 1.0), "reduce": (100_000_000, 1_000_000, 1.0),
           "sort": (10_000_000, 200_000, 1.0)}
DIVIDED_WORKERS = tuple(dict.fromkeys((1, WORKERS, 8)))
#: The most memory of a process: the largest tree has 228 million nodes.
DIVIDED_MEMORY = {"tree": (42, 22, 64), "fib": (36, 24, 16)}

CONFIGS = [
    ycsb("C/tasks", "tasks", *C),
    ycsb("C/no-prefetch", "tasks, no prefetching", *C, RUBATO_PREFETCH="off"),
    *(ycsb(f"C/prefetch-{d}", f"tasks, prefetch distance {d}", *C, RUBATO_PREFETCH=d) for d in DISTANCES),
    ycsb("C/task-reclamation", "tasks, epoch every task", *C, RUBATO_RECLAIM="task"),
    ycsb("C/no-reclamation", "tasks, no epochs", *C, RUBATO_RECLAIM="off"),
    ycsb("C/malloc", "tasks, each from malloc", *C, RUBATO_TASK_MEMORY="malloc"),
    ycsb("C/threads-optimistic", "threads, optimistic", *C, "--variant", "threads", "--sync", "optimistic"),
    ycsb("C/interleaved", "threads, 16 interleaved lookups", *C, "--variant", "interleaved", "--sync", "optimistic"),
    *(ycsb(f"C/{v}", f"oneTBB, a task {v[4:]}", *C, "--variant", v, "--sync", "optimistic")
      for v in ("tbb-step", "tbb-lookup")),
    ycsb("C/1-worker", "tasks, 1 worker", *C, workers=1),
    ycsb("C/8-workers", "tasks, 8 workers", *C, workers=8),
    ycsb("uniform/tasks", "tasks", *C, "--distribution", "uniform"),
    ycsb("uniform/no-prefetch", "tasks, no prefetching", *C, "--distribution", "uniform", RUBATO_PREFETCH="off"),
    ycsb("A/tasks", "tasks", *A),
    ycsb("A/1-worker", "tasks, 1 worker", *A, workers=1),
    *(churn(f"churn-{what}/{times}", f"{what}, {times} times the requests", key, what, times)
      for what, key in (("bytes", "peak_unreclaimed_bytes"), ("nodes", "peak_nodes")) for times in (1, 10)),
    *(ycsb(f"latency-{q}/{n}", f"{q}, {n} in flight", *C, "--inflight", n, key=f"latency_{q}_us", unit="us")
      for q in ("p50", "p99") for n in ("16", "64", "500")),
    *(join(str(g), f"{g} records a task", "--records-per-task", str(g)) for g in GRAINS),
    join("threads", "threads, morsels of 4096", "--variant", "threads"),
    join("tbb", "oneTBB, ranges of 4096", "--variant", "tbb"),
    *(in_run(f"bfs/{w}", f"bfs, R-MAT, workers: {w}", "bfs", RMAT, "rmat:12:8", w)
      for w in dict.fromkeys((1, WORKERS))),
    *(in_run(f"sssp/{w}", f"sssp, road, workers: {w}", "sssp", ROAD, "road:100x100", w)
      for w in dict.fromkeys((1, WORKERS))),
    Config("sssp/serial", "sssp", "serial Dijkstra", "bench_native_dijkstra", (ROAD,), ("road:100x100",),
           lambda out, _: json.loads(out)["seconds"], "s"),
    micro("local", "create and free a task's memory, one worker", "bench_native_memory", "local/500", "real_time"),
    micro("local-malloc", "the same with malloc", "bench_native_memory", "local_malloc/500", "real_time"),
    micro("across", "the same across two workers", "bench_native_memory", "across/iterations:2000", "ns/task"),
    micro("empty", "create and run an empty task, one worker", "bench_native_tasks", "one_after_the_other",
          "items_per_second", RUBATO_WORKERS="1"),
    *(micro(name, f"{title}, one worker", "bench_native_actors", benchmark, "items_per_second", RUBATO_WORKERS="1")
      for name, (title, benchmark, _) in ACTORS.items()),
    *(micro(f"long-{n}", f"8 tasks of 5 ms, {plural(n, 'worker')}", "bench_native_tasks",
            "long_tasks/iterations:1/real_time", "real_time", RUBATO_WORKERS=str(n))
      for n in dict.fromkeys((1, WORKERS))),
    *(divide(program, size, small, library, workers) for program, (size, small, _) in DIVIDED.items()
      for library in LIBRARIES for workers in ((1,) if library == "serial" else DIVIDED_WORKERS)),
    *(divide(program, size, small, "rubato", WORKERS, "peak_mb")
      for program, (size, small, _) in DIVIDED_MEMORY.items()),
    idle("processor", "processor time of an idle engine", "idle_percent", "%"),
    idle("wake-p50", "wake-up, median", "wake_p50_us", "us"),
    idle("wake-p99", "wake-up, 99th percentile", "wake_p99_us", "us"),
    idle("bare-p99", "the same of a thread that sleeps on a semaphore", "bare_p99_us", "us"),
]  # fmt: skip

BY_NAME = {c.name: c for c in CONFIGS}
W = str(WORKERS)
ROWS = [
    Row("prefetch-zipf", "prefetching on / off, YCSB C, Zipf", "C/tasks", "C/no-prefetch", 1.3),
    Row("prefetch-uniform", "prefetching on / off, YCSB C, uniform", "uniform/tasks", "uniform/no-prefetch", 1.4),
    *(Row(f"baseline-{c.replace('/', '-')}", f"{BY_NAME[c].title}, YCSB C, {keys}: rate / committed baseline", c,
          BASELINE, 0.95)
      for family, keys in (("C", "Zipf"), ("uniform", "uniform"))
      for c in (f"{family}/tasks", f"{family}/no-prefetch")),
    Row("threads", "tasks / threads, optimistic, lookups", "C/tasks", "C/threads-optimistic", 1.7),
    Row("interleaved", "tasks / hand-interleaved threads, lookups", "C/tasks", "C/interleaved", 0.65),
    Row("tbb-step", "tasks / oneTBB, a task a step, lookups", "C/tasks", "C/tbb-step", 1.5),
    Row("tbb-lookup", "tasks / oneTBB, a task a lookup, lookups", "C/tasks", "C/tbb-lookup", 1.5),
    Row("allocation-local", "task memory: create and free, local", "micro/local", None, 4, False),
    Row("allocation-across", "task memory: create and free, across workers", "micro/across", None, 15, False),
    Row("allocation-malloc", "malloc / task heap: create and free, local", "micro/local-malloc", "micro/local", None),
    Row("task-memory", "task memory: the engine's / malloc, lookups", "C/tasks", "C/malloc", 1.1),
    # The longest time that some worker was kept from running says how much waits: a maximum, that grows a little with
    # the length of the run. Memory that is never freed would make it 10.
    Row("churn-bytes", "churn, bytes not yet freed at most: 10 times the requests / once", "churn-bytes/10",
        "churn-bytes/1", 3, False),
    Row("churn-nodes", "churn, nodes at most: 10 times the requests / once", "churn-nodes/10", "churn-nodes/1", 1.5,
        False),
    Row("reclamation-batch", "reclamation on / off, batched, YCSB C", "C/tasks", "C/no-reclamation", 0.98),
    Row("reclamation-task", "reclamation on / off, per task, YCSB C", "C/task-reclamation", "C/no-reclamation", 0.90),
    Row("empty-task", "create and run an empty task, one worker", "micro/empty", None, 15, False),
    *(Row(name, f"{title}, one worker", f"micro/{name}", None, bar, False)
      for name, (title, _, bar) in ACTORS.items()),
    Row("long-tasks", f"{W} workers / 1, 8 tasks of 5 ms", "micro/long-1", f"micro/long-{W}", None),
    Row("scaling-C", f"{W} workers / 1, YCSB C", "C/tasks", "C/1-worker", 1.8),
    Row("scaling-A", f"{W} workers / 1, YCSB A", "A/tasks", "A/1-worker", 1.5),
    Row("scaling-bfs", f"{W} workers / 1, bfs on R-MAT", "bfs/1", f"bfs/{W}", 1.5),
    Row("sssp-serial", "sssp on a road graph, 1 worker: time / serial Dijkstra", "sssp/1", "sssp/serial", 2, False),
    Row("sssp-scaling", f"sssp on a road graph: time of {W} workers / 1", f"sssp/{W}", "sssp/1", 1.1, False),
    Row("oversubscribed", f"8 workers: time / that of {W}, YCSB C", "C/tasks", "C/8-workers", 1.3, False),
    *(Row(f"{p}-onetbb", f"{p}: time / oneTBB's, {W} workers", f"{p}/rubato-{W}", f"{p}/onetbb-{W}", bar, False)
      for p, (_, _, bar) in DIVIDED.items()),
    *(Row(f"{p}-openmp", f"{p}: time / OpenMP's, {W} workers", f"{p}/rubato-{W}", f"{p}/openmp-{W}",
          1.5 if p == "loops" else None, False) for p in DIVIDED),
    *(Row(f"{p}-1", f"{p}: time / the serial program's, 1 worker", f"{p}/rubato-1", f"{p}/serial-1", None, False)
      for p in DIVIDED),
    *(Row(f"{p}-8", f"{p}: time of 8 workers / {W}", f"{p}/rubato-8", f"{p}/rubato-{W}", 1.3, False) for p in DIVIDED
      if WORKERS != 8),
    *(Row(f"{p}-memory", f"{p}: memory of the process at most", f"{p}/rubato-{W}-peak_mb", None, bar, False)
      for p, (_, _, bar) in DIVIDED_MEMORY.items()),
    Row("idle", "processor time of an idle engine", "idle/processor", None, 0.1, False),
    Row("wake-up", "wake-up, 99th percentile", "idle/wake-p99", None, 50, False),
    Row("wake-up-bare", "the same of a thread that sleeps on a semaphore", "idle/bare-p99", None, None, False),
    Row("join", "hash join: slowest / fastest of 2^7 to 2^16 records a task", "", None, 1.1, False, ROBUST),
    *(Row(f"latency-{q}-{n}", f"lookup latency, {q}, {n} in flight", f"latency-{q}/{n}", None, None, False)
      for q in ("p50", "p99") for n in ("16", "64", "500")),
]  # fmt: skip

# Figures beside the publication's, which `bench/publications xtasking` draws: title, and the configurations whose bars
# they show. Its Fig. 7 and 9 have no published values to stand beside.
FIGURES = [
    ("Fig. 7: task memory", ["micro/local", "micro/local-malloc", "micro/across"]),
    ("Fig. 9: hash join by records a task", [*(f"join/{g}" for g in GRAINS), "join/threads", "join/tbb"]),
    ("Prefetch distances, lookups", ["C/tasks", "C/no-prefetch", *(f"C/prefetch-{d}" for d in DISTANCES)]),
    ("Lookups of uniform keys", ["uniform/tasks", "uniform/no-prefetch"]),
    ("Lookups, threads and oneTBB", ["C/tasks", "C/threads-optimistic", "C/interleaved", "C/tbb-step", "C/tbb-lookup"]),
    *((f"Divided work: {p}", [f"{p}/serial-1", *(f"{p}/{library}-{n}" for library in ("rubato", "onetbb", "openmp")
                                                 for n in DIVIDED_WORKERS)]) for p in DIVIDED),
]  # fmt: skip


def needed(rows: list[Row], figures: bool) -> list[Config]:
    names = {n for r in rows for n in (r.of, r.over, *r.any_of) if n and n != BASELINE}
    if figures:
        names |= {n for _, bars in FIGURES for n in bars}
    return [c for c in CONFIGS if c.name in names]
