"""STAMP's programs: the same binaries pass their own checks on GCC's libitm and on ours, by every method (T68)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from rubato.process.preload import preloadable
from rubato.tm import check as tm_check
from rubato.tm.methods import SOFTWARE

PROGRAMS = ["genome", "intruder", "kmeans", "labyrinth", "ssca2", "vacation", "yada"]
# Programs with more and shorter ways into conflicts by an option.
CONTENDED = ["kmeans", "vacation"]
# Programs whose result is the same whatever the order of transactions.
ORDERLESS = ["genome", "intruder", "kmeans", "ssca2"]
LIBRARIES = {f"gcc-{m}": ("GNU libitm", {"ITM_DEFAULT_METHOD": m}) for m in ("ml_wt", "gl_wt", "serialirr", "serial")}
LIBRARIES |= {f"rubato-{m}": ("librubato_itm", {"RUBATO_ITM_METHOD": m}) for m in SOFTWARE}


def run(build: Path, program: str, library: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = build / "bin" / f"stamp_{program}"
    if not (build / "tm/lib/libitm.so.1").exists():
        pytest.skip("there is no compiler for transactions here")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RUBATO_ITM", "ITM_", "LD_PRELOAD"))}
    name, method = LIBRARIES[library]
    with preloadable(build / "tm/lib/librubato_itm.so") as library_path:
        if name == "librubato_itm":
            environment["LD_PRELOAD"] = str(library_path)
        return subprocess.run([str(path), *arguments], env=environment | method, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)


def result(build: Path, program: str, library: str, *arguments: str) -> dict[str, object]:
    done = run(build, program, library, "--size", "small", "--json", *arguments)
    assert done.returncode == 0, f"{program} on {library}: {done.stderr}{done.stdout}"
    found = json.loads(done.stdout)
    assert found["check"] == "passed" and found["library"].startswith(LIBRARIES[library][0])
    return found


@cache
def serial_digest(build: Path, program: str, *arguments: str) -> object:
    return result(build, program, "gcc-serial", *arguments)["digest"]


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_passes_its_check(build: Path, program: str, library: str, threads: int) -> None:
    found = result(build, program, library, "--threads", str(threads))
    assert found["threads"] == threads
    if threads == 1 or program in ORDERLESS:
        assert found["digest"] == serial_digest(build, program)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("program", CONTENDED)
def test_a_program_passes_its_check_where_transactions_meet(build: Path, program: str, library: str) -> None:
    found = result(build, program, library, "--threads", "4", "--contention", "high")
    assert found["contention"] == "high"


@pytest.mark.parametrize("program", PROGRAMS)
def test_another_seed_is_another_input(build: Path, program: str) -> None:
    assert result(build, program, "gcc-serial", "--seed", "2")["digest"] != serial_digest(build, program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_no_access_without_a_barrier(build: Path, program: str) -> None:
    path = build / "bin" / f"stamp_{program}"
    if not path.exists():
        pytest.skip("there is no compiler for transactions here")
    checked = tm_check.check(path)
    assert checked.findings == [] and checked.transactions > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--threads", "0"], "--threads is a whole number from 1 to 1024, not '0'"),
        (["--threads", ""], "--threads is a whole number from 1 to 1024, not ''"),
        (["--seed", "-1"], "--seed is a whole number from 0 to 18446744073709551615, not '-1'"),
        (["--size", "large"], "--size is normal or small, not 'large'"),
        (["--contention", "some"], "--contention is low or high, not 'some'"),
        (["--set", "tasks"], "--set tasks is a whole number from 1 to 1000000000, not ''"),
        (["--set", "sessions=1"],
         "--set sessions=1: vacation has the parameters tasks, relations, queries, queried, reserving"),
    ],
)  # fmt: skip
def test_wrong_options_are_named(build: Path, arguments: list[str], sentence: str) -> None:
    done = run(build, "vacation", "gcc-serial", *arguments)
    assert (done.returncode, done.stderr, done.stdout) == (2, f"vacation: {sentence}\n", "")


def test_contention_is_an_option_of_programs_that_have_it_alone(build: Path) -> None:
    for program in PROGRAMS:
        refused = run(build, program, "gcc-serial", "--help").stdout.count("--contention") == 0
        assert refused == (program not in CONTENDED), program


def test_a_maze_has_room_for_the_ends_of_all_paths(build: Path) -> None:
    done = run(build, "labyrinth", "gcc-serial", "--set", "x=2", "--set", "y=2", "--set", "z=1", "--set", "paths=3")
    sentence = "labyrinth: 3 paths have more ends than the maze has cells (4)\n"
    assert (done.returncode, done.stderr, done.stdout) == (2, sentence, "")


def test_a_smaller_angle_needs_fewer_triangles(build: Path) -> None:
    def refined(angle: int) -> object:
        return result(build, "yada", "gcc-serial", "--set", f"angle={angle}")["digest"]

    assert len({refined(1), refined(10), refined(20)}) == 3
