"""Child processes: none is left behind."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import errno
import signal
import subprocess

import pytest

from rubato import child
from rubato.errors import UsageError


def test_a_sink_that_takes_no_more_does_not_stall_the_child() -> None:
    def closed(line: str) -> None:
        raise BrokenPipeError

    seen: list[str] = []
    ended = child.supervise(["seq", "100000"], on_output=[closed, seen.append], timeout=20)
    assert (ended.code, ended.timed_out, len(seen)) == (0, False, 100000)


def test_output_that_nothing_takes_is_an_error() -> None:
    def full(line: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UsageError, match="what the program printed cannot be written: No space left"):
        child.supervise(["seq", "100000"], on_output=[full], timeout=20)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_child_is_started_ends_the_child(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def interrupted(*arguments: object, **options: object) -> subprocess.Popen[str]:
        started.append(popen(*arguments, **options))  # type: ignore[call-overload]
        signal.raise_signal(number)
        return started[0]

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
    assert started[0].poll() == -signal.SIGTERM
