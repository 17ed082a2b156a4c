"""The sentence that concludes names the reason that was planted, on 4 cores and on 16.

Each program in planted/ has one reason why it takes long. The sentence is held against the program's source, and its
share against bounds that follow from the program: what it must be at least if the reason is the one that was planted.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import rubato
from rubato.results.run import Run

PLANTED = Path(__file__).with_name("planted")
LOW_SLICES = ("--set", "chip.cores_per_tile=1", "--set", "coherence.protocol=sparse", "--set", "llc.interleave=low")
# There are versions of addr2line that name the wrong file of DWARF 5 for code in a header, so such places match any.
FEW_CACHES = ("--set", "l2.size=16KiB", "--set", "llc.size=32KiB")


@dataclass(frozen=True)
class Planted:
    """`says`: a regular expression for the whole sentence, without its share."""

    program: str
    says: str
    options: tuple[str, ...] = ()
    least: dict[int, int] | None = None  # percent of core cycles, by cores


ALONE = "meanwhile thread {} works alone, most often in "
PROGRAMS = [
    Planted(
        "one_lock",
        r"wait for the lock table, at 5 places, most in (insert|erase|find|grow|scan) \(one_lock.c:\d+\)",
        least={4: 50, 16: 75},
    ),
    Planted(
        "queue",
        r"wait for the lock latch, at 2 places, most in (produce|consume) \(queue.c:(12|23)\)",
        least={4: 50, 16: 75},
    ),
    Planted(
        "condition",
        r"wait for the condition variable more in consume \(condition.c:13\); "
        + ALONE.format(1016)
        + r"(spend \(\S+:\d+\)|produce \(condition.c:\d+\))",
        least={4: 50, 16: 70},
    ),
    Planted(
        "imbalance",
        r"are idle: thread 1016 works alone, most often in (spend \(\S+:\d+\)|work \(imbalance.c:\d+\))",
        least={4: 55, 16: 70},
    ),
    Planted(
        "imbalance_at_barrier",
        r"wait for the barrier line in work \(imbalance_at_barrier.c:10\); "
        + ALONE.format(1001)
        + r"spend \(\S+:\d+\)",
        least={4: 50, 16: 75},
    ),
    Planted(
        "serial_before",
        r"are idle: thread 1000 works alone, most often in build_index \(serial_before.c:7\)",
        least={4: 60, 16: 80},
    ),
    Planted(
        "serial_set_up",
        r"are idle: thread 1000 works alone, most often in read_graph \(serial_set_up.c:7\)",
        least={4: 65, 16: 80},
    ),
    Planted(
        "serial_within",
        r"wait for barriers; " + ALONE.format(1000) + r"prepare \(serial_within.c:7\)",
        least={4: 45, 16: 55},
    ),
    Planted(
        "few_threads",
        r"are idle: the program has 2 threads for (4|16) cores most of that time",
        least={4: 45, 16: 85},
    ),
    Planted("false_friends", r"wait for the lock latch in free_block \(false_friends.c:9\)", least={4: 50}),
    Planted(
        "bandwidth",
        r"wait for memory, most often in stream \(bandwidth.c:11\); its controllers are busy, so that bandwidth is "
        r"what is missing",
        (*FEW_CACHES, "--set", "mem.bytes_per_cycle=0.25"),
        {4: 50, 16: 50},
    ),
    Planted(
        "latency",
        r"wait for memory, most often in chase \(latency.c:1[45]\); its controllers are mostly free, so that latency "
        r"is what counts",
        FEW_CACHES,
        {4: 50, 16: 50},
    ),
    Planted(
        "far_slice",
        r"wait for the LLC and the caches of other tiles, most often in visit \(far_slice.c:13\); \d+ % of the "
        r"requests are for the slice of tile 3",
        (*LOW_SLICES, "--set", "l2.size=16KiB"),
        {4: 40, 16: 40},
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planted")


def compiled(folder: Path, name: str, *flags: str) -> Path:
    program = folder / "-".join([name, *(flag.strip("-") for flag in flags)])
    if not program.exists():
        compiler = ["riscv64-linux-gnu-gcc", "-O2", "-static", "-pthread", "-fopenmp", "-fno-optimize-sibling-calls"]
        subprocess.run([*compiler, *(flags or ["-g"]), PLANTED / f"{name}.c", "-o", program], check=True,
                       capture_output=True)
    return program


def run(simulator: Path, out: Path, program: Path, cores: int, *options: str) -> Run:
    words = ["--cores", str(cores), "--env", f"OMP_NUM_THREADS={cores}", *options]
    done = subprocess.run([simulator, "--quiet", "--out", out, *words, program, str(cores)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = rubato.load(out)
    assert isinstance(found, Run)
    return found


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("planted", PROGRAMS, ids=lambda planted: planted.program)
def test_the_sentence_names_what_was_planted(rubato_chip: Path, folder: Path, planted: Planted, cores: int) -> None:
    if planted.least is not None and cores not in planted.least:
        pytest.skip("on so many cores another reason is the largest")
    found = run(rubato_chip, folder / f"{planted.program}-{cores}", compiled(folder, planted.program), cores,
                *planted.options)
    said = re.fullmatch(rf"(\d+) % of core cycles {planted.says}\.", found.conclusion)
    assert said is not None, found.conclusion
    if planted.least is not None:
        assert int(said[1]) >= planted.least[cores], found.conclusion


@pytest.mark.parametrize("cores", [4, 16])
def test_of_a_program_that_has_none_no_reason_is_said(rubato_chip: Path, folder: Path, cores: int) -> None:
    found = run(rubato_chip, folder / f"balanced-{cores}", compiled(folder, "balanced"), cores)
    said = re.fullmatch(r"Cores run threads for (\d+) % of their cycles, most often in spend \(\S+:\d+\) "
                        r"\(\d+ % of samples\)\.", found.conclusion)
    assert said is not None, found.conclusion
    assert int(said[1]) >= 80


def test_more_threads_than_cores_are_said_and_no_reason(rubato_chip: Path, folder: Path) -> None:
    program = compiled(folder, "balanced")
    words = ["--quiet", "--cores", "2", "--out", folder / "shared", program, "12"]
    subprocess.run([rubato_chip, *words], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert re.search(r"; 1[23] threads share 2 cores\.$", rubato.load(folder / "shared").conclusion)


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("name", ["one_lock", "condition", "imbalance", "serial_set_up"])
def test_reasons_are_shares_of_one_whole(rubato_chip: Path, folder: Path, name: str, cores: int) -> None:
    """Idle core cycles are those of waits and those without, and no more."""
    found = run(rubato_chip, folder / f"whole-{name}-{cores}", compiled(folder, name), cores)
    idle = found.stats_document["idle"]
    counted = idle["waits"] + sum(idle["alone"].values()) + sum(idle["few"].values()) + idle["none"]
    # A core is idle for its account from the instruction on that ended a thread, for threads from the call's end on.
    assert counted == pytest.approx(found.stats.whole_run["chip.core_cycles.idle"], rel=0.05)
    assert sum(wait.idle for wait in found.waits) == pytest.approx(idle["waits"], abs=len(found.waits) + 1)


def test_a_function_of_the_users_is_never_a_librarys(rubato_chip: Path, folder: Path) -> None:
    """With debugging information, and without it by whole names."""
    for flags in ((), ("-g0",)):
        found = run(rubato_chip, folder / f"friends{len(flags)}", compiled(folder, "false_friends", *flags), 4)
        functions = {hot.at.function for hot in found.profile}
        assert found.waits[0].at.function == "free_block"
        assert "free_block" in functions
        assert max(found.profile, key=lambda hot: hot.share).at.function == "free_block"


def test_a_condition_variable_is_one_row(rubato_chip: Path, folder: Path) -> None:
    found = run(rubato_chip, folder / "rows", compiled(folder, "condition"), 16)
    assert [wait.what for wait in found.waits if wait.kind == "condition"] == ["more"]
