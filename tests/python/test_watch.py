"""tests/differential/watch.py: a hang is told from a program that is slow, or starved by others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "differential" / "watch.py"
spec = importlib.util.spec_from_file_location("watch", SOURCE)
watch = sys.modules["watch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(watch)


def watched(program: str, *, asleep: float = 0.5, busy: float = 0.5) -> watch.Watched:
    limits = watch.Limits(asleep=asleep, busy=busy)
    return watch.watch([sys.executable, "-u", "-c", f"import time, sys\n{program}"], os.environ, limits)


def test_what_ends_is_returned_with_its_code() -> None:
    done = watched("print(1); print(2); print('bad', file=sys.stderr); sys.exit(3)", asleep=60, busy=60)
    assert (done.lines, done.errors, done.code, done.hang) == (["1", "2"], "bad", 3, "")


def test_who_sleeps_without_a_line_hangs() -> None:
    done = watched("print(1); time.sleep(600)", busy=60)
    assert done.code is None and done.lines == ["1"] and done.hang.startswith("asleep for")


def test_who_works_without_a_line_hangs_by_cpu_time() -> None:
    done = watched("print(1)\nwhile True: pass", asleep=60)
    assert done.code is None and done.lines == ["1"] and "CPU time" in done.hang


def test_who_sleeps_longer_than_the_limit_in_all_but_prints_does_not_hang() -> None:
    done = watched("for i in range(8): print(i); time.sleep(0.5)", asleep=2.5, busy=60)
    assert done.code == 0 and len(done.lines) == 8


def test_a_starved_program_is_not_asleep() -> None:
    """Runnable threads count as progress until their CPU time is spent, however slowly it passes."""
    progress = watch.Progress(began=time.monotonic() - 100)
    limits = watch.Limits(asleep=5, busy=5)
    for _ in range(1000):
        assert watch.hang_of(progress, is_awake=True, processor=0.1, limits=limits) == ""
