"""Random programs of transactions (tm_generated.py) compute what they compute in turn, on both libraries."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

import tm_generated
from rubato.process.preload import preloadable


@pytest.fixture(scope="module")
def files(itm: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tm_generated.File]:
    return tm_generated.build(tmp_path_factory.mktemp("generated"), programs=12, a_file=3)


def test_generated_programs_compute_what_they_compute_in_turn(itm: Path, files: list[tm_generated.File]) -> None:
    assert [file.flags.split()[0] for file in files] == list(tm_generated.LEVELS)
    assert any(one.cancels_nested for file in files for one in file.programs)
    assert "\n".join(tm_generated.run_all(files, itm)) == ""


@pytest.mark.parametrize(
    ("fault", "method"), [("no_undo", "eager"), ("undo_in_order", "eager"), ("savepoint_keeps_stores", "lazy")]
)
def test_a_fault_of_the_library_is_found(build: Path, files: list[tm_generated.File], fault: str, method: str) -> None:
    faulty = build / "tm/faulty/libitm.so.1"
    if not faulty.exists():
        pytest.skip("the library with faults was not built")
    with preloadable(faulty) as path:
        environment = {"LD_PRELOAD": str(path), "RUBATO_ITM_METHOD": method, "RUBATO_TM_YIELDS": "0"}
        assert [tm_generated.run(file, file.named, **environment) for file in files] == [""] * len(files)
        found = [tm_generated.run(file, file.named, **environment, RUBATO_TM_FAULT=fault) for file in files]
    assert "differs from the serial run" in "".join(found)


def test_each_program_of_which_gcc_breaks_a_retry_or_cancel_is_named(itm: Path, tmp_path: Path) -> None:
    seeds = [7, 11, 15, 18, 19, 22]
    levels = [tm_generated.LEVELS[1 + n % 2] for n in range(len(seeds))]
    files = [
        tm_generated.build_file(tmp_path / str(seed), level, range(seed, seed + 1), ["-DINLINED_TRANSACTIONS"])
        for seed, level in zip(seeds, levels, strict=True)
    ]
    preload = {"LD_PRELOAD": str(itm / "librubato_itm.so"), "RUBATO_ITM_METHOD": "eager"}
    wrong = [file for file in files if tm_generated.run(file, [], **preload)]
    assert all(file.named for file in wrong)
    assert any(file.named for file in files)


@pytest.mark.long
def test_two_hundred_generated_programs_compute_what_they_compute_in_turn(itm: Path, tmp_path: Path) -> None:
    files = tm_generated.build(tmp_path, programs=200, a_file=10, first=1001)
    assert "\n".join(tm_generated.run_all(files, itm)) == ""
