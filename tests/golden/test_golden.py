"""The golden runs give the committed statistics, byte for byte (C28)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import golden

BUILD = Path(os.environ.get("RUBATO_BUILD", golden.ROOT / "build" / "release"))


@pytest.mark.parametrize("run", golden.runs(), ids=lambda run: run.name)
def test_statistics_are_the_committed_ones(run: golden.Run) -> None:
    if not run.expected.exists():
        pytest.skip(f"{run.expected.name} is not committed yet; `tools/golden --update REASON` makes it")
    expected = run.expected.read_text()
    compiler, loaded = golden.identity(BUILD / "guest" / run.program)
    if compiler != golden.header(expected, "compiler"):
        pytest.skip(f"the guest program is made by {compiler}, the golden one by {golden.header(expected, 'compiler')}")
    assert loaded == golden.header(expected, "program"), (
        f"{run.program} is another program than the golden run's (sources changed): tools/golden --update \"REASON\"")
    actual = golden.simulate(run, BUILD)
    assert actual == expected, (
        f"{run.name} differs:\n{golden.difference(expected, actual)}\n"
        "A speed-up must not do this. A change to the model: tools/golden --update \"REASON\"")


def test_the_readme_shows_the_first_run_as_it_is(tmp_path: Path) -> None:
    """The lines of the block that do not depend on the host, and the cycles of the same run without speculation."""
    readme = (golden.ROOT / "README.md").read_text()
    compiler, _ = golden.identity(BUILD / "guest" / "sssp")
    run = next(run for run in golden.runs() if run.program == "sssp")
    if compiler != golden.header(run.expected.read_text(), "compiler"):
        pytest.skip(f"README shows numbers of another compiler than {compiler}")

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
    assert f"`--mode nonspec` takes {strict['cycles']:,} cycles" in readme


def test_a_statistic_is_one_line_whatever_its_shape() -> None:
    roi = {"cycles": {"value": 12, "unit": "cycles", "description": "x"}, "h": [1, 0], "l": [{"a": 1}]}
    assert golden.flatten({"roi": roi, "host": 1}) == ["roi.cycles.value 12", "roi.h [1, 0]", "roi.l[0].a 1"]


def test_a_difference_names_the_statistic_and_both_values() -> None:
    assert golden.difference("a.b 1\nc 2\n", "a.b 3\nc 2\n") == "  a.b: was 1, is 3"
