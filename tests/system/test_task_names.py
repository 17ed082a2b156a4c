"""A task has its function's name in everything that the chip writes, and counts once however often it waits."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

DEPOSIT, AUDIT = (f"bank::{name}(rubato::v0::resource<bank::Account>)" for name in ("deposit", "audit"))
#: Function and how many tasks, but for the lambdas.
TASKS = {
    DEPOSIT: 40,
    AUDIT: 40,
    "bank::weigh(double, float)": 2,
    "bank::five(double, float, int, long, double)": 2,
    "bank::plain(int)": 1,
    "bank::close_books(int)": 2,
}
LAMBDAS = 6


@pytest.mark.parametrize("cores", [1, 4, 16])
@pytest.mark.parametrize("kind", ["spec", "nonspec", "mayspec"])
def test_reports_name_functions(kind: str, cores: int, rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", str(cores), "--max-cycles", "30000000", "--out", tmp_path, "--trace",
               "--commit-order", guests / "task_names", kind]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr[-2000:]
    document = json.loads((tmp_path / "stats.json").read_text())

    def is_one(name: str) -> bool:
        return name in TASKS or ("run_all<" in name and "{lambda(double)#1}" in name)

    rows = [row["function"] for row in document["functions"]["run"]]
    assert {name for name in rows if name in TASKS} == set(TASKS)
    assert all(is_one(name) for name in rows if name != "(no task)"), rows
    assert len(rows) == len(set(rows)) == len(TASKS) + 2

    stats = document["run"]
    discarded = sum(value for key, value in stats.items() if key.endswith(".task_unit.discarded"))
    assert stats["tasks.committed"] == stats["tasks.created"] - discarded == sum(TASKS.values()) + LAMBDAS
    assert stats["tasks.waited"] == sum(v for key, v in stats.items() if key.endswith(".task_unit.waited")) >= 1

    commits = gzip.decompress((tmp_path / "commits.tsv.gz").read_bytes()).decode().splitlines()[1:]
    committed = Counter(line.split("\t")[-1] for line in commits)
    assert {name: n for name, n in committed.items() if name in TASKS} == TASKS
    assert sum(committed.values()) == sum(TASKS.values()) + LAMBDAS

    trace = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    names = {event["name"] for event in trace["traceEvents"] if event.get("cat") == "task"}
    short = {name.partition(" (aborted")[0].removesuffix(" (waits)") for name in names}
    assert {"deposit", "audit"} <= short, "slices have short names"
    slices = {trace["otherData"]["functions"][name] for name in short}
    assert all(is_one(name) for name in slices) and set(TASKS) <= slices, slices

    if kind == "spec" and cores > 1:  # the two that conflict, told apart
        conflicts = {(row["victim"], row["by"]) for row in document["conflicts"]["functions"]}
        assert conflicts & {(DEPOSIT, DEPOSIT), (AUDIT, DEPOSIT), (DEPOSIT, AUDIT)}, conflicts
        assert all(is_one(name) for pair in conflicts for name in pair if name != "(no task)"), conflicts
