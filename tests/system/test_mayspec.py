"""A running MAYSPEC task goes on non-speculatively from when it is the earliest (C13); a SPEC task does not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize(("mode", "nonspeculative"), [("spec", 0), ("nonspec", 2), ("mayspec", 2)])
def test_a_task_that_becomes_the_earliest_speculates_no_more(
    mode: str, nonspeculative: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    settings = ["--set", f"task.mayspec={mode}", "--set", "run.check_replay=true"]
    command = [rubato_chip, "--quiet", "--cores", "256", *settings, "--out", tmp_path, guests / "task_overlap"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.split() == [str(sum(range(3000))), str(sum(range(9000)))]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["tasks"]["nonspeculative"] == nonspeculative
    # Only where both ran at once the longer one hides the shorter one.
    assert (summary["cycles"] > 70_000) == (mode == "nonspec")
