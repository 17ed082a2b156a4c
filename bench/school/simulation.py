"""Simulated points: so many processes side by side, until all are done or a deadline is reached. Whatever is raised
meanwhile, an interrupt too, ends the processes that run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rubato.results.publication import Record
from rubato.results.run import Run
from rubato.results.run import load as load_run
from school.points import Simulated
from school.store import Places

#: Seconds between two looks at what runs.
POLL = 0.02


@dataclass(frozen=True)
class Task:
    point: Simulated
    seed: int
    estimate: float


@dataclass
class Outcome:
    """What became of a task: the record, or the reason why there is none."""

    task: Task
    record: Record | None = None
    reason: str = ""


@dataclass
class _Process:
    task: Task
    folder: Path
    process: subprocess.Popen[bytes]
    begun: float = field(default_factory=time.monotonic)


class Simulation:
    def __init__(self, places: Places, measures: Callable[[Run], dict[str, float]]) -> None:
        self._places, self._measures, self._model = places, measures, places.models[0]

    def run(self, tasks: list[Task], jobs: int, on_done: Callable[[Outcome], None],
            deadline: float | None = None) -> int:  # fmt: skip
        """Runs the tasks in their order, at most `jobs` at a time, and returns how many were left out: after
        `deadline`, a time.monotonic(), or too long for what is left of it."""
        waiting, running, left_out = list(tasks), [], 0
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    task = waiting.pop(0)
                    if deadline is not None and time.monotonic() + task.estimate > deadline:
                        left_out += 1
                    else:
                        running.append(self._start(task))
                if deadline is not None and time.monotonic() > deadline:
                    left_out += len(running)
                    break
                for process in [p for p in running if p.process.poll() is not None]:
                    running.remove(process)
                    on_done(self._finish(process))
                time.sleep(POLL)
        finally:
            for process in running:
                process.process.kill()
                process.process.wait()
                shutil.rmtree(process.folder, ignore_errors=True)
        return left_out

    def command(self, task: Task, folder: Path) -> list[str]:
        """The simulator's words; `folder` receives the results."""
        point = task.point
        # No figure needs the table of contended lines, and watching costs time.
        settings = [("run.contention", "false"), *point.settings, ("chip.seed", str(task.seed))]
        words = [str(self._places.build / "bin/rubato-chip"), "--quiet", "--out", str(folder)]
        words += [option.format(root=self._places.root) for option in point.options]
        words += [word for key, value in settings for word in ("--set", f"{key}={value}")]
        program = [str(self._places.program(point)), *point.arguments]
        if point.copies == 1:
            return [*words, *program]
        mix = folder.with_name(folder.name + ".toml")
        path, *arguments = (json.dumps(word) for word in program)
        mix.write_text(f'[[program]]\npath = {path}\narguments = [{", ".join(arguments)}]\ncopies = {point.copies}\n'
                       f'cores = "1-{point.copies}"\n')  # fmt: skip
        return [*words, "--programs", str(mix)]

    def _start(self, task: Task) -> _Process:
        folder = Path(tempfile.mkdtemp(prefix="publication-"))
        command = self.command(task, folder / "run")
        with (folder / "errors").open("wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                       cwd=folder, start_new_session=True)  # fmt: skip
        return _Process(task, folder, process)

    def _finish(self, done: _Process) -> Outcome:
        try:
            if done.process.returncode != 0:
                said = (done.folder / "errors").read_text(errors="replace").strip()[-300:]
                return Outcome(done.task, reason=f"it ended with {done.process.returncode}: {said or 'no words'}")
            return self._record(done)
        finally:
            shutil.rmtree(done.folder, ignore_errors=True)

    def _record(self, done: _Process) -> Outcome:
        run, point = load_run(done.folder / "run"), done.task.point
        if run.summary.check == "failed":
            return Outcome(done.task, reason="the program's check failed")
        stats = (done.folder / "run/stats.json").read_bytes()
        values = {key: value for key, value in self._measures(run).items() if value}
        return Outcome(done.task, Record(
            kind="simulated", name=point.name, size=point.size, point=point.identity, seed=done.task.seed,
            values=values, seconds=round(time.monotonic() - done.begun, 2), stats=hashlib.sha256(stats).hexdigest(),
            model=self._model, program=self._places.version(point),
        ))  # fmt: skip


def default_jobs() -> int:
    return len(os.sched_getaffinity(0))
