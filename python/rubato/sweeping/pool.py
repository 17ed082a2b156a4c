"""Where the runs of a sweep go: a pool of local processes, or the workers of a Dask scheduler.

Both take points and give outcomes in the order in which they come. Contract: whatever is raised into the loop
over the outcomes (an interrupt), every run that had started is stopped and its directory marked incomplete.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import concurrent.futures as futures
import contextlib
import dataclasses
import io
import socket
import tarfile
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rubato
from rubato.errors import ExitCode, RubatoError, UsageError
from rubato.process import machine
from rubato.process.child import Outcome
from rubato.results.run import Run
from rubato.running import engines, memory
from rubato.running.spec import RunSpec
from rubato.sweeping.plan import Point

#: Seconds between looks at whether a remote run is still wanted.
_REMOTE_POLL = 0.5


class LocalPool:
    """At most `jobs` child processes at a time, fewer when their memory would not fit."""

    def __init__(self, jobs: int, estimator: memory.Estimator, budget_mb: float | None = None):
        self.jobs = jobs
        self.estimator = estimator
        self.budget_mb = machine.available_mb() * 0.9 if budget_mb is None else budget_mb
        self.running: list[str] = []

    def run(self, points: list[Point], root: Path) -> Iterator[tuple[Point, Outcome]]:
        cancelled = threading.Event()
        waiting = list(points)
        started: dict[futures.Future[Outcome], tuple[Point, float]] = {}
        with futures.ThreadPoolExecutor(self.jobs) as threads:
            try:
                while waiting or started:
                    while waiting and len(started) < self.jobs and self._fits(waiting[0], started):
                        point = waiting.pop(0)
                        future = threads.submit(_execute, point, root / point.name, cancelled)
                        started[future] = (point, self.estimator.mb(point.spec))
                    self.running = [p.name for p, _ in started.values()]
                    done, _ = futures.wait(started, timeout=0.2, return_when=futures.FIRST_COMPLETED)
                    for future in done:
                        point, _ = started.pop(future)
                        outcome = future.result()
                        self._learn(point, outcome)
                        yield point, outcome
            finally:
                cancelled.set()

    def _fits(self, point: Point, started: dict[Any, tuple[Point, float]]) -> bool:
        return not started or sum(mb for _, mb in started.values()) + self.estimator.mb(point.spec) <= self.budget_mb

    def _learn(self, point: Point, outcome: Outcome) -> None:
        if outcome.ok:
            with contextlib.suppress(RubatoError):
                self.estimator.measured(point.spec, Run(outcome.directory).summary.host.peak_mb)


def _execute(point: Point, directory: Path, cancelled: Any) -> Outcome:
    """Never raises: a sweep goes on whatever happens to one of its runs."""
    try:
        return engines.execute(point.spec, directory, cancelled=cancelled)
    except KeyboardInterrupt:
        return Outcome(directory, ExitCode.INTERRUPTED, "interrupted.")
    except RubatoError as e:
        return Outcome(directory, e.exit_code, str(e))
    except OSError as e:
        return Outcome(directory, ExitCode.INTERNAL, f"the program could not be started: {e}.")


class ClusterPool:
    """Workers of a Dask scheduler. Runs happen in a temporary directory of the worker and come back as an
    archive, so no file system needs to be shared; programs and inputs must exist on the workers."""

    def __init__(self, address: str, jobs: int | None = None):
        import distributed

        _refuse_silence(address)
        try:
            self.client = distributed.Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as e:
            raise UsageError(f"no Dask scheduler answers at {address}: {type(e).__name__}.") from None
        self.jobs = jobs
        self.running: list[str] = []
        self._check(address)

    def close(self) -> None:
        self.client.close()

    def _check(self, address: str) -> None:
        """Every worker needs our version: another one would give other numbers in the same table."""
        versions = self.client.run(_worker_version, on_error="return")
        if not versions:
            self.close()
            raise UsageError(f"the Dask scheduler at {address} has no workers.")
        for worker, version in versions.items():
            if isinstance(version, BaseException):
                self.close()
                raise UsageError(f"worker {worker} cannot import rubato; install it there: {version}.")
            if version != rubato.__version__:
                self.close()
                raise UsageError(f"worker {worker} has rubato {version}, this is {rubato.__version__}.")

    def run(self, points: list[Point], root: Path) -> Iterator[tuple[Point, Outcome]]:
        import distributed

        stop = f"rubato-stop-{uuid.uuid4()}"
        event = distributed.Event(stop, client=self.client)
        waiting, started = list(points), {}
        completed = distributed.as_completed([], loop=self.client.loop)
        finished = False
        try:
            while waiting or started:
                while waiting and (self.jobs is None or len(started) < self.jobs):
                    point = waiting.pop(0)
                    future = self.client.submit(
                        _remote,
                        dataclasses.asdict(point.spec),
                        point.name,
                        stop,
                        key=f"{point.name}-{uuid.uuid4()}",
                        pure=False,
                    )
                    started[future.key] = (point, future)
                    completed.add(future)
                self.running = [p.name for p, _ in started.values()]
                future = next(completed)
                point, _ = started.pop(future.key)
                yield point, self._fetch(future, root / point.name)
            finished = True
        finally:
            if not finished:
                event.set()
                self.client.cancel([f for _, f in started.values()])
                for point, _ in started.values():
                    directory = root / point.name
                    directory.mkdir(parents=True, exist_ok=True)
                    (directory / "incomplete").write_text("interrupted\n")

    def _fetch(self, future: Any, directory: Path) -> Outcome:
        try:
            archive, code, reason, seconds = future.result()
        except Exception as e:  # the worker died, or was lost: the point failed, the sweep goes on
            return Outcome(directory, ExitCode.INTERNAL, f"the worker was lost: {type(e).__name__}: {e}".strip())
        directory.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            _extract(tar, directory)
        future.release()
        return Outcome(directory, code, reason, seconds)


def _refuse_silence(address: str) -> None:
    """Says at once what a Dask client would find out only after its timeout."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"--cluster takes the address of a Dask scheduler, such as tcp://host:8786, not {address}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as e:
        raise UsageError(f"no Dask scheduler answers at {address}: {e.strerror or e}.") from None


def _extract(tar: tarfile.TarFile, directory: Path) -> None:
    # `incomplete` last and by itself: a directory half extracted must not look finished.
    mark = directory / "incomplete"
    mark.write_text("being received\n")
    has_mark = False
    for member in tar:
        if not member.isfile() or "/" in member.name or member.name in ("", ".", ".."):
            continue
        if member.name == "incomplete":
            has_mark = True
        content = tar.extractfile(member)
        assert content is not None
        (directory / member.name).write_bytes(content.read())
    if not has_mark:
        mark.unlink()


def _worker_version() -> str:
    return rubato.__version__


def _remote(fields: dict[str, Any], name: str, stop: str) -> tuple[bytes, int, str, float]:
    """On a worker: one run, as an archive of its directory, exit code, reason and seconds."""
    with tempfile.TemporaryDirectory(prefix="rubato-") as temporary:
        directory = Path(temporary) / name
        directory.mkdir()
        outcome = _execute(Point(name, RunSpec(**fields)), directory, _Stopped(stop))
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
            for file in sorted(directory.glob("*")):  # where nothing ran, there is no directory
                if file.is_file():
                    tar.add(file, arcname=file.name)
        return buffer.getvalue(), outcome.exit_code, outcome.reason, outcome.wall_seconds


class _Stopped:
    """The sweep's stop event as a worker sees it, looked at only now and then."""

    def __init__(self, name: str):
        import distributed

        self._event = distributed.Event(name, client=distributed.get_client())
        self._next = time.monotonic() + _REMOTE_POLL
        self._set = False

    def is_set(self) -> bool:
        if not self._set and time.monotonic() >= self._next:
            self._set = self._event.is_set()
            self._next = time.monotonic() + _REMOTE_POLL
        return self._set
