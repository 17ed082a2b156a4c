"""`bench/flask`: claims of the publication on FLASK coherence, with the smallest program."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path


def bench(root: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "bench" / "flask", *arguments], capture_output=True, text=True, check=False)


def test_a_row_is_measured_once_and_the_next_call_goes_on(root: Path, tmp_path: Path) -> None:
    options = ("--quick", "--figures", "10", "--out", tmp_path, "--json")
    done = bench(root, *options, "hmm")
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 2, "two points"
    (row,) = json.loads(done.stdout)
    assert row["figure"] == "10" and row["met"] == (row["ours"] <= row["bar"])
    samples = json.loads((tmp_path / "samples.json").read_text())["samples"]
    taken = [of["hmm"] for of in samples.values()]
    assert row["ours"] == taken[0]["cycles"] / taken[1]["cycles"]
    assert all(of["edp"] > 0 and of["flit_hops"] > 0 and of["memory_reads"] > 0 for of in taken)
    again = bench(root, *options, "hmm")
    assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, "")


def test_samples_of_other_sizes_and_unknown_names_are_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "samples.json").write_text('{"head": {"quick": true}, "samples": {}}')
    done = bench(root, "--figures", "10", "--out", tmp_path, "hmm")
    assert done.returncode == 2 and "choose another --out" in done.stderr
    for wrong in (["apache"], ["--figures", "12"], ["--jobs", "0"]):
        done = bench(root, *wrong)
        assert done.returncode == 2 and "flask: error: " in done.stderr
