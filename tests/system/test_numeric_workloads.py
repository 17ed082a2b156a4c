"""The numerical and the single-threaded workloads check their own results, on the host and on the chip.

Each mutant is a program with one bug, put in where --verify must find it: a barrier or a flag left out, a wrong
neighbour, a lost packet.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SMALL = {
    "mg": ["--threads", "4", "--size", "16", "--work", "3"],
    "ft": ["--threads", "4", "--nx", "16", "--ny", "8", "--nz", "32"],
    "lu": ["--threads", "4", "--size", "12", "--work", "2"],
    "path": ["--threads", "1", "--side", "128", "--span", "64"],
    "hmm": ["--threads", "1", "--positions", "60", "--length", "50"],
    "sim": ["--threads", "1", "--nodes", "64", "--packets", "8", "--queue", "3", "--warm", "1000", "--work", "3000"],
}
PROTOCOLS = ("mesi", "flask")


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def on_chip(chip: Path, guests: Path, name: str, protocol: str, *more: str) -> subprocess.CompletedProcess[str]:
    settings = ["--set", "chip.cores=4", "--set", "chip.cores_per_tile=1", "--set", f"coherence.protocol={protocol}"]
    return run([chip, "--quiet", *settings, *more, guests / name, *SMALL[name], "--verify"])


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("threads", ["1", "3", "16"])
def test_results_are_right_on_the_host(name: str, threads: str, build: Path) -> None:
    done = run([build / "bin" / f"{name}-host", *SMALL[name][2:], "--threads", threads, "--verify"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"{name}: verified"


@pytest.mark.parametrize("name", ["mg", "ft", "lu"])
def test_the_number_of_threads_changes_no_result(name: str, build: Path) -> None:
    def printed(threads: int) -> str:
        return run([build / "bin" / f"{name}-host", *SMALL[name][2:], "--threads", str(threads)]).stdout

    assert printed(1) and len({printed(threads) for threads in (1, 2, 5, 16, 40)}) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", SMALL)
def test_results_are_right_on_the_chip_without_fast_forward(
    name: str, protocol: str, rubato_chip: Path, guests: Path, build: Path
) -> None:
    done = on_chip(rubato_chip, guests, name, protocol, "--no-ff")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"{name}: verified"
    if name in ("path", "hmm", "sim"):  # no floating point: the host's line
        assert done.stdout == run([build / "bin" / f"{name}-host", *SMALL[name], "--verify"]).stdout


@pytest.mark.parametrize("name", SMALL)
def test_the_region_is_measured_and_repeatable(name: str, rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        done = on_chip(rubato_chip, guests, name, "flask", "--roi", "@markers", "--set", "coherence.profile=true",
                       "--out", str(folder))  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    one, two = [(folder / "stats.json").read_bytes() for folder in folders]
    assert one == two
    stats = json.loads(one)["run"]
    assert stats["chip.instructions"] > 10_000 and stats["chip.fast_forward.instructions"] > 10_000
    is_shared = name in ("mg", "ft", "lu")
    assert (stats["chip.sharing.active"] > 0) == (stats["chip.sharing.shared_misses"] > 0) == is_shared


@pytest.mark.parametrize(
    ("name", "wrong", "names"),
    [
        ("mg", ["--size", "48"], "'48' is no power of two"),
        ("mg", ["--size", "2"], "--size"),
        ("mg", ["--threads", "0"], "--threads"),
        ("ft", ["--nz", "0"], "--nz"),
        ("ft", ["--nx", "2"], "--nx"),
        ("lu", ["--size", "1000"], "--size"),
        ("lu", ["--work", "-1"], "--work"),
        ("path", ["--side", "3"], "--side"),
        ("path", ["--span", "x"], "--span"),
        ("hmm", ["--positions", "0"], "--positions"),
        ("hmm", ["--length", ""], "--length"),
        ("sim", ["--nodes", "1"], "--nodes"),
        ("sim", ["--iterations", "1"], "--iterations"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(name: str, wrong: list[str], names: str, build: Path) -> None:
    done = run([build / "bin" / f"{name}-host", *wrong])
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith(f"{name}: ") and names in done.stderr


MUTANTS = {
    "mg, no barrier between colours": (
        "mg", "multigrid.cpp", "      }\n    all_.wait();\n  }\n}", "      }\n  }\n  all_.wait();\n}"),
    "mg, wrong neighbour": ("mg", "multigrid.cpp", "relax(0, n - 1, 1)", "relax(0, 1, 1)"),
    "mg, a weight too large": ("mg", "multigrid.cpp", "0.0625 * (", "0.125 * ("),
    "ft, no barrier before the transposition": (
        "ft", "transform.cpp", "box_.z, thread, true);\n  wait();", "box_.z, thread, true);"),
    "ft, wrong root": ("ft", "transform.cpp", "roots_[p *", "roots_[(p + 1) *"),
    "ft, the inverse is none": ("ft", "transform.cpp", "if (inverse) root.im", "if (!inverse && p > p) root.im"),
    "lu, no flag": (
        "lu", "ssor.cpp", "if (thread > 0) wait_until(forwards_", "if (thread > threads_) wait_until(forwards_"),
    "lu, wrong neighbour": (
        "lu", "ssor.cpp", "e.to_neighbour[kSouth], r_[p + row]", "e.to_neighbour[kSouth], r_[p + 1]"),
    "path, estimate too high": ("path", "search.cpp", "return apart(from / side", "return 2 * apart(from / side"),
    "path, no shorter way": (
        "path", "search.cpp", "f.search == search_ && f.distance <= distance", "f.search == search_"),
    "hmm, no way out of a deletion": ("hmm", "viterbi.cpp", "old.deletion + t.delete_match", "kImpossible"),
    "hmm, wrong row": ("hmm", "viterbi.cpp", "old = before_[k + 1]", "old = before_[k]"),
    "sim, lost packet": ("sim", "simulation.cpp", "    ++totals_.dropped;\n", ""),
    "sim, a child is not looked at": ("sim", "event_list.hpp", "child < end; ++child", "child + 1 < end; ++child"),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_put_in_on_purpose_is_found(mutant: str, root: Path, build: Path, tmp_path: Path) -> None:
    name, file, right, wrong = MUTANTS[mutant]
    folder = tmp_path / "workloads" / name
    shutil.copytree(root / "workloads" / name, folder)
    text = (folder / file).read_text()
    assert text.count(right) == 1
    (folder / file).write_text(text.replace(right, wrong))
    # The file with the bug is compiled, or the one that includes it; the others are as they were built.
    changed = "simulation.cpp" if file.endswith(".hpp") else file
    objects = sorted((build / f"workloads/CMakeFiles/{name}-host.dir/{name}").glob("*.o"))
    others = [path for path in objects if path.name != f"{changed}.o"]
    assert len(others) == len(objects) - 1
    others += [build / "workloads/CMakeFiles/workloads_common.dir/common/workload.cpp.o",
               build / "base/librubato_command_line.a"]  # fmt: skip
    program = tmp_path / name
    compiled = run(["g++", "-std=c++20", "-O2", "-pthread", "-I", tmp_path, "-I", root, "-I", root / "include",
                    folder / changed, *others, "-o", program])  # fmt: skip
    assert compiled.returncode == 0, compiled.stderr
    more = {"mg": ["--threads", "8", "--size", "32", "--work", "20"], "ft": ["--threads", "8", "--work", "20"],
            "lu": ["--threads", "8", "--size", "20", "--work", "20"], "path": ["--work", "30"],
            "hmm": ["--length", "200", "--work", "100"], "sim": []}  # fmt: skip
    small = dict(zip(SMALL[name][::2], SMALL[name][1::2], strict=True))
    small |= dict(zip(more[name][::2], more[name][1::2], strict=True))
    done = run([program, *[word for option in small.items() for word in option], "--verify"])
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, (done.returncode, done.stderr)
