"""Records of docs/publications on the real simulator: points that are run again have the recorded hash, to the byte."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

#: Publications with simulated points.
SIMULATED = ("espresso", "flask")


def verified(root: Path, name: str, *options: str) -> dict[str, list[str]]:
    command = [root / "bench/publications", name, "--verify", *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "are of another model or program" in done.stderr:
        # A change of the model, or another cross compiler. Points of the same model and program are never skipped.
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("name", SIMULATED)
def test_two_quick_points_have_the_recorded_hash(name: str, root: Path, rubato_chip: Path) -> None:
    answer = verified(root, name, "2", "--size", "quick", "--choose", "1")
    assert len(answer["same"]) == 2 and not answer["different"]


@pytest.mark.long
@pytest.mark.parametrize(("name", "size", "count"), [("espresso", "quick", 20), ("espresso", "sampled", 20),
                                                     ("flask", "quick", 20), ("flask", "sampled", 5)])  # fmt: skip
def test_points_drawn_anew_have_the_recorded_hash(name: str, size: str, count: int, root: Path,
                                                  rubato_chip: Path) -> None:  # fmt: skip
    answer = verified(root, name, str(count), "--size", size)
    assert len(answer["same"]) == count and not answer["different"]


def test_a_recorded_hash_that_is_not_the_runs_is_found(root: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """One digit of each record is changed: no point may pass."""
    text = (root / "docs/publications/espresso.json").read_text()
    changed = tmp_path / "publications/espresso.json"
    changed.parent.mkdir()
    document = json.loads(text)
    for record in document["records"].values():
        record["stats"] = record["stats"][::-1]
    changed.write_text(json.dumps(document))
    command = [root / "bench/publications", "espresso", "--verify", "1", "--choose", "1", "--docs", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "are of another model or program" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 1 and "the statistics have another hash than recorded" in done.stderr, done.stderr
