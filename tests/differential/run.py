#!/usr/bin/env python3
"""Runs random task programs on the native and the serial engine and compares what they print, seed by seed.

    tests/differential/run.py --bin build/release/bin --workers 2 --seeds 3000 [--first N]

Exit 1 and one line a difference or finding; the line repeats the command that shows it alone.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from watch import Limits, watch


def run(program: Path, first: int, count: int, environment: dict[str, str], limits: Limits) -> tuple[list[str], str]:
    """The program's output, and the sentence about a fault, if there is one."""
    done = watch([program, str(first), str(count)], environment, limits)
    if done.hang:
        return done.lines, f"no progress at seed {first + len(done.lines)}: {done.hang}"
    if done.code == 0:
        return done.lines, ""
    return done.lines, done.errors.strip() or f"exit code {done.code} at seed {first + len(done.lines)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True, help="where the programs are")
    parser.add_argument("--native", default="differential-native", help="another program in its place")
    parser.add_argument("--serial", default="differential-serial", help="the reference")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=1000, help="seeds a process: a crash or a hang costs no more")
    parser.add_argument("--asleep", type=float, default=10, help="seconds of sleep that are a hang")
    parser.add_argument("--busy", type=float, default=60, help="seconds of CPU time for one seed that are a hang")
    parser.add_argument("--until", type=re.compile, default="", metavar="PATTERN",
                        help="stop behind the first batch with a finding that has this (default: any finding)")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at a finding")
    arguments = parser.parse_args()

    limits = Limits(asleep=arguments.asleep, busy=arguments.busy)
    native = os.environ | {"RUBATO_WORKERS": str(arguments.workers), "RUBATO_OVERSUBSCRIBE": "1"}
    findings, tasks = 0, 0
    is_found = False

    def report(finding: str) -> None:
        nonlocal findings, is_found
        findings += 1
        is_found = is_found or arguments.until.search(finding) is not None
        print(finding)

    for first in range(arguments.first, arguments.first + arguments.seeds, arguments.batch):
        count = min(arguments.batch, arguments.first + arguments.seeds - first)
        expected, wrong = run(arguments.bin / arguments.serial, first, count, dict(os.environ), limits)
        if wrong or len(expected) != count:
            print(f"serial engine: {wrong}")
            return 1
        actual, wrong = run(arguments.bin / arguments.native, first, count, native, limits)
        for line in wrong.splitlines():
            report(line)
        for one, other in zip(expected, actual, strict=False):
            tasks += int(one.split()[2])
            if one == other:
                continue
            seed = one.split()[0]
            report(f"seed {seed}: serial {one}, native {other}; RUBATO_WORKERS={arguments.workers} "
                   f"RUBATO_OVERSUBSCRIBE=1 {arguments.bin / arguments.native} {seed} 1")
        if is_found and not arguments.keep_going:
            break
    print(f"{arguments.seeds} programs, {tasks} tasks, {arguments.workers} workers: {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
