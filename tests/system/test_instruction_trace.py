"""`--instructions` and `--watch`: what cores executed, and who accessed a range of memory."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import csv
import gzip
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import golden  # noqa: E402

TOTAL = "(anonymous namespace)::total"  # of the kernel `votes`: each task reads and writes it once


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden.program_into(tmp_path_factory.mktemp("golden"))


def run(simulator: Path, out: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [simulator, "--quiet", "--out", out, *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def rows(file: Path) -> list[dict[str, str]]:
    with gzip.open(file, "rt") as text:
        return list(csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE))


def instructions(out: Path) -> int:
    return json.loads((out / "stats.json").read_text())["run"]["chip.instructions"]


@pytest.mark.parametrize("words", [["--cores", "16", "votes", "50"], ["--cores", "8", "capsules", "30"],
                                   ["--cores", "4", "--no-ff", "threads", "3"], ["--cores", "4", "tree", "4"]],
                         ids=lambda words: words[-2])
def test_each_instruction_is_one_line_and_nothing_else_changes(
        rubato_chip: Path, kernels: Path, tmp_path: Path, words: list[str]) -> None:
    options, arguments = words[:-2], words[-2:]
    assert run(rubato_chip, tmp_path / "plain", *options, kernels, *arguments).returncode == 0
    assert run(rubato_chip, tmp_path / "traced", *options, "--instructions", kernels, *arguments).returncode == 0
    assert (tmp_path / "traced/stats.json").read_bytes() == (tmp_path / "plain/stats.json").read_bytes()
    lines = rows(tmp_path / "traced/instructions.tsv.gz")
    assert len(lines) == instructions(tmp_path / "traced")
    for core, of_core in itertools.groupby(sorted(lines, key=lambda line: int(line["core"])), lambda x: x["core"]):
        cycles = [int(line["cycle"]) for line in of_core]
        assert cycles == sorted(cycles), f"core {core}: a core's lines are in the order of its program"


def test_a_replay_checks_the_same_run_while_it_is_traced(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, tmp_path / "run", "--cores", "16", "--check-replay", "--instructions", kernels, "votes",
               "50")
    assert done.returncode == 0, done.stderr
    assert len(rows(tmp_path / "run/instructions.tsv.gz")) == instructions(tmp_path / "run")


def test_a_line_says_who_did_what(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "run", "--cores", "1", "--instructions", kernels, "votes", "3")
    tasks = [line for line in rows(tmp_path / "run/instructions.tsv.gz") if line["of"].startswith("task ")]
    assert len({line["of"] for line in tasks}) == 3
    stores = [line for line in tasks if line["instruction"].startswith("sd ")]
    assert len(stores) == 3
    assert len({line["address"] for line in stores}) == 1
    assert all(line["function"].startswith("(anonymous namespace)::vote(") for line in stores)
    loads = [line["result"] for line in tasks if line["instruction"].startswith("ld ")]
    assert loads == [f"{line.split(' ')[0]} = {value:#x}" for line, value in zip(loads, (0, 0, 1), strict=True)]


def test_a_window_has_the_lines_of_its_cycles(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "all", "--cores", "4", "--instructions", kernels, "votes", "20")
    window = ["--trace-from", "500", "--trace-cycles", "300"]
    run(rubato_chip, tmp_path / "part", "--cores", "4", "--instructions", *window, kernels, "votes", "20")
    expected = [line for line in rows(tmp_path / "all/instructions.tsv.gz") if 500 <= int(line["cycle"]) < 800]
    assert expected
    assert rows(tmp_path / "part/instructions.tsv.gz") == expected


def test_watched_stores_are_the_values_that_the_memory_had(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, tmp_path / "run", "--cores", "1", "--watch", TOTAL, kernels, "votes", "20")
    accesses = rows(tmp_path / "run/watch.tsv.gz")
    in_tasks = [access for access in accesses if access["of"].startswith("task ")]
    assert [access["kind"] for access in in_tasks] == ["load", "store"] * 20
    total = 0
    for number, (load, store) in enumerate(zip(in_tasks[::2], in_tasks[1::2], strict=True)):
        assert int(load["read"], 16) == total
        total = (total * 3 + number) % 2**64
        assert int(store["written"], 16) == total
        assert load["symbol"] == store["symbol"] == TOTAL
        assert load["bytes"] == "8"
    assert f"votes: {total}\n" in done.stdout


def test_atomic_accesses_are_watched_too(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    run(rubato_chip, tmp_path / "run", "--cores", "4", "--no-ff", "--watch", "(anonymous namespace)::added:8", kernels,
        "threads", "3")
    accesses = rows(tmp_path / "run/watch.tsv.gz")
    atomics = [access for access in accesses if access["kind"] == "atomic"]
    assert len(atomics) == 3 * 40
    assert all(access["instruction"].startswith("amoadd.d") for access in atomics)
    assert len({access["of"] for access in atomics}) == 3


@pytest.mark.parametrize("model", ["inorder", "window"])
def test_an_atomic_has_both_values_also_if_no_register_takes_the_one_it_found(rubato_chip: Path, tmp_path: Path,
                                                                              model: str) -> None:
    operations = ("amoadd", "amoxor", "amoand", "amoor", "amomin", "amomax", "amominu", "amomaxu", "amoswap")
    body = "".join(f'OPERATION("{operation}.w", word, 5) OPERATION("{operation}.d", twice, -7L)'
                   for operation in operations)
    source = """
    #include <stdint.h>
    volatile uint32_t word = 0x80000003;
    volatile uint64_t twice = 0x4000000000000009;
    #define OPERATION(name, cell, operand) \
      __asm__ volatile(name " x0, %1, (%0)" :: "r"(&cell), "r"(operand) : "memory"); \
      __asm__ volatile("" :: "r"(cell));
    int main(void) { """ + body + """
      uint64_t found = 1;
      __asm__ volatile("amoadd.d %0, %0, (%1)" : "+r"(found) : "r"(&twice) : "memory");
      return (int)(found & 0);
    }
    """
    (tmp_path / "p.c").write_text(source)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", "p.c", "-o", "p"]
    subprocess.run(compiler, cwd=tmp_path, check=True)
    for cell, count in (("word", 9), ("twice", 10)):
        done = run(rubato_chip, tmp_path / f"{cell}-{model}", "--cores", "1", "--no-ff", "--set", f"core.model={model}",
                   "--watch", cell, tmp_path / "p")
        assert done.returncode == 0, done.stderr
        accesses = rows(tmp_path / f"{cell}-{model}" / "watch.tsv.gz")
        assert sum(access["kind"] == "atomic" for access in accesses) == count
        last = None
        for access in accesses:  # what an access finds is what the one before has left there
            if last is not None:
                assert access["read"] == last, access
            last = access["written"] if access["kind"] == "atomic" else access["read"]
        if cell == "twice":
            assert last == "", "the result has taken the operand's place"
            assert accesses[-1]["read"] == accesses[-2]["read"]


def test_accesses_in_fast_forward_are_watched_with_their_values(rubato_chip: Path, tmp_path: Path) -> None:
    source = """
    #include <stdint.h>
    #include <stdatomic.h>
    volatile uint32_t cell[2];
    _Atomic uint64_t sum;
    volatile double real;
    volatile uint64_t found;
    __attribute__((noinline)) void set(uint32_t value) { cell[1] = value; }
    __attribute__((noinline)) uint32_t get(void) { return cell[1]; }
    int main(void) {
      for (uint32_t i = 1; i <= 3; i++) { set(i * 0x10001); found = atomic_fetch_add(&sum, get()); }
      real = 1.5;
      return 0;
    }
    """
    (tmp_path / "p.c").write_text(source)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", "p.c", "-o", "p"]
    subprocess.run(compiler, cwd=tmp_path, check=True)

    def watched(what: str, *options: str) -> list[dict[str, str]]:
        # Nothing is marked, so all of the program is in fast-forward.
        out = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        roi = [] if options else ["--roi", "@markers"]
        done = run(rubato_chip, out, "--cores", "1", "--watch", what, *roi, *options, tmp_path / "p")
        assert done.returncode == 0, done.stderr
        return rows(out / "watch.tsv.gz")

    cell = watched("cell+4:4")
    assert [(a["kind"], a["read"], a["written"], a["function"].partition("+")[0]) for a in cell] == [
        (kind, "" if kind == "store" else f"{i * 0x10001:#x}", f"{i * 0x10001:#x}" if kind == "store" else "", name)
        for i in (1, 2, 3) for kind, name in (("store", "set"), ("load", "get"))]  # fmt: skip
    assert {(a["cycle"], a["core"], a["bytes"]) for a in cell} == {("-", "-", "4")}
    assert [a["read"] for a in watched("sum")] == ["0x0", "0x10001", "0x30003"], "atomics: what they found"
    assert [a["written"] for a in watched("real")] == ["0x3ff8000000000000"]
    for what in ("cell", "sum", "real"):  # the same program in detail: the same accesses
        detailed = watched(what, "--no-ff")
        untimed = [{**a, "cycle": "", "core": ""} for a in watched(what)]
        assert untimed == [{**a, "cycle": "", "core": ""} for a in detailed], what


def test_an_address_and_an_offset_watch_their_line(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    def watched(what: str) -> list[dict[str, str]]:
        done = run(rubato_chip, tmp_path / "run", "--cores", "4", "--watch", what, kernels, "bank", "200")
        assert done.returncode == 0, done.stderr
        return rows(tmp_path / "run/watch.tsv.gz")

    line = watched("(anonymous namespace)::accounts+64")
    assert line
    assert {access["symbol"] for access in line} == {"(anonymous namespace)::accounts+0x40"}
    assert watched(line[0]["address"]) == line
    assert len(watched("(anonymous namespace)::accounts")) > len(line), "a symbol alone is all of it"


@pytest.mark.parametrize(("options", "sentence"), [
    (["--watch", "nothing_of_that_name"], "the program has no symbol 'nothing_of_that_name'"),
    (["--watch", "main:none"], "expected a number of bytes behind ':'"),
    (["--watch", "main:0"], "expected a number of bytes behind ':'"),
    (["--trace-from", "3"], "--trace-from and --trace-cycles need --trace or --instructions"),
])  # fmt: skip
def test_bad_options_are_one_sentence_and_leave_nothing(
        rubato_chip: Path, kernels: Path, tmp_path: Path, options: list[str], sentence: str) -> None:
    done = run(rubato_chip, tmp_path / "run", *options, kernels, "votes", "3")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", [["--instructions"], ["--watch", "main"]])
def test_the_files_need_a_run_directory(rubato_chip: Path, kernels: Path, option: list[str]) -> None:
    done = subprocess.run([rubato_chip, *option, kernels, "votes", "3"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2
    assert f"{option[0]} needs --out DIR" in done.stderr


def test_a_file_without_lines_is_said(rubato_chip: Path, kernels: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, tmp_path / "run", "--cores", "1", "--watch", "main:4", kernels, "votes", "3")
    assert done.returncode == 0
    assert "watch.tsv.gz is empty: nothing accessed the 4 bytes at 0x" in done.stderr
    assert rows(tmp_path / "run/watch.tsv.gz") == []


def test_the_command_passes_both_on(kernels: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rubato", "run", kernels, "--cores", "1", "--instructions", "--watch", TOTAL,
               "--out", tmp_path / "run", "--", "votes", "3"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(rows(tmp_path / "run/instructions.tsv.gz")) == instructions(tmp_path / "run")
    assert len(rows(tmp_path / "run/watch.tsv.gz")) >= 6
