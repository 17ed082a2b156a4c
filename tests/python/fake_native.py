#!/usr/bin/env python3
"""A stand-in for an application of the native engine: reads the engine's environment, writes its counters.

What it "runs" is decided by its arguments: --fail-check, --sleep SECONDS, --crash, --no-engine, --wrong-input,
--wrong-usage, --throw SENTENCE, --long-tasks, --lagging. With --json it prints one object.
"""

# SPDX-License-Identifier: MIT
import json
import os
import signal
import sys
import time


def main() -> int:
    arguments = sys.argv[1:]
    if "--wrong-input" in arguments:
        print("sssp: graph.gr:17: negative length -4", file=sys.stderr)
        return 2
    if "--wrong-usage" in arguments:
        print("--source: 'x' is not a whole number\nRun with --help for more information.", file=sys.stderr)
        return 2
    if "--sleep" in arguments:
        time.sleep(float(arguments[arguments.index("--sleep") + 1]))
    if "--throw" in arguments:
        print("terminate called after throwing an instance of 'X'", file=sys.stderr)
        print("  what(): ", arguments[arguments.index("--throw") + 1], file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    if "--crash" in arguments:
        print("sssp: something went wrong", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    workers = int(os.environ.get("RUBATO_WORKERS", "2"))
    failed = "--fail-check" in arguments
    if "--json" in arguments:
        print(json.dumps({"workers": workers, "check": "failed" if failed else "passed"}))
    else:
        print(f"workers: {workers}", "oversubscribed" if os.environ.get("RUBATO_OVERSUBSCRIBE") else "")
        print("arguments:", *arguments)
        if "--verify" in arguments:
            print("check:", "failed" if failed else "passed")
    if "--no-engine" not in arguments:
        long_tasks = []
        if "--long-tasks" in arguments:
            names = {"void app::(anonymous namespace)::visit<2>(Vertex*)": (2, 1.25), "load(char const*)": (1, 0.0141)}
            names |= {f"f{i}()": (1, 0.011) for i in range(4)}
            long_tasks = [{"function": n, "count": c, "longest_seconds": s} for n, (c, s) in names.items()]
        counters = {"tasks_created": 100, "tasks_run": 100, "tasks_run_alone": 3, "reads_repeated": 7}
        counters["tasks_run_long"] = sum(t["count"] for t in long_tasks)
        if "--lagging" in arguments:
            counters |= {"lag_samples": 5, "lag_sample_hits": 2, "lags": 15, "lag_hits": 7, "lag_ns": 3_000_000}
            counters |= {"turn_lag_samples": 10, "turn_lag_sample_hits": 3, "turn_lags": 10, "turn_lag_hits": 3}
            counters |= {"turn_lag_ns": 2_000_000, "lag_switch_ns": 21_400, "turn_switch_ns": 1500}
        document = {
            "format": 1,
            "workers": workers,
            "runs": 1,
            "seconds": 0.5 / workers,
            "peak_mb": 12.5,
            "counters": [{"name": n, "unit": "", "description": n, "value": v} for n, v in counters.items()],
            "long_tasks": long_tasks,
        }
        with open(os.environ["RUBATO_COUNTERS"], "w") as file:
            json.dump(document, file)
    if trace := os.environ.get("RUBATO_TRACE"):
        with open(trace, "w") as file:
            file.write("{}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
