"""`bench/tm`: the same programs on GCC's library and on ours; with the smallest sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

LIBRARIES = ["gcc-ml_wt", "gcc-gl_wt", "eager", "norec", "rubato"]
SMALL = ["private", "shared", "loads", "beside", "tree", "list", "hash", "bank", "queue", "records"]


def bench(root: Path, build: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if not (build / "bin" / "bench_tm_structures").exists():
        pytest.skip("there is no compiler for transactions here")
    return subprocess.run([root / "bench" / "tm", *arguments], capture_output=True, text=True, check=False)


def test_programs_are_measured_in_turns_and_go_on(root: Path, build: Path, tmp_path: Path) -> None:
    for rounds in (1, 2):
        done = bench(root, build, "--quick", "--rows", "kmeans-high,private", "--threads", "2", "--libraries",
                     ",".join(LIBRARIES), "--rounds", str(rounds), "--out", tmp_path, "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        kept = json.loads((tmp_path / "measurements.json").read_text())["samples"]
        assert kept.keys() == {f"{row}/2/{name}" for row in ("kmeans-high", "private") for name in LIBRARIES}
        assert {len(s) for s in kept.values()} == {rounds}
    result = json.loads(done.stdout)
    assert result["failed"] == {} and result["not_measured"] == {}
    rows = {r["name"]: r for r in result["rows"]}
    assert {"suite", "kmeans-high-2", "eager-suite", "norec-kmeans-high", "private-2"} <= rows.keys()
    ours, theirs = kept["kmeans-high/2/eager"], kept["kmeans-high/2/gcc-ml_wt"]
    expected = ((theirs[0] / ours[0]) * (theirs[1] / ours[1])) ** 0.5
    assert rows["eager-suite"]["mean"] == pytest.approx(expected)
    assert [len(g["bars"]) for g in result["groups"]] == [2 * len(LIBRARIES)]


def test_a_method_that_a_library_does_not_know_is_not_measured_under_its_name(root: Path, build: Path,
                                                                             tmp_path: Path) -> None:
    """GCC's library does without hardware transactions where there are none; ours warns of what it does not know."""
    done = bench(root, build, "--quick", "--rows", "private", "--threads", "1", "--libraries",
                 "gcc-htm,adaptive,serial", "--rounds", "1", "--out", tmp_path, "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    measured = {n.split("/")[-1] for n in json.loads((tmp_path / "measurements.json").read_text())["samples"]}
    assert measured | result["not_measured"].keys() == {"gcc-htm", "adaptive", "serial"}
    assert not measured & result["not_measured"].keys()


@pytest.mark.parametrize("wrong", [["--rows", "vacation"], ["--libraries", "gcc-eager"], ["--rounds", "0"],
                                   ["--threads", "0"]])  # fmt: skip
def test_wrong_usage_is_refused(wrong: list[str], root: Path, build: Path, tmp_path: Path) -> None:
    done = bench(root, build, *wrong, "--out", tmp_path)
    assert done.returncode == 2 and not (tmp_path / "measurements.json").exists()


@pytest.mark.parametrize("row", SMALL)
def test_small_transactions_check_themselves(row: str, build: Path, itm: Path) -> None:
    program = build / "bin" / "bench_tm_structures"
    for library in ({}, {"LD_PRELOAD": str(itm / "librubato_itm.so"), "RUBATO_ITM_METHOD": "eager"}):
        done = subprocess.run([program, row, "--size", "small", "--threads", "2", "--set", "transactions=2000"],
                              env=library, capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0 and "check: passed" in done.stdout, done.stderr
