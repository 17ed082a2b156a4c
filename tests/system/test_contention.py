"""Lines that cores take from one another are named with their kind, on 4 cores and on 16, without an option.

Each program in planted/ has one kind of contention, or none. The sentence is held against the program's source.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import rubato
from rubato.results.run import Run

PLANTED = Path(__file__).with_name("planted")


@dataclass(frozen=True)
class Planted:
    """`says`: a regular expression for the whole sentence behind its share; `{cores}`, `{lines}` are filled in."""

    program: str
    kind: str
    says: str


PLACE = r", most often in \w+ \({program}\.c:\d+\)"
PROGRAMS = [
    Planted("false_sharing", "false", r"wait for {lines} counters, which {cores} cores take from one another though "
            r"each uses other bytes of it \(false sharing\)" + PLACE),
    Planted("true_sharing", "true", r"wait for the line of total, which {cores} cores take from one another and use "
            r"the same bytes \(true sharing\)" + PLACE),
    Planted("hot_atomic", "atomic", r"wait for the line of hits, which {cores} cores update by atomics in turn"
            + PLACE),
    Planted("spin_lock", "lock", r"spin for the program's own lock gate, most often in .+"),
    Planted("own_barrier", "barrier", r"spin at the program's own barrier rounds, most often in .+"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contention")


def compiled(folder: Path, name: str) -> Path:
    program = folder / name
    if not program.exists():
        compiler = ["riscv64-linux-gnu-gcc", "-O2", "-g", "-static", "-pthread", "-fopenmp"]
        subprocess.run([*compiler, PLANTED / f"{name}.c", "-o", program], check=True, capture_output=True)
    return program


def run(simulator: Path, folder: Path, name: str, cores: int, *options: str) -> Run:
    out = folder / f"{name}-{cores}-{'-'.join(options)}".replace("/", "")
    command = [simulator, "--quiet", "--out", out, "--cores", str(cores), *options, compiled(folder, name), str(cores)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = rubato.load(out)
    assert isinstance(found, Run)
    return found


#: Cores of one tile share an L2: what they take from one another costs them little.
WATCHED = ("--set", "chip.cores_per_tile=1")
UNWATCHED = ("--set", "run.contention=false", "--set", "chip.cores_per_tile=1")


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("planted", PROGRAMS, ids=lambda planted: planted.program)
def test_the_sentence_names_the_kind_of_contention(
    rubato_chip: Path, folder: Path, planted: Planted, cores: int
) -> None:
    found = run(rubato_chip, folder, planted.program, cores, *WATCHED)
    lines = "the line of" if cores <= 8 else f"{cores // 8} lines of"
    says = planted.says.replace("{lines}", lines).replace("{cores}", str(cores))
    said = re.fullmatch(rf"(\d+) % of core cycles {says.replace('{program}', planted.program)}\.", found.conclusion)
    assert said is not None, found.conclusion
    assert found.contention[0].kind == planted.kind
    assert 20 <= int(said[1]) <= 100


@pytest.mark.parametrize("cores", [4, 16])
def test_cores_with_lines_of_their_own_contend_for_none(rubato_chip: Path, folder: Path, cores: int) -> None:
    found = run(rubato_chip, folder, "padded", cores, *WATCHED)
    assert not any("counters" in line.symbol for line in found.contention)
    assert found.conclusion.startswith("Cores run threads for ")


@pytest.mark.parametrize("cores", [4, 16])
def test_bytes_that_hits_use_count(rubato_chip: Path, folder: Path, cores: int) -> None:
    """A message is written at other bytes than those that a core asks for first, and is no false sharing."""
    found = run(rubato_chip, folder, "message", cores, *WATCHED)
    boxes = [line for line in found.contention if line.object == "boxes"]
    assert len(boxes) == cores // 2
    assert not [line for line in boxes if line.kind == "false"]


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("name", ["one_lock", "serial_within", "imbalance_at_barrier", "serial_before"])
def test_other_reasons_are_said_as_without_it(rubato_chip: Path, folder: Path, name: str, cores: int) -> None:
    openmp = ("--env", f"OMP_NUM_THREADS={cores}")
    watched = run(rubato_chip, folder, name, cores, *openmp, *WATCHED)
    plain = run(rubato_chip, folder, name, cores, *openmp, *UNWATCHED)
    assert watched.conclusion == plain.conclusion


def test_the_table_names_bytes_and_cores(rubato_chip: Path, folder: Path) -> None:
    line = run(rubato_chip, folder, "false_sharing", 4, *WATCHED).contention[0]
    touched = sorted(user.touched for user in line.users if user.transfers > 100)
    assert touched == ["0-7", "16-23", "24-31", "8-15"]
    assert sum(line.taken.values()) == line.transfers
    assert all(taken_from != by for taken_from, by in line.taken)
    assert line.latency == sum(user.cycles for user in line.users)


@pytest.mark.parametrize("protocol", ["mesi", "flask", "tokenb"])
def test_watching_changes_no_result(rubato_chip: Path, folder: Path, protocol: str) -> None:
    documents = []
    for options in (UNWATCHED, WATCHED):
        of_protocol = ("--set", f"coherence.protocol={protocol}")
        found = run(rubato_chip, folder, "false_sharing", 4, *of_protocol, *options)
        documents.append({k: v for k, v in json.loads(json.dumps(found.stats_document)).items() if k != "contention"})
        if options == WATCHED:
            assert found.contention[0].kind == "false"
    assert documents[0] == documents[1]


@pytest.mark.parametrize("options", [("core.model=window",), ("run.check_replay=true",)])
def test_what_cannot_be_watched_is_refused(rubato_chip: Path, folder: Path, options: tuple[str, ...]) -> None:
    words = [word for option in (*options, "run.contention=true") for word in ("--set", option)]
    done = subprocess.run([rubato_chip, "--cores", "4", *words, compiled(folder, "padded")], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "run.contention watches one program on cores in order" in done.stderr
