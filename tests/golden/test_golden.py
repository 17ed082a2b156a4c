"""The golden runs give the committed statistics, byte for byte (C28)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import golden

# Compiler of the program whose numbers README.md shows.
README_COMPILER = b"GCC: (Debian 12.2.0-13) 12.2.0"
#: What today's programs and the frozen ones are asked for.
WORDS = {"kernels": ("paths 12", "votes 50", "bank 50", "tree 5", "capsules 50", "threads 4"),
         "plain": ("floats 3", "memory 40", "disk 2"), "store": ("20",)}  # fmt: skip
BUILD = Path(os.environ.get("RUBATO_BUILD", golden.ROOT / "build" / "release"))


@pytest.mark.parametrize("run", golden.runs(), ids=lambda run: run.name)
def test_statistics_are_the_committed_ones(run: golden.Run) -> None:
    expected = run.expected.read_text()
    actual = golden.simulate(run, BUILD)
    assert actual == expected, (
        f"{run.name} differs:\n{golden.difference(expected, actual)}\n"
        "A speed-up must not do this. A change to the model: tools/golden --update \"REASON\"")


def test_the_readme_shows_the_first_run_as_it_is(tmp_path: Path) -> None:
    """The lines of the block that do not depend on the host, and the cycles of the same run without speculation."""
    readme = (golden.ROOT / "README.md").read_text()
    if README_COMPILER not in (BUILD / "guest" / "sssp").read_bytes():
        pytest.skip(f"README shows numbers of {README_COMPILER.decode()}")

    def summary(mode: str) -> dict:
        command = [BUILD / "bin" / "rubato-chip", "--quiet", "--cores", "16", "--set", f"task.mayspec={mode}", "--out",
                   tmp_path / mode, BUILD / "guest" / "sssp", "--generate", "road:40x40", "--verify"]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        return json.loads((tmp_path / mode / "summary.json").read_text())

    first, strict = summary("mayspec"), summary("nonspec")
    tasks = first["tasks"]
    assert f"cycles        {first['cycles']:,}  (" in readme
    assert f"instructions  {first['instructions']:,}  (" in readme
    counts = f"{tasks['committed']:,} committed, {tasks['aborted']:,} aborted, {tasks['spilled']:,} spilled"
    assert f"tasks         {counts}" in readme
    assert f"`--mode nonspec` takes {strict['cycles']:,} cycles" in " ".join(readme.split())


def test_every_expected_file_has_its_run() -> None:
    assert {path.stem for path in golden.HERE.glob("expected/*")} == {run.name for run in golden.runs()}


@pytest.mark.skipif(shutil.which("riscv64-linux-gnu-g++") is None, reason="no cross compiler")
@pytest.mark.parametrize("program", golden.PROGRAMS)
def test_todays_program_prints_what_the_frozen_one_prints(program: str, tmp_path: Path) -> None:
    """The sources still compile, and what they compute has not moved away from the committed program."""
    golden.compile_program(program, tmp_path / "today")
    golden.program_into(tmp_path, program)

    def printed(name: str, words: list[str]) -> str:
        command = [BUILD / "bin" / "rubato-chip", "--quiet", "--out", tmp_path / "run", tmp_path / name, *words]
        return subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    for words in WORDS[program]:
        said = printed("today", words.split())
        assert said and said == printed(program, words.split()), words


def test_a_statistic_is_one_line_whatever_its_shape() -> None:
    roi = {"cycles": {"value": 12, "unit": "cycles", "description": "x"}, "h": [1, 0], "l": [{"a": 1}]}
    assert golden.flatten({"roi": roi, "host": 1}) == ["roi.cycles.value 12", "roi.h [1, 0]", "roi.l[0].a 1"]


def test_zeros_are_left_out_and_units_are_one_line() -> None:
    lines = ["roi.core.0.loads 1", "roi.core.1.loads 5", "roi.core.0.stores 0", "roi.x 0.0", "roi.h [0, 0]"]
    folded = golden.fold(lines)
    assert len(folded) == 1
    assert folded[0].startswith("roi.core.*.loads count 2 sum 6 digest ")
    assert golden.fold(["roi.core.0.loads 5", "roi.core.1.loads 1"]) != folded, "the digest knows which has how much"


def test_a_difference_says_how_much_and_where() -> None:
    before, after = ("roi.chip.cycles 100\nroi.chip.b 1\nc 2\n", "roi.chip.cycles 101\nroi.chip.b 3\nc 2\n")
    text = golden.difference(before, after)
    assert text.splitlines() == ["  2 of 3 statistics differ: roi.chip 2", "  cycles: 100 -> 101 (+1.00 %)",
                                 "  roi.chip.cycles: was 100, is 101", "  roi.chip.b: was 1, is 3"]
