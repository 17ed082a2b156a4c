#!/usr/bin/env python3
"""A stand-in for rubato-chip: the same command line, run directory and exit codes, made-up numbers, no simulation.

Tests of the Python side use it where the real simulator would be slow or could not be made to fail on purpose.
What it "runs" is decided by the program's arguments: --fail-check, --refuse, --fault, --sleep SECONDS, --crash,
--deadlock.
Numbers are a function of the options, as the real simulator's are.
"""

# SPDX-License-Identifier: MIT
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import random
import signal
import sys
import time

KEYS = [
    ("chip.cores", "integer", "", 256, [1, 1024], None, "Cores of the chip."),
    ("chip.cores_per_tile", "integer", "", 4, [1, 8], None, "Cores of a tile."),
    ("chip.frequency_mhz", "integer", "MHz", 2000, [1, 10000], None, "Clock frequency."),
    ("chip.seed", "integer", "", 1, [0, 2**63], None, "Perturbs placement and tie-breaking."),
    ("chip.perturb", "integer", "cycles", 0, [0, 1000], None, "Perturbs the latency of memory by the seed."),
    ("l1d.size", "size", "bytes", 16384, [64, 2**30], None, "Size of a core's data cache."),
    ("l2.size", "size", "bytes", 262144, [64, 2**30], None, "Size of a tile's L2."),
    ("l2.latency", "integer", "cycles", 7, [1, 1000], None, "Tag and data access of the L2."),
    ("llc.size", "size", "bytes", 1048576, [64, 2**30], None, "Size of one tile's slice of the last level."),
    ("net.contention", "boolean", "", True, None, None, "Whether messages wait for each other on links."),
    ("task.task_queue", "integer", "entries", 64, [1, 65536], None, "Task-queue entries a core."),
    ("task.commit_queue", "integer", "entries", 16, [1, 65536], None, "Commit-queue entries a core."),
    (
        "task.mayspec",
        "string",
        "",
        "mayspec",
        None,
        ["mayspec", "spec", "nonspec"],
        "What MAYSPEC tasks run as.",
    ),
    ("task.capsules", "boolean", "", "true", None, None, "Whether capsules and untracked memory exist."),
    ("run.alloc", "string", "", "guest", None, ["guest", "ideal"], "Whose malloc and free programs have."),
    (
        "run.max_cycles",
        "integer",
        "cycles",
        0,
        [0, 2**63],
        None,
        "Simulated time after which a run ends; 0: no limit.",
    ),
]


def main() -> int:
    argv = sys.argv[1:]
    p = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("--config", "--out", "--roi", "--sandbox", "--argv0", "--progress", "--check-config"):
        p.add_argument(flag)
    for flag in ("--seed", "--cores", "--trace-from", "--trace-cycles", "--interval", "--max-cycles"):
        p.add_argument(flag, type=int)
    for flag in ("--trace", "--no-ff", "--warm", "--json", "--quiet", "--help-config", "--show-config"):
        p.add_argument(flag, action="store_true")
    p.add_argument("--set", action="append", default=[])
    p.add_argument("--series", action="append", default=[])
    p.add_argument("--env", action="append", default=[])
    p.add_argument("program", nargs="?")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    o = p.parse_args(argv)

    if o.help_config:
        fields = ("key", "type", "unit", "default", "range", "choices", "description")
        print(json.dumps([{f: v for f, v in zip(fields, k, strict=True) if v is not None} for k in KEYS]))
        return 0
    values = {k[0]: k[3] for k in KEYS}
    for file in filter(None, [o.config, o.check_config]):
        for number, line in enumerate(pathlib.Path(file).read_text().splitlines(), 1):
            if "sizze" in line:
                print(f"rubato-chip: {file}:{number}: there is no key l2.sizze", file=sys.stderr)
                return 2
    if o.check_config:
        return 0
    for setting in o.set:
        key, _, value = setting.partition("=")
        for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20)):
            if value.removesuffix(unit).isdigit() and value.endswith(unit):
                value = str(int(value.removesuffix(unit)) * factor)
        values[key] = int(value) if value.isdigit() else value
    if o.cores:
        values["chip.cores"] = o.cores
    if o.seed is not None:
        values["chip.seed"] = o.seed
    if o.show_config:
        print(as_toml(values))
        return 0
    if str(values["l2.latency"]) == "0":
        print("rubato-chip: l2.latency is 0; it must be 1 to 1000.", file=sys.stderr)
        return 2
    cores, per_tile = int(values["chip.cores"]), int(values["chip.cores_per_tile"])
    if cores > per_tile and cores % per_tile:
        print(f"rubato-chip: chip.cores is {cores}; it must be a multiple of {per_tile}.", file=sys.stderr)
        return 2
    return simulate(o, values)


def as_toml(values):
    tables = {}
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, {})[name] = value
    lines = []
    for table, entries in tables.items():
        lines.append(f"[{table}]")
        lines += [f"{k} = {json.dumps(v)}" for k, v in entries.items()]
    return "\n".join(lines)


def write(file, text):
    part = file.with_suffix(".part")
    part.write_text(text)
    os.replace(part, file)


def simulate(o, values) -> int:
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "incomplete").write_text("")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    program = pathlib.Path(o.program)
    config = as_toml(values).replace("[", "[config.")
    write(
        out / "run.toml",
        f"format = 1\nprogram = {json.dumps(str(program))}\n"
        f'program_sha256 = "{hashlib.sha256(program.read_bytes()).hexdigest()}"\n'
        f'arguments = {json.dumps(o.arguments)}\nseed = {values["chip.seed"]}\nversion = "0.1.0"\n'
        f"command_line = {json.dumps(sys.argv)}\n\n{config}\n",
    )
    if "--crash" in o.arguments:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "--sleep" in o.arguments:
        until = time.monotonic() + float(o.arguments[o.arguments.index("--sleep") + 1])
        cycles = 0
        while time.monotonic() < until:
            cycles += 100_000
            write(
                out / "progress.json",
                json.dumps({"cycles": cycles, "committed": cycles // 300, "instructions": cycles * 3,
                            "gvt": cycles, "mips": 9.5, "host_seconds": cycles / 1e6}),
            )  # fmt: skip
            time.sleep(0.02)
    if "--fault" in o.arguments:
        print("rubato-chip: the program loaded from 0x0 (unmapped) at pc 0x104fa in visit().", file=sys.stderr)
        return 3
    if "--refuse" in o.arguments:
        write(out / "summary.json", json.dumps(numbers(out, o, values) | {"exit_code": 1, "complete": True}))
        (out / "incomplete").unlink()
        print(f"{o.argv0 or program.name}: bad.gr:1: a number was expected\n"
              "rubato-chip: the program exited with status 2", file=sys.stderr)  # fmt: skip
        return 1
    if "--write" in o.arguments:
        pathlib.Path(o.arguments[o.arguments.index("--write") + 1]).write_text("new")
    if "--deadlock" in o.arguments:
        print("rubato-chip: nothing can proceed: thread 1 waits for futex 0x7f00 (lock).", file=sys.stderr)
        return 4
    check = "failed" if "--fail-check" in o.arguments else "passed" if "--verify" in o.arguments else "none"
    text = f"nodes: 90000\ncheck: {check}\n" if check != "none" else "nodes: 90000\n"
    write(out / "output.txt", text)
    summary = numbers(out, o, values)
    code = 1 if check == "failed" else 0
    summary |= {"check": check, "output": text, "exit_code": code, "complete": True}
    write(out / "summary.json", json.dumps(summary))
    (out / "log.txt").write_text("")
    (out / "incomplete").unlink()
    print(json.dumps(summary) if o.json else text, end="")
    if code:
        print("rubato-chip: the program's check failed.", file=sys.stderr)
    return code


def numbers(out, o, values):
    cores, seed, mode = int(values["chip.cores"]), int(values["chip.seed"]), values["task.mayspec"]
    rng = random.Random(f"{cores} {seed} {mode} {sorted(values.items(), key=str)}")
    work = 40_000_000
    limit = {"nonspec": 9.0, "mayspec": 90.0}.get(mode, 60.0)
    speedup = 1 / ((1 / cores) + (1 / limit)) * (1 + 1 / limit)
    cycles = int(work / speedup * rng.uniform(0.96, 1.04))
    busy = speedup / cores
    speculates = cores > 1 and mode != "nonspec"
    committed = busy * {"spec": 0.9, "mayspec": 0.6}[mode] if speculates else 0.0
    aborted = (1 - busy) * 0.3 if speculates else 0.0
    classes = {"nonspeculative": busy * 0.97 - committed, "committed": committed, "aborted": aborted,
               "spill": busy * 0.03, "stall": (1 - busy) * 0.1}  # fmt: skip
    classes["idle"] = 1 - sum(classes.values())
    tasks = 243_000
    aborts = {"conflict": (90_000, 3), "parent": (20_000, 1)} if speculates else {}
    network = {"memory": tasks * 310 if cores > 4 else 0, "abort": sum(n for n, _ in aborts.values()) * 20,
               "task": tasks * 44, "virtual_time": cycles // 200 * cores * 10, "coherence": tasks * 37}  # fmt: skip
    lost = round(cycles * cores * aborted)
    statistics(out, cores, cycles, classes, rng, {c: (n, lost * share // 4) for c, (n, share) in aborts.items()})
    if o.interval:
        points = list(range(o.interval, cycles, max(o.interval, cycles // 200)))
        series = {p: [rng.randint(100, 900) for _ in points] for p in ("tasks.committed", "task_unit.queued")}
        write(out / "series.json", json.dumps({"interval": o.interval, "cycles": points, "series": series}))
    if o.trace:
        trace(out, cores, rng, speculates)
    if "--serial" in o.arguments:
        mode, tasks, network = "serial", 0, dict.fromkeys(network, 0)
        cycles = int(work * 0.4 * rng.uniform(0.96, 1.04))
    return {
        "program": o.argv0 or pathlib.Path(o.program).name, "engine": "chip",
        "cores": cores, "mode": mode, "seed": seed,
        "cycles": cycles, "seconds": cycles / 2e9, "instructions": 31_000_000,
        "tasks": {"created": tasks, "committed": tasks, "aborted": sum(n for n, _ in aborts.values()),
                  "nonspeculative": tasks // 3 if speculates else tasks, "spilled": 4_000 if tasks else 0,
                  "promoted": 0, "held_back": 0},
        "cycle_breakdown": classes, "network_bytes": network,
        "host": {"seconds": 2.5, "mips": 12.4, "peak_mb": 210.0},
    }  # fmt: skip


def statistics(out, cores, cycles, classes, rng, aborts):
    parts = {"core": 0.4, "l1": 0.1, "l2": 0.1, "llc": 0.15, "memory": 0.15, "network": 0.1, "check": 0.0}
    values = {}
    left = cycles * cores
    for name, share in classes.items():
        split = {"core": 1.0} if name in ("stall", "idle") else parts
        counts = {part: round(cycles * cores * share * split.get(part, 0)) for part in parts}
        if name == "idle":
            counts["core"] = left  # every cycle is in one class
        left -= sum(counts.values())
        values[f"chip.core_cycles.{name}"] = sum(counts.values())
        values |= {f"chip.core_cycles.{name}.{part}": count for part, count in counts.items()}
        for core in range(cores):
            values[f"core.{core}.cycles.{name}"] = round(cycles * share)
    for cause in ("conflict", "parent", "locale"):
        count, lost = aborts.get(cause, (0, 0))
        values |= {f"chip.aborts.{cause}": count, f"chip.aborts.{cause}.cycles": lost}
    tiles = max(1, cores // 4)
    width = max(w for w in range(1, 33) if tiles % w == 0 and w * w <= tiles)
    width = tiles // width
    for tile in range(tiles):
        x, y = tile % width, tile // width
        for direction, exists in {"east": x + 1 < width, "west": x > 0, "south": y + 1 < tiles // width,
                                  "north": y > 0}.items():  # fmt: skip
            if exists:
                middle = 1.5 - (abs(x - width / 2) + abs(y - tiles / width / 2)) / width
                values[f"tile.{tile}.link.{direction}.flits"] = int(cycles * 0.1 * middle * rng.uniform(0.6, 1))
        values[f"tile.{tile}.l2.hits"] = rng.randint(10_000, 20_000)
        values[f"tile.{tile}.l2.misses"] = rng.randint(1_000, 2_000)
        buckets = [int(1000 * 2.718 ** (-((i - 5) ** 2) / 8)) for i in range(9 if cores > 1 else 7)]
        values[f"tile.{tile}.task_unit.occupancy"] = histogram(buckets)
        values[f"tile.{tile}.task_unit.gvt_lag"] = histogram(buckets[2:])
    described = {
        "core.*.cycles.idle": ("cycles", "core cycles with nothing to run"),
        "tile.*.link.east.flits": ("flits", "flits carried by the tile's link in this direction"),
        "tile.*.l2.hits": ("accesses", "Accesses that found their line in the tile's L2."),
        "tile.*.l2.misses": ("accesses", "Accesses that did not."),
        "tile.*.task_unit.occupancy": ("entries", "Task queue entries in use, sampled."),
        "tasks.committed": ("tasks", "Tasks that committed."),
        "task_unit.queued": ("tasks", "Tasks in queues."),
        "tile.*.task_unit.gvt_lag": ("cycles", "Time from finish to the GVT that passes it."),
    }
    stats = {k: {"unit": u, "description": d} for k, (u, d) in described.items()}
    busy = {p: values[f"chip.core_cycles.nonspeculative.{p}"] for p in parts}
    functions = [
        {"function": "visit(Vertex*)", "address": "0x104fa", "cycles": {"nonspeculative": busy}},
        {"function": "(no task)", "address": "0x0", "cycles": {"idle": {"core": values["chip.core_cycles.idle"]}}},
    ]
    document = {
        "format": 1,
        "stats": stats,
        "roi": values,
        "run": values,
        "functions": {"roi": functions, "run": functions},
        "conflicts": conflicts(aborts),
    }
    write(out / "stats.json", json.dumps(document))


def conflicts(aborts):
    visit = {"victim": "visit(Vertex*)", "by": "visit(Vertex*)"}
    found = {c: {"aborts": n, "lost_cycles": lost} for c, (n, lost) in aborts.items()}
    pairs = [{**visit, "cause": cause, **count} for cause, count in found.items()]
    lines = [{"line": "0x9bc40", "symbol": "distances+0x40", **visit, "aborts": 5000, "lost_cycles": 70_000},
             {"line": "0x2a41c80", "symbol": "0x2a41c80", **visit, "aborts": 400, "lost_cycles": 9_000}]  # fmt: skip
    return {"lines": lines if pairs else [], "line_count": 812 if pairs else 0, "functions": pairs}


def histogram(buckets):
    return {"buckets": buckets, "samples": sum(buckets), "sum": sum(b << i for i, b in enumerate(buckets))}


def trace(out, cores, rng, speculates):
    events = []
    for core in range(min(cores, 16)):
        name = {"name": f"core {core}"}
        events.append({"ph": "M", "name": "thread_name", "pid": core // 4, "tid": core, "args": name})
        at = 0.0
        while at < 3:
            length = rng.uniform(0.02, 0.1)
            kind = {"cat": "internal", "name": "spill"} if rng.random() < 0.05 else {"cat": "task", "name": "visit"}
            where = {"pid": core // 4, "tid": core, "ts": at, "dur": length}
            args = {"id": len(events), "speculative": speculates}
            if speculates and kind["cat"] == "task" and rng.random() < 0.2:
                args["aborted"] = "conflict"
                kind["name"] += " (aborted: conflict)"
            events.append({"ph": "X", **kind, **where, "args": args})
            if speculates and "aborted" not in args and rng.random() < 0.1:
                said = {"cat": "abort", "name": "aborted: parent", "pid": core // 4, "tid": core, "ts": at + length}
                events.append({"ph": "i", "s": "t", **said, "args": {"id": args["id"], "cause": "parent"}})
            at += length + rng.uniform(0, 0.05)
    with gzip.open(out / "trace.json.gz", "wt") as file:
        lines = ",\n".join(json.dumps(e, separators=(",", ":")) for e in events)
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n' + lines + "\n]}\n")


if __name__ == "__main__":
    sys.exit(main())
