"""`--alloc`: allocators that are executables of their own, and allocators as an axis of sweeps and reports."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import rubato
from helpers import call
from rubato import report
from rubato.errors import UsageError
from rubato.home import locate
from rubato.home.apps import LINKED
from rubato.report.axes import axes
from rubato.running.spec import RunSpec
from rubato.sweeping import sweep as sweeping
from rubato.sweeping.plan import make_plan


@pytest.fixture
def allocating(own_home: Path) -> Path:
    """A home whose application allocates in tasks."""
    file = own_home / "apps/sssp/app.toml"
    file.write_text("allocates_in_tasks = true\n" + file.read_text())
    return own_home


@pytest.mark.parametrize(
    ("allocator", "sentence"),
    [
        ("tcmalloc", "sssp is not built with tcmalloc; `tools/tcmalloc` in Rubato's source tree fetches the allocator "
                     "and builds it."),
        ("libc", "sssp is not built with libc; `make build` builds it."),
    ],
)  # fmt: skip
def test_an_allocator_that_is_not_built_is_named_with_its_remedy(
    allocator: str, sentence: str, allocating: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        RunSpec(program="sssp", alloc=allocator).check()
    assert str(refused.value) == sentence


@pytest.mark.parametrize("allocator", ["tcmalloc", "libc"])
def test_an_allocator_with_an_executable_of_its_own_runs_that_one(allocator: str, allocating: Path) -> None:
    program = allocating / f"guest/sssp-{allocator}"
    program.write_bytes(b"\x7fELF not really")
    assert RunSpec(program="sssp", alloc=allocator).executable() == program
    assert RunSpec(program="sssp", alloc="plain").executable() == allocating / "guest/sssp"


def test_an_earlier_name_of_an_allocator_is_understood(allocating: Path) -> None:
    assert RunSpec(program="sssp", alloc="capsules").alloc == "capalloc"
    assert make_plan({"program": "sssp", "alloc": ["capsules", "capalloc"]}).alloc == ["capalloc"]


# ---- an axis of sweeps ----

SWEPT = ["ideal", "capalloc", "tcmalloc", "libc"]


@pytest.fixture
def swept(allocating: Path) -> rubato.Sweep:
    for name in LINKED:
        (allocating / f"guest/sssp-{name}").write_bytes(b"\x7fELF with " + name.encode())
    words = ["--program", "sssp", "--cores", "4,16", "--seeds", "2", "--alloc", ",".join(SWEPT), "--out", "s"]
    assert call("sweep", *words) == 0
    return rubato.Sweep("s")


def test_a_sweep_runs_each_point_with_each_allocator(swept: rubato.Sweep) -> None:
    names = [p["name"] for p in swept.points]
    assert names[:4] == ["sssp-c4-ideal-s1", "sssp-c4-ideal-s2", "sssp-c4-capalloc-s1", "sssp-c4-capalloc-s2"]
    assert len(set(names)) == 2 * 2 * 4 and not swept.failures
    programs = {run.directory.name.split("-")[2]: Path(run.manifest["program"]).name for run in swept.runs}
    assert programs == {"ideal": "sssp", "capalloc": "sssp", "tcmalloc": "sssp-tcmalloc", "libc": "sssp-libc"}
    settings = {(run.directory.name.split("-")[2], run.configuration["run.alloc"]) for run in swept.runs}
    assert settings == {("ideal", "ideal"), ("capalloc", "guest"), ("tcmalloc", "guest"), ("libc", "guest")}


def test_a_resumed_sweep_repeats_no_run_of_another_allocator(swept: rubato.Sweep, capsys) -> None:
    before = {file: file.stat().st_mtime_ns for file in Path("s").glob("*/summary.json")}
    assert call("sweep", "--resume", "--out", "s") == 0
    assert before == {file: file.stat().st_mtime_ns for file in Path("s").glob("*/summary.json")} and len(before) == 16
    changed = locate.program("sssp-libc", "chip")
    changed.write_bytes(b"\x7fELF built anew")  # the results of one executable are no longer those of the program
    with pytest.warns(UserWarning, match="the program"):
        rubato.sweep(sweeping.plan_of("s"), out="s", resume=True)


def test_frames_exports_and_tables_have_the_allocator_of_each_run(swept: rubato.Sweep, capsys) -> None:
    frame = swept.frame()
    assert set(frame["program"]) == {"sssp"} and frame["alloc"].to_list() == [n.split("-")[2] for n in frame["name"]]
    capsys.readouterr()
    assert call("export", "s") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["program"], row["alloc"]) for row in rows} == {("sssp", name) for name in SWEPT}
    assert "alloc=tcmalloc" in swept_table(capsys)
    html = swept._repr_html_()
    assert all(f"<td>{name}</td>" in html for name in SWEPT)


def swept_table(capsys) -> str:
    assert call("sweep", "--resume", "--out", "s") == 0
    return capsys.readouterr().out


def test_a_report_has_one_program_with_a_series_for_each_allocator(swept: rubato.Sweep) -> None:
    found = report.gather(["s"])
    (workload,) = found.workloads
    assert workload.program == "sssp" and found.varied == ["alloc"]
    assert {s.variation for s in workload.series} == {f"alloc={name}" for name in SWEPT}
    assert all(len(p.runs) == 2 for s in workload.series for p in s.points)
    by_key = {axis.key: axis for axis in axes(found.runs, found.swept)}
    assert list(by_key) == ["alloc", "cores"]  # not the settings and executables that an allocator is
    assert by_key["alloc"].values == tuple(SWEPT)  # in the order of the plan
    report.write(["s"], Path("r.html"))
    assert "Over <code>alloc</code>" in Path("r.html").read_text()


def test_a_key_that_a_plan_names_stays_the_axis(allocating: Path) -> None:
    rubato.sweep({"program": "sssp", "cores": 4, "set": {"task.capsules": ["true", "false"]}}, out="s")
    found = report.gather(["s"])
    assert found.varied == ["task.capsules"] and [a.key for a in axes(found.runs, found.swept)] == ["task.capsules"]


def test_runs_by_themselves_are_told_apart_by_their_allocators(allocating: Path) -> None:
    for name in ("plain", "capalloc"):
        rubato.run("sssp", cores=4, alloc=name, out=name)
    assert report.gather(["plain", "capalloc"]).varied == ["alloc"]


def test_sweeps_are_compared_by_allocator(swept: rubato.Sweep, capsys) -> None:
    rubato.sweep({"program": "sssp", "cores": [4, 16], "seeds": 2, "alloc": ["libc", "tcmalloc"],
                  "set": {"l2.latency": 9}}, out="t")  # fmt: skip
    capsys.readouterr()
    assert call("compare", "s", "t", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {p["settings"] for p in found["points"]} == {"alloc=tcmalloc", "alloc=libc"} and found["only_before"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--alloc", "ideal,best"], "--alloc is one of ideal, capalloc, plain, libc, tcmalloc, not best."),
        (["--alloc", ""], "the plan: alloc: needs at least one value."),
        (["--alloc", "ideal,libc"], "sssp is not built with libc; `make build` builds it."),
        (["--alloc", "ideal", "--engine", "native"], "--alloc is for the simulated chip; leave it out with --engine "
                                                     "native."),
        (["--alloc", "ideal,plain", "--set", "task.capsules=true"],
         "--alloc plain and --set task.capsules=true contradict."),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused_before_anything_runs(
    words: list[str], said: str, allocating: Path, capsys
) -> None:
    assert call("sweep", "--program", "sssp", "--cores", "4", "--out", "s", *words) == 2
    assert capsys.readouterr().err.replace("\n", " ").strip() == f"rubato: {said}"
    assert not Path("s").exists()


def test_a_program_that_allocates_in_no_task_is_refused_before_anything_runs(own_home: Path, capsys) -> None:
    assert call("sweep", "--program", "sssp", "--cores", "4", "--out", "s", "--alloc", "ideal,capalloc") == 2
    assert "--alloc capalloc is for applications that allocate in tasks, which sssp is not" in capsys.readouterr().err
    assert not Path("s").exists()
