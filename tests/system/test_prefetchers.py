"""Hardware prefetchers: streams take less time, programs print the same, and no order of memory is lost."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rubato
from rubato.cli.terminal import rates
from rubato.results import export

PROTOCOLS = ["mesi", "late", "sparse", "tokenb", "mosaic", "flask"]
CORES = ["inorder", "window"]


def run(rubato_chip: Path, out: Path, program: Path, *settings: str) -> tuple[dict[str, Any], str]:
    """The summary and what the program printed."""
    options = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run([rubato_chip, *options, "--out", out, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((out / "summary.json").read_text()), (out / "output.txt").read_text()


@pytest.mark.parametrize("model", CORES)
@pytest.mark.parametrize("protocol", ["mesi", "tokenb", "flask"])
def test_streams_take_less_time(protocol: str, model: str, rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    chip = ("chip.cores=4", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", f"core.model={model}")
    found = {}
    for prefetcher in ("none", "next_line", "stride"):
        settings = (*chip, f"l1d.prefetcher={prefetcher}")
        found[prefetcher] = run(rubato_chip, tmp_path / prefetcher, guests / "streams", *settings)
    printed = {text for _, text in found.values()}
    assert len(printed) == 1
    cycles = {name: summary["cycles"] for name, (summary, _) in found.items()}
    assert cycles["stride"] < 0.9 * cycles["none"], cycles
    assert cycles["next_line"] < cycles["none"], cycles
    assert "prefetches" not in found["none"][0]
    stride = found["stride"][0]["prefetches"]
    assert stride["accuracy"] > 0.8, stride
    assert stride["coverage"] > 0.5, stride
    assert stride["accuracy"] == pytest.approx(stride["useful"] / stride["issued"])
    assert stride["coverage"] == pytest.approx(stride["useful"] / (stride["useful"] + stride["uncovered"]))
    assert stride["late"] <= stride["useful"] <= stride["issued"]


def test_they_are_in_tables_and_exports(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    summary, _ = run(rubato_chip, tmp_path / "run", guests / "streams", "chip.cores=4", "l1d.prefetcher=stride")
    loaded = rubato.load(tmp_path / "run")
    row = export.runs([loaded]).row(0, named=True)
    assert row["l1d.prefetch_accuracy"] == pytest.approx(summary["prefetches"]["accuracy"])
    assert row["l1d.prefetch_coverage"] == pytest.approx(summary["prefetches"]["coverage"])
    assert row["prefetches.issued"] == summary["prefetches"]["issued"]
    said = dict(rates(loaded))["prefetches"]
    assert said.endswith(" coverage")
    assert f"{summary['prefetches']['accuracy']:.1%} accuracy" in said
    run(rubato_chip, tmp_path / "without", guests / "streams", "chip.cores=4")
    assert "prefetches" not in dict(rates(rubato.load(tmp_path / "without")))


@pytest.mark.parametrize("prefetcher", ["next_line", "stride"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("program", ["pthreads", "reservations", "openmp"])
def test_threads_print_what_they_print_without(
    program: str, protocol: str, prefetcher: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    chip = ("chip.cores=8", "chip.cores_per_tile=2", f"coherence.protocol={protocol}", "coherence.check=true")
    without = run(rubato_chip, tmp_path / "without", guests / program, *chip)[1]
    small = ("l1d.size=1KiB", "l1i.size=4KiB", "l2.size=8KiB")
    settings = (*chip, *small, f"l1d.prefetcher={prefetcher}", "l1d.prefetch_degree=4")
    assert run(rubato_chip, tmp_path / "with", guests / program, *settings)[1] == without


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tasks_are_replayed_as_without(protocol: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """Tasks speculate beside prefetches, and the replay in their order gives what they gave."""
    settings = ["chip.cores=16", f"coherence.protocol={protocol}", "l1d.prefetcher=next_line", "l1d.prefetch_degree=4"]
    options = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [rubato_chip, *options, "--check-replay", "--out", tmp_path / "run", guests / "sssp", "--verify"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["check"] == "passed"
    assert summary["prefetches"]["issued"] > 100
    assert summary["tasks"]["aborted"] > 0, "else nothing speculated"


def test_they_change_nothing_in_fast_forward(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    chip = ("chip.cores=4", "run.roi=by_three_lines", "run.warm=true")
    summary, _ = run(rubato_chip, tmp_path / "run", guests / "streams", *chip, "l1d.prefetcher=stride")
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())["run"]
    issued = sum(n for name, n in stats.items() if name.endswith(".prefetch.issued"))
    assert issued == summary["prefetches"]["issued"], "none but in the region"


@pytest.mark.skipif(shutil.which("riscv64-linux-gnu-gcc") is None, reason="riscv64-linux-gnu-gcc is not installed")
@pytest.mark.parametrize("model", CORES)
@pytest.mark.parametrize("protocol", ["mesi", "tokenb", "flask"])
@pytest.mark.parametrize("name", ["MP+fences", "SB+fences", "IRIW+addrs", "CoRR", "LRSC-increments"])
def test_no_chip_shows_what_rvwmo_forbids(
    name: str, protocol: str, model: str, root: Path, build: Path, rubato_chip: Path
) -> None:
    settings = (f"coherence.protocol={protocol}", f"core.model={model}", "l1d.prefetcher=next_line",
                "l1d.prefetch_degree=8")  # fmt: skip
    litmus = root / "tests" / "litmus" / f"{name}.litmus"
    python = root / ".venv" / "bin" / "python"
    command = [python, root / "tools" / "litmus", litmus, "--rounds", "25", "--chip", rubato_chip]
    options = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "!>" not in done.stdout
