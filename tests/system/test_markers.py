"""Regions that a program marks (rubato/markers.h): statistics of each, detail where they are, mistakes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

import rubato
from rubato.cli import call as rubato_command
from rubato.report import write
from rubato.results.regions import Region

# Ten instructions an iteration at most, three at least.
SOURCE = """#include <stdio.h>
#include "rubato/markers.h"
volatile long sum;
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; ++i) sum += i; }
int main(int argc, char** argv) {
  work(50000);
  rubato_region_begin("outer");
  work(1000);
  for (int i = 0; i < 3; ++i) {
    rubato_region_begin("inner");
    work(500);
    rubato_region_end("inner");
  }
  rubato_region_end("outer");
  work(50000);
  rubato_region_begin("last");
  work(2000);
  if (argc > 1) rubato_region_begin("last");
  if (argc > 2) rubato_region_end("none");
  printf("%ld\\n", sum);
  return 0;
}
"""
TASKS = """#include <cstdio>
#include "rubato/markers.h"
#include "rubato/rubato.hpp"
using rubato::create, rubato::mayspec, rubato::nonspec, rubato::timestamp;
rubato::tracked<int> sum;
void count() { ++sum; }
void phase(int number) {
  if (number == 0) rubato_region_begin("first half");
  if (number == 20) rubato_region_end("first half");
}
int main() {
  for (int i = 0; i < 40; ++i) create<mayspec>(count, {.at = i, .on = i});
  create<mayspec>(phase, {.at = 0}, 0);
  create<nonspec>(phase, {.at = 20}, 20);
  const rubato::MarkedRegion all("all");
  rubato::run();
  std::printf("%d\\n", sum.get());
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("markers")
    (folder / "marks.c").write_text(SOURCE)
    (folder / "tasks.cpp").write_text(TASKS)
    include = f"-I{root}/include"
    subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", include, "marks.c", "-o", "marks"], cwd=folder,
                   check=True)
    subprocess.run(["riscv64-linux-gnu-g++", "-std=c++20", "-O2", "-static", include, "tasks.cpp", "-o", "tasks"],
                   cwd=folder, check=True)
    return folder


def run(rubato_chip: Path, out: Path, *command: str | Path, code: int = 0) -> str:
    done = subprocess.run([rubato_chip, "--quiet", "--out", out, *command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


def regions(out: Path) -> dict[str, Region]:
    return {region.name: region for region in rubato.load(out).regions}


def test_each_region_has_its_statistics(rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "r", "--cores", "2", programs / "marks")
    found = regions(tmp_path / "r")
    assert list(found) == ["outer", "inner", "last"]  # as they began
    assert [found[name].times for name in found] == [1, 3, 1]
    for name, iterations in {"outer": 2500, "inner": 1500, "last": 2000}.items():
        assert 3 * iterations < found[name].instructions < 10 * iterations + 1000, name
        assert found[name].instructions <= found[name].cycles
        assert found[name].stats["chip.core_cycles.idle"] > 0  # of the other core
        assert sum(found[name].cycle_breakdown.values()) == pytest.approx(1)
    whole = rubato.load(tmp_path / "r")
    assert whole.stats["chip.instructions"] > 3 * 100000
    assert found["outer"].cycles > found["inner"].cycles


def test_detail_only_where_the_program_marks(rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "r", "--cores", "2", "--roi", "@markers", programs / "marks")
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert 3 * 4500 < summary["instructions"] < 10 * 4500 + 5000
    assert summary["host"]["total_instructions"] > 3 * 104500
    found = regions(tmp_path / "r")
    assert [r.times for r in found.values()] == [1, 3, 1]
    assert found["outer"].instructions + found["last"].instructions <= summary["instructions"]
    run(rubato_chip, tmp_path / "all", "--cores", "2", programs / "marks")
    every = regions(tmp_path / "all")
    for name in ("outer", "inner"):  # the same instructions, whatever is around them
        assert abs(found[name].instructions - every[name].instructions) < 200
    # The last region stays open until the program's end, which is behind main(): in detail only here.
    assert found["last"].instructions > every["last"].instructions


@pytest.mark.parametrize("cores", ["1", "16"])
@pytest.mark.parametrize("roi", [[], ["--roi", "@markers"]])
def test_tasks_may_mark(cores: str, roi: list[str], rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "r", "--cores", cores, *roi, programs / "tasks")
    assert (tmp_path / "r" / "output.txt").read_text() == "40\n"
    found = regions(tmp_path / "r")
    assert set(found) == {"all", "first half"}
    assert found["all"].stats["tasks.committed"] == 42
    assert 0 < found["first half"].cycles < found["all"].cycles


def test_a_run_without_marks_says_nothing_of_them(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "r", "--cores", "1", guests / "hello", code=1)  # it exits with 7
    assert "regions" not in json.loads((tmp_path / "r" / "stats.json").read_text())
    assert rubato.load(tmp_path / "r").regions == []


@pytest.mark.parametrize("roi", [[], ["--roi", "@markers"]])
def test_mistakes_end_the_run_with_a_sentence(
    roi: list[str], rubato_chip: Path, programs: Path, tmp_path: Path
) -> None:
    said = run(rubato_chip, tmp_path / "twice", *roi, programs / "marks", "x", code=3)
    assert said == "rubato-chip: thread 1000 begins the region 'last', which has not ended\n"


def test_an_end_without_a_beginning_is_one_too(rubato_chip: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "end.c").write_text('#include "rubato/markers.h"\nint main(void) { rubato_region_end("none"); }\n')
    command = ["riscv64-linux-gnu-gcc", "-static", f"-I{root}/include", "end.c", "-o", "end"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = run(rubato_chip, tmp_path / "r", tmp_path / "end", code=3)
    assert said == "rubato-chip: thread 1000 ends the region 'none', which has not begun\n"


def test_a_report_has_a_table_of_them(rubato_chip: Path, programs: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "r", "--cores", "2", programs / "marks")
    write([tmp_path / "r"], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Regions of" in page and "<td>inner</td>" in page


def test_reports_and_comparisons_are_by_region(
    rubato_chip: Path, programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cores in ("1", "4"):
        run(rubato_chip, tmp_path / f"c{cores}", "--cores", cores, programs / "tasks")
    write([tmp_path], tmp_path / "r.html")
    assert "Regions side by side" in (tmp_path / "r.html").read_text()
    assert rubato_command(["compare", str(tmp_path / "c1"), str(tmp_path / "c4"), "--regions", "--json"]) == 0
    found = {region["name"]: region for region in json.loads(capsys.readouterr().out)["regions"]}
    before, after = (regions(tmp_path / name)["all"].cycles for name in ("c1", "c4"))
    assert found["all"]["cycles"] == [before, after] and found["all"]["times_faster"] == before / after


def test_an_export_has_a_row_for_each_region(
    rubato_chip: Path, programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(rubato_chip, tmp_path / "c1", "--cores", "1", programs / "tasks")
    run(rubato_chip, tmp_path / "c4", "--cores", "4", programs / "tasks")
    own = "run=tasks.committed / cores"
    assert rubato_command(["export", str(tmp_path), "--regions", "--metric", own]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["name"], row["region"]) for row in rows] == [
        ("c1", "all"), ("c1", "first half"), ("c4", "all"), ("c4", "first half")]  # fmt: skip
    for row in rows:
        region = regions(tmp_path / row["name"])[row["region"]]
        assert int(row["cycles"]) == region.cycles
        assert int(row["tasks.committed"]) == region.stats["tasks.committed"]
        assert float(row["seconds"]) == pytest.approx(region.cycles / 2e9)
        assert float(row["chip.ipc"]) == pytest.approx(region.instructions / region.cycles)
        assert float(row["run"]) == pytest.approx(region.stats["tasks.committed"] / int(row["cores"]))
        assert row["times"] == "1" and "check" not in row


def test_runs_without_regions_have_no_table_of_them(
    rubato_chip: Path, guests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(rubato_chip, tmp_path / "r", "--cores", "1", guests / "hello", code=1)
    assert rubato_command(["export", str(tmp_path / "r"), "--regions"]) == 2
    assert "no run has a region" in capsys.readouterr().err
    assert rubato_command(["export", str(tmp_path / "r"), "--regions", "--statistics"]) == 2
    assert "leave out --regions or --statistics" in capsys.readouterr().err


def test_the_marks_do_nothing_elsewhere(root: Path, programs: Path, tmp_path: Path) -> None:
    command = ["gcc", "-O1", f"-I{root}/include", programs / "marks.c", "-o", tmp_path / "host"]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "host", "x"], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
