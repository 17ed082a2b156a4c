"""Litmus tests on the simulated chip."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import litmus_program
from litmus_file import LitmusError, Outcome
from rvwmo import Model

ROOT = Path(__file__).resolve().parents[2]

#: A round takes some thousand cycles; a chip that hangs is ended.
MOST_CYCLES_OF_A_ROUND, MOST_CYCLES_OF_THE_START = 100_000, 10_000_000

#: Settings of one chip, KEY=VALUE each.
Settings = tuple[str, ...]


def simulator() -> Path:
    """rubato-chip of build/release, or of the folder that RUBATO_BUILD names."""
    return Path(os.environ.get("RUBATO_BUILD", ROOT / "build" / "release")) / "bin" / "rubato-chip"


@dataclass(frozen=True)
class Runs:
    """How often tests run, and where."""

    chips: Sequence[Settings]
    rounds: int = 100
    seeds: Sequence[int] = (1,)
    cores: int = 4
    chip: Path = field(default_factory=simulator)


def _printed(program: Path, tests: int, chip: Settings, seed: int, cores: int, runs: Runs) -> str:
    most = MOST_CYCLES_OF_THE_START + tests * runs.rounds * MOST_CYCLES_OF_A_ROUND
    command = [str(runs.chip), "--quiet", "--progress", "none", "--cores", str(cores), "--seed", str(seed)]
    command += [word for setting in chip for word in ("--set", setting)]
    command += ["--max-cycles", str(most), str(program), str(runs.rounds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LitmusError(f"{runs.chip} does not exist: run `make build`") from None
    if done.returncode != 0:
        raise LitmusError(f"the run with {' '.join(chip)} failed: {done.stderr.strip()[-300:].rstrip('.')}")
    return done.stdout


def run(models: Sequence[Model], runs: Runs) -> Iterator[tuple[Settings, int, list[list[tuple[Outcome, int]]]]]:
    """Runs tests, whose outcomes the models have found and that have as many threads each.

    @returns of each chip and seed the outcomes of each test, with their numbers. @raises LitmusError."""
    cores = max(runs.cores, len(models[0].test.threads))
    with tempfile.TemporaryDirectory() as folder:
        for seed in runs.seeds:
            program = litmus_program.build(models, Path(folder), seed)
            for chip in runs.chips:
                printed = _printed(program, len(models), chip, seed, cores, runs)
                yield chip, seed, litmus_program.histograms(models, printed, runs.rounds)
