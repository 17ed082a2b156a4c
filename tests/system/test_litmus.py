"""tools/litmus: verdicts of its model that the literature has, runs on chips, and that it fails where it must."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "litmus"

#: RVWMO's word for each test, after the RISC-V manual and its litmus tests, and the states of the observed places.
VERDICTS = {
    "2+2W": ("Allowed", 4), "2+2W+fence.w.w": ("Forbidden", 3), "AMO-increments": ("Required", 1),
    "CoRR": ("Forbidden", 3), "CoWR": ("Required", 2), "IRIW": ("Allowed", 16), "IRIW+addrs": ("Forbidden", 15),
    "LB": ("Allowed", 4), "LB+ctrls": ("Forbidden", 3), "LB+datas": ("Forbidden", 2),
    "LRSC-increments": ("Forbidden", 4),
    "MP": ("Allowed", 4), "MP+fence.w.w+addr": ("Forbidden", 3), "MP+fence.w.w+ctrl": ("Allowed", 4),
    "MP+failed.sc.data+fence": ("Allowed", 4), "MP+fence.w.w+fence.r.r": ("Forbidden", 3),
    "MP+fences": ("Forbidden", 3), "MP+rl+aq": ("Forbidden", 3),
    "MP+sc.ctrl+fence": ("Forbidden", 4), "MP+sc.data+fence": ("Forbidden", 5),
    "PPOCA": ("Allowed", 4), "R+fences": ("Forbidden", 3), "S+fence.w.w+data": ("Forbidden", 3),
    "SB": ("Allowed", 4), "SB+amo.aqrl": ("Forbidden", 3), "SB+fence.tso": ("Allowed", 4),
    "SB+fences": ("Forbidden", 3), "SB+sc.addr+fence": ("Forbidden", 5), "SB+sc.ctrl+fence": ("Allowed", 5),
    "WRC+data+addr": ("Forbidden", 5), "pointer": ("Forbidden", 2),
}  # fmt: skip
#: Those whose relaxed outcome needs two accesses out of order: sequential consistency forbids them.
RELAXED = [
    "2+2W", "IRIW", "LB", "MP", "MP+failed.sc.data+fence", "MP+fence.w.w+ctrl", "PPOCA", "SB", "SB+fence.tso",
    "SB+sc.ctrl+fence",
]  # fmt: skip

NEEDS_COMPILER = pytest.mark.skipif(
    shutil.which("riscv64-linux-gnu-gcc") is None, reason="riscv64-linux-gnu-gcc is not installed (tools/bootstrap)"
)


def litmus(*words: str | Path, build: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) | ({"RUBATO_BUILD": str(build)} if build else {})
    command = [ROOT / ".venv" / "bin" / "python", ROOT / "tools" / "litmus", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_each_file_has_its_verdict_here() -> None:
    assert sorted(f.stem for f in FOLDER.glob("*.litmus")) == sorted(VERDICTS)


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_the_model_says_what_the_manual_says(name: str) -> None:
    done = litmus(FOLDER / f"{name}.litmus", "--model-only")
    assert done.returncode == 0, done.stderr
    word, states = VERDICTS[name]
    assert done.stdout.splitlines()[:2] == [f"Test {name} {word}", f"States {states}"]


@pytest.mark.parametrize("name", RELAXED)
def test_sequential_consistency_forbids_what_needs_reordering(name: str) -> None:
    done = litmus(FOLDER / f"{name}.litmus", "--model-only", "--model", "sc")
    assert done.stdout.splitlines()[0] == f"Test {name} Forbidden"


@NEEDS_COMPILER
@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_no_chip_shows_what_rvwmo_forbids(name: str, build: Path, rubato_chip: Path) -> None:
    done = litmus(FOLDER / f"{name}.litmus", "--rounds", "25", build=build)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Test {name} {VERDICTS[name][0]}" in done.stdout
    counts = [int(n) for n in re.findall(r"^(\d+) +[:*]>", done.stdout, flags=re.MULTILINE)]
    assert sum(counts) == 4 * 25  # four chips
    assert "!>" not in done.stdout


@NEEDS_COMPILER
def test_an_outcome_that_the_model_forbids_ends_with_1_and_is_named(build: Path, rubato_chip: Path) -> None:
    """The window core stores late, so under the stricter model store buffering is an error that must be found."""
    window = ["--set", "core.model=window", "--rounds", "60"]
    done = litmus(FOLDER / "SB.litmus", "--model", "sc", *window, build=build)
    assert done.returncode == 1, done.stdout
    assert re.search(r"^\d+ +!>0:x7=0; 1:x7=0;$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^litmus: SC forbids what came \d+ times: 0:x7=0; 1:x7=0;$", done.stderr, flags=re.MULTILINE)
    assert litmus(FOLDER / "SB.litmus", *window, build=build).returncode == 0


@NEEDS_COMPILER
def test_a_run_shows_relaxed_outcomes_where_they_are_allowed(build: Path, rubato_chip: Path) -> None:
    done = litmus(FOLDER / "SB.litmus", "--set", "core.model=window", "--rounds", "60", build=build)
    assert "Observation SB Sometimes" in done.stdout
    assert "Observation SB+fences Never" in litmus(FOLDER / "SB+fences.litmus", "--rounds", "25", build=build).stdout


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("X86 SB\n{ }\n P0 ;\n nop ;\nexists (x=0)\n", "begins with the word RISCV"),
        ("RISCV a\n{ 0:x5=x; }\n P0 ;\n lw x6,0(x5) ;\n", "no exists, ~exists or forall"),
        ("RISCV a\n{ 0:x2=x; }\n P0 ;\n lw x6,0(x2) ;\nexists (0:x6=0)\n", "x2 is sp, which the runner needs"),
        ("RISCV a\n{ 0:x5=x; }\n P0 ;\n divu x6,x6,x6 ;\nexists (x=0)\n", "does not know the instruction divu"),
        ("RISCV a\n{ 0:x5=x; }\n P0 ;\n lw x6,0(x5) ;\nexists (1:x6=0)\n", "names thread 1, and there are 1"),
        ("RISCV a\n{ 0:x5=x; }\n P0 ;\n L: lw x6,0(x5) ;\n beq x0,x0,L ;\nexists (0:x6=0)\n", "with loops"),
        ("RISCV a\n{ 0:x5=x; }\n P0 ;\n sw x0,0(x5) ;\n ld x6,0(x5) ;\nexists (0:x6=0)\n", "mixed sizes"),
        ("RISCV a\n{ 0:x5=x; }\n P0 ;\n lw x6,2(x5) ;\nexists (0:x6=0)\n", "does not go to the start of a location"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.litmus").write_text(text)
    done = litmus(tmp_path / "a.litmus", "--model-only")
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
