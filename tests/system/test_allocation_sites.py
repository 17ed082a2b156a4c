"""Contended lines of the heap are named by the place in the program that has allocated them.

Each program of planted/heap_* has its contention in a block of the heap. The sentence and the table are held against
its source: the function, the line of the call, the size of the block and the offset in it.
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
from rubato.results.thread_reasons import reasons

PLANTED = Path(__file__).with_name("planted")
WATCHED = ("--set", "chip.cores_per_tile=1")
UNWATCHED = (*WATCHED, "--set", "run.contention=false")
WHERE = r", most often in .+"


@dataclass(frozen=True)
class Planted:
    """`call`: the text of the line that asks for the memory; `says`: a regular expression for the sentence behind its
    share, where `{site}` stands for the function and that line."""

    program: str
    function: str
    call: str
    kind: str
    size: int
    offset: int
    says: str


PROGRAMS = [
    Planted("heap_counters.c", "make_counters", "posix_memalign(", "false", 512, 0,
            r"wait for {lines} a heap block of 512 bytes allocated by {site}, which {cores} cores take from one "
            r"another though each uses other bytes of it \(false sharing\)" + WHERE),
    Planted("heap_vector.cpp", "fill", "push_back", "atomic", 1024, 400,
            r"wait for the line of a heap block of 1,024 bytes allocated by {site}, which {cores} cores update by "
            r"atomics in turn" + WHERE),
    Planted("heap_reuse.c", "second_owner", "malloc(199)", "atomic", 199, 64,
            r"wait for the line of a heap block of 199 bytes allocated by {site}, which {cores} cores update .+"),
    Planted("heap_moved.c", "grow", "realloc(", "atomic", 3000, 800,
            r"wait for the line of a heap block of 3,000 bytes allocated by {site}, which {cores} cores update .+"),
    Planted("heap_mapping.c", "map_words", "map_pages(NULL", "atomic", 65536, 8000,
            r"wait for the line of a mapping of 65,536 bytes made by {site}, which {cores} cores update .+"),
    Planted("heap_lock.c", "make_guarded", "xmalloc(sizeof", "lock", 40, 32,
            r"spin for the program's own lock in a heap block of 40 bytes allocated by {site}" + WHERE),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sites")


def compiled(folder: Path, source: str, *options: str) -> Path:
    program = folder / f"{Path(source).stem}{''.join(options)}"
    if not program.exists():
        compiler = "riscv64-linux-gnu-g++" if source.endswith(".cpp") else "riscv64-linux-gnu-gcc"
        command = [compiler, "-O2", "-g", "-static", "-pthread", *options, PLANTED / source, "-o", program]
        subprocess.run(command, check=True, capture_output=True)
    return program


def run(simulator: Path, folder: Path, program: Path, cores: int, *options: str) -> Run:
    out = folder / f"{program.name}-{cores}-{'-'.join(options)}".replace("/", "")
    command = [simulator, "--quiet", "--out", out, "--cores", str(cores), *options, program, str(cores)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = rubato.load(out)
    assert isinstance(found, Run)
    return found


def line_of(source: str, text: str) -> int:
    (number,) = [n for n, line in enumerate((PLANTED / source).read_text().splitlines(), 1) if text in line]
    return number


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("planted", PROGRAMS, ids=lambda planted: planted.program)
def test_the_sentence_and_the_table_name_the_site(
    rubato_chip: Path, folder: Path, planted: Planted, cores: int
) -> None:
    found = run(rubato_chip, folder, compiled(folder, planted.program), cores, *WATCHED)
    site = f"{planted.function} ({planted.program}:{line_of(planted.program, planted.call)})"
    lines = "the line of" if cores <= 8 else f"{cores // 8} lines of"
    says = planted.says.replace("{lines}", lines).replace("{cores}", str(cores)).replace("{site}", re.escape(site))
    assert re.fullmatch(rf"\d+ % of core cycles {says}\.", found.conclusion), found.conclusion
    worst = found.contention[0]
    assert worst.kind == planted.kind
    assert worst.block is not None
    assert worst.block.bytes == planted.size
    if cores <= 8:
        assert worst.block.offset == planted.offset
        noun = "mapping" if worst.block.is_mapping else "heap block"
        by = "made" if worst.block.is_mapping else "allocated"
        assert worst.word == f"{noun} of {planted.size:,} bytes {by} by {site}, offset {planted.offset:,}"


@pytest.mark.parametrize("cores", [4, 16])
def test_blocks_of_one_site_that_share_a_line_are_named_together(
    rubato_chip: Path, folder: Path, cores: int
) -> None:
    found = run(rubato_chip, folder, compiled(folder, "heap_objects.cpp"), cores, *WATCHED)
    site = f"make_objects (heap_objects.cpp:{line_of('heap_objects.cpp', 'new Counter')})"
    says = rf"\d+ % of core cycles wait for .+ heap blocks of 8 bytes allocated by {re.escape(site)}, which .+"
    assert any(re.fullmatch(says, reason.sentence) for reason in reasons(found))
    worst = found.contention[0]
    assert worst.kind == "false"
    assert worst.block is not None
    assert worst.block.count == 2
    assert worst.word == f"2 heap blocks, the first of 8 bytes allocated by {site}"


def test_a_stripped_program_says_why_it_has_no_sites(rubato_chip: Path, folder: Path) -> None:
    found = run(rubato_chip, folder, compiled(folder, "heap_counters.c", "-s"), 4, *WATCHED)
    worst = found.contention[0]
    assert worst.block is None
    assert re.fullmatch(r"heap at 0x[0-9a-f]+", worst.word)
    says = (r"\d+ % of core cycles wait for the line of the heap at 0x[0-9a-f]+ \(allocation sites are not known, "
            r"since the program has no symbols\), which 4 cores .+")  # fmt: skip
    assert any(re.fullmatch(says, reason.sentence) for reason in reasons(found))


#: In fast-forward, served by the simulator, and in detail from the start.
WAYS = [("--roi", "(anonymous namespace)::work"), ("--set", "run.alloc=ideal"), ("--no-ff",)]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_sites_are_known_however_the_allocation_ran(
    rubato_chip: Path, folder: Path, options: tuple[str, ...]
) -> None:
    found = run(rubato_chip, folder, compiled(folder, "heap_vector.cpp"), 4, *WATCHED, *options)
    worst = found.contention[0]
    assert worst.block is not None
    assert (worst.block.bytes, worst.block.site.function) == (1024, "(anonymous namespace)::fill()")


@pytest.mark.parametrize("protocol", ["mesi", "sparse", "flask", "tokenb"])
@pytest.mark.parametrize("program", ["heap_vector.cpp", "heap_mapping.c"])
def test_watching_allocations_changes_no_result(
    rubato_chip: Path, folder: Path, program: str, protocol: str
) -> None:
    documents = []
    for options in (UNWATCHED, WATCHED):
        of_protocol = ("--set", f"coherence.protocol={protocol}")
        found = run(rubato_chip, folder, compiled(folder, program), 4, *of_protocol, *options)
        documents.append({k: v for k, v in json.loads(json.dumps(found.stats_document)).items() if k != "contention"})
        if options == WATCHED:
            assert found.contention[0].block is not None
    assert documents[0] == documents[1]
