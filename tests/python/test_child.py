"""Child processes: none is left behind."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time

import pytest

from helpers import is_alive, wait_for
from rubato.errors import UsageError
from rubato.process import child


def test_a_sink_that_takes_no_more_does_not_stall_the_child() -> None:
    def closed(line: str) -> None:
        raise BrokenPipeError

    seen: list[str] = []
    ended = child.supervise(["seq", "100000"], on_output=[closed, seen.append], timeout=600)
    assert (ended.code, ended.timed_out, len(seen)) == (0, False, 100000)


def test_output_that_nothing_takes_is_an_error() -> None:
    def full(line: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UsageError, match="what the program printed cannot be written: No space left"):
        child.supervise(["seq", "100000"], on_output=[full], timeout=600)


SUPERVISE = """
import threading
from rubato.process import child
def supervise():
    child.supervise(["sh", "-c", "echo $$; exec sleep 60"], on_output=[print], on_poll=lambda _: print("", flush=True))
"""


@pytest.mark.parametrize("call", ["supervise()", "threading.Thread(target=supervise).start()"])
def test_a_child_dies_with_us_even_if_we_are_killed(call: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", SUPERVISE + call], stdout=subprocess.PIPE, text=True)
    lines = iter(process.stdout.readline, "")
    pid = next(int(line) for line in lines if line != "\n")
    assert next(line for line in lines if line == "\n"), "it has started, and is looked after"
    process.kill()
    process.communicate()
    wait_for(lambda: not is_alive(pid))


def test_no_watcher_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **o: started.append(popen(*a, **o)) or started[-1])
    assert child.supervise(["true"]).code == 0
    with pytest.raises(child.NotStarted):
        child.supervise(["/no/such/program"])
    assert [process.poll() for process in started] == [0, 0, 1], "watcher, child, watcher of nobody"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_child_is_started_ends_the_child(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def interrupted(*arguments: object, **options: object) -> subprocess.Popen[str]:
        started.append(popen(*arguments, **options))  # type: ignore[call-overload]
        signal.raise_signal(number)
        return started[-1]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(subprocess, "Popen", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            child.supervise(["sleep", "60"])
        assert signal.getsignal(number) is interrupt
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
    watcher, interrupted_child = started
    assert (watcher.poll(), interrupted_child.poll()) == (0, -signal.SIGTERM)


def test_an_interrupt_whose_exception_was_dropped_ends_the_child_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "interrupts", [signal.SIGHUP])
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        child.supervise(["sleep", "600"])
    assert time.monotonic() - started < 300
