"""One child process, whatever it is: output passed on line by line, interrupts and time limits obeyed.

Says how it ended; what that means, and what becomes of the run directory, is the caller's.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import collections
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rubato.errors import ExitCode, UsageError
from rubato.interrupts import INTERRUPTS

Line = Callable[[str], Any]

_POLL_SECONDS = 0.05
_GRACE_SECONDS = 5.0
#: Reads the child's number, then waits for a word that says that the child has ended. No word: we have been killed.
_WATCH = 'read -r child && { read -r ended || kill -KILL "$child"; }'


@dataclass(frozen=True)
class Outcome:
    """How a run ended: exit code as in docs/cli.md, and why, if it did not succeed."""

    directory: Path
    exit_code: int
    reason: str = ""
    wall_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.exit_code == ExitCode.SUCCESS


@dataclass(frozen=True)
class Ended:
    """`code` as subprocess gives it: negative for a signal."""

    code: int
    timed_out: bool
    seconds: float
    last_errors: list[str]


#: Signals that a handler has turned into KeyboardInterrupt. Python drops one that is raised in a finalizer, which any
#: statement may run: who waits for a child looks here, too.
interrupts: list[int] = []


class NotStarted(OSError):
    """There is no child: the system refused to start it."""


def supervise(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    on_output: Sequence[Line] = (),
    on_error: Sequence[Line] = (),
    on_poll: Callable[[float], None] | None = None,
    stdin: int | None = subprocess.DEVNULL,
    cancelled: threading.Event | None = None,
) -> Ended:
    """Runs `command` to its end. An interrupt, or `cancelled`, stops it and is raised (again) as KeyboardInterrupt.

    @raises UsageError if its output could not be passed on, but for a pipe that somebody has closed.
    """
    started = time.monotonic()
    child: subprocess.Popen[str] | None = None
    watcher: subprocess.Popen[bytes] | None = None
    errors: collections.deque[str] = collections.deque(maxlen=50)
    readers: list[threading.Thread] = []
    lost: list[OSError] = []
    timed_out = False
    try:
        with _interrupts_wait():
            watcher = _watcher()
            child = _started(command, environment, stdin)
            _tell(watcher, child.pid)
        readers = [_reader(child.stdout, on_output, lost), _reader(child.stderr, [errors.append, *on_error], lost)]
        while child.poll() is None:
            seconds = time.monotonic() - started
            if on_poll:
                on_poll(seconds)
            if interrupts or (cancelled is not None and cancelled.is_set()):
                raise KeyboardInterrupt
            if timeout is not None and seconds > timeout:
                timed_out = True
                stop(child)
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_POLL_SECONDS)
    except BaseException:
        if child is not None:
            stop(child)
        raise
    finally:
        if watcher is not None:
            watcher.communicate(b"ended\n" if child is not None else b"")
        for reader in readers:
            reader.join(timeout=_GRACE_SECONDS)
    if lost:
        raise UsageError(f"what the program printed cannot be written: {lost[0].strerror or lost[0]}.")
    return Ended(child.returncode, timed_out, time.monotonic() - started, list(errors))


def ask(
    command: Sequence[str | Path], text: str = "", *, seconds: float | None = 60
) -> subprocess.CompletedProcess[str]:
    """What a program says that ends by itself and soon, in English, whatever the user's language is.

    `text` is its standard input. `seconds`: the time limit.
    """
    return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", errors="replace",
                          timeout=seconds, env={**os.environ, "LC_ALL": "C"}, check=False)  # fmt: skip


def _started(command: Sequence[str], environment: Mapping[str, str] | None, stdin: int | None) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as e:
        raise NotStarted(e.errno, e.strerror, e.filename) from None


def _watcher() -> subprocess.Popen[bytes] | None:
    """A process that kills the child when we cannot, having been killed: then the pipe that it reads ends. In a session
    of its own, so that what kills our process group, or Ctrl-C, leaves it. (PR_SET_PDEATHSIG would need code between
    fork and exec, which is not safe beside threads.)"""
    with contextlib.suppress(OSError):  # without one the child may outlive us, no more
        return subprocess.Popen(
            ["/bin/sh", "-c", _WATCH],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return None


def _tell(watcher: subprocess.Popen[bytes] | None, pid: int) -> None:
    if watcher is not None and watcher.stdin is not None:
        with contextlib.suppress(OSError):
            watcher.stdin.write(b"%d\n" % pid)


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """What interrupts within does so at the end: inside Popen() it would leave a child that nobody knows."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    heeded = [s for s in INTERRUPTS if signal.getsignal(s) != signal.SIG_IGN]  # the child is to ignore what we do
    before = {s: signal.signal(s, lambda number, _: arrived.append(number)) for s in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in arrived:
        signal.raise_signal(number)


def stop(child: subprocess.Popen[str]) -> None:
    """Ends the child: asks first, so that it can close its files, insists after a while."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def mark_incomplete(directory: Path, reason: str) -> None:
    with contextlib.suppress(OSError):
        (directory / "incomplete").write_text(reason + "\n", encoding="utf-8", errors="replace")


def _reader(stream: IO[str] | None, sinks: Sequence[Line], lost: list[OSError]) -> threading.Thread:
    """Passes on a stream line by line; it must be drained in any case or the child would stall: a sink that takes no
    more, such as a closed pipe, gets no more. `lost` gets what else keeps one from taking it, such as a full disk."""
    open_ = list(sinks)

    def read() -> None:
        assert stream is not None
        with stream:
            for line in stream:
                for sink in tuple(open_):
                    try:
                        sink(line.rstrip("\n"))
                    except OSError as e:
                        open_.remove(sink)
                        if not isinstance(e, BrokenPipeError):
                            lost.append(e)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread
