"""Programs side by side print what each prints alone, and share nothing but time (K80 to K82)."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rubato
from rubato import report
from rubato.errors import UsageError
from rubato.results import export
from rubato.running.repeat import recorded

PROTOCOLS = ["mesi", "late", "sparse", "tokenb", "mosaic", "flask"]
# Caches and directories so small that programs evict each other's lines all the time.
SCARCE = ["l1i.size=1KiB", "l1i.ways=2", "l1d.size=1KiB", "l1d.ways=2", "l2.size=4KiB", "l2.ways=4",
          "llc.size=4KiB", "llc.ways=4", "coherence.capacity=1", "coherence.ways=4", "coherence.directory_ways=2",
          "coherence.check=true"]  # fmt: skip

FOUR_SETS = ["chip.cores=4", "l1i.size=512", "l1i.ways=2", "l1d.size=512", "l1d.ways=2", "l2.size=1KiB", "l2.ways=4",
             "llc.size=1KiB", "llc.ways=4"]  # fmt: skip


def settings_of(settings: list[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def entry(path: Path, cores: str, **more: Any) -> str:
    fields = {"path": str(path), "cores": cores, **more}
    return "[[program]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


class Mixes:
    """Runs mixes, each in a folder of its own."""

    def __init__(self, rubato_chip: Path, folder: Path) -> None:
        self.rubato_chip, self.folder, self.count = rubato_chip, folder, 0

    def run(
        self, entries: list[str], settings: list[str], options: list[str] | None = None
    ) -> tuple[subprocess.CompletedProcess[str], Path]:
        self.count += 1
        file, out = self.folder / f"mix-{self.count}.toml", self.folder / f"out-{self.count}"
        file.write_text("".join(entries))
        command = [self.rubato_chip, *settings_of(settings), *(options or []), "--out", out, "--programs", file]
        return subprocess.run(command, capture_output=True, text=True, check=False), out

    def alone(self, program: Path, cores: int, text: str = "", arguments: list[str] | None = None) -> str:
        command = [self.rubato_chip, *settings_of([f"chip.cores={cores}", "chip.cores_per_tile=1"]), "--quiet"]
        done = subprocess.run(
            [*command, program, *(arguments or [])], input=text, capture_output=True, text=True, check=False
        )
        return done.stdout


@pytest.fixture
def mixes(rubato_chip: Path, tmp_path: Path) -> Mixes:
    return Mixes(rubato_chip, tmp_path)


@pytest.fixture
def numbers(tmp_path: Path) -> list[Path]:
    files = [tmp_path / f"number-{i}.txt" for i in range(4)]
    for i, file in enumerate(files):
        file.write_text(f"{1000 + i}\n")
    return files


def outputs(out: Path, count: int) -> list[str]:
    return [(out / ("output.txt" if i == 0 else f"output-{i + 1}.txt")).read_text() for i in range(count)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("program", ["openmp", "pthreads", "reservations"])
def test_two_copies_print_what_one_alone_prints(program: str, protocol: str, guests: Path, mixes: Mixes) -> None:
    alone = mixes.alone(guests / program, 4)
    chip = ["chip.cores=8", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", "coherence.check=true"]
    done, out = mixes.run([entry(guests / program, "0-7", copies=2)], chip)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == alone, "the first one's goes to the terminal"
    assert outputs(out, 2) == [alone, alone]
    programs = json.loads((out / "summary.json").read_text())["programs"]
    assert [p["cores"] for p in programs] == ["0-3", "4-7"]
    assert all(p["instructions"] > 1000 and p["cycles"] > 1000 for p in programs)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_different_programs_print_what_each_prints_alone(
    protocol: str, guests: Path, mixes: Mixes, numbers: list[Path]
) -> None:
    """Everything in detail; one has nothing to read; cores 7 to 8 have none."""
    names = ["pthreads", "exceptions", "affinity", "own_values"]
    alone = [mixes.alone(guests / name, 2 if i % 3 == 0 else 1, "1002\n") for i, name in enumerate(names)]
    chip = ["chip.cores=9", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", *SCARCE]
    done, out = mixes.run(
        [
            entry(guests / "pthreads", "0-1"),
            entry(guests / "exceptions", "4"),
            entry(guests / "affinity", "6"),
            entry(guests / "own_values", "2-3", stdin=str(numbers[2])),
        ],
        chip,
        ["--no-ff"],
    )
    assert done.returncode == 1, "exceptions exits with 3"
    assert "program 2 (exceptions): the program exited with status 3" in done.stderr
    assert outputs(out, 4) == alone


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("scarce", [False, True])
def test_values_at_the_same_addresses_are_each_programs_own(
    protocol: str, scarce: bool, guests: Path, mixes: Mixes, numbers: list[Path]
) -> None:
    chip = ["chip.cores=8", "chip.cores_per_tile=2", f"coherence.protocol={protocol}", *(SCARCE if scarce else [])]
    own = guests / "own_values"
    done, out = mixes.run([entry(own, f"{2 * i}-{2 * i + 1}", stdin=str(numbers[i])) for i in range(4)], chip)
    assert done.returncode == 0, done.stderr[-2000:]
    sums = [(1000 + i) * 2 * 6 * (8192 // 64) for i in range(4)]
    assert outputs(out, 4) == [f"number {1000 + i}: sum {sums[i]}, 0 wrong\ncheck: passed\n" for i in range(4)]
    # A tile a program: whatever one tile has of another is a line of another program.
    stats = json.loads((out / "stats.json").read_text())["run"]
    assert sum(value for name, value in stats.items() if name.endswith(".l2.forwards")) == 0
    assert (
        stats["program.4.instructions"] == json.loads((out / "summary.json").read_text())["programs"][3]["instructions"]
    )


@pytest.mark.parametrize("protocol", ["mesi", "flask"])
def test_the_same_mix_gives_the_same_bytes(protocol: str, guests: Path, mixes: Mixes) -> None:
    entries = [entry(guests / "openmp", "0-3"), entry(guests / "threads", "4-7")]
    chip = ["chip.cores=8", "chip.cores_per_tile=1", f"coherence.protocol={protocol}"]
    first, second = (mixes.run(entries, chip)[1] for _ in range(2))
    assert (first / "stats.json").read_bytes() == (second / "stats.json").read_bytes()
    assert outputs(first, 2) == outputs(second, 2)


def test_a_runs_manifest_repeats_it(guests: Path, mixes: Mixes, numbers: list[Path]) -> None:
    chip = ["chip.cores=4", "chip.cores_per_tile=1"]
    entries = [entry(guests / "own_values", "2-3", stdin=str(numbers[1])), entry(guests / "affinity", "0")]
    out = mixes.run(entries, chip)[1]
    again = mixes.folder / "again"
    manifest = out / "run.toml"
    command = [mixes.rubato_chip, "--config", manifest, "--out", again, "--programs", manifest]
    subprocess.run(command, check=True, capture_output=True)
    assert (again / "stats.json").read_bytes() == (out / "stats.json").read_bytes()
    with pytest.raises(UsageError, match="ran several programs: repeat it with `rubato-chip --config"):
        recorded(out)


def test_each_program_counts_to_its_own_end(guests: Path, mixes: Mixes, numbers: list[Path]) -> None:
    """The first ends long before the second; the run's time is the mean of both."""
    chip = ["chip.cores=4", "chip.cores_per_tile=1"]
    done, out = mixes.run(
        [
            entry(guests / "own_values", "0-1", stdin=str(numbers[0])),
            entry(guests / "own_values", "2-3", stdin=str(numbers[1]), arguments=["exit"]),
        ],  # fmt: skip
        chip,
        ["--no-ff"],
    )
    assert done.returncode == 1, "the worse of 0 and 7's"
    assert "program 2 (own_values): the program exited with status 7" in done.stderr
    summary = json.loads((out / "summary.json").read_text())
    first, second = summary["programs"]
    assert (first["exit_code"], second["exit_code"], second["guest_status"]) == (0, 1, 7)
    assert first["check"] == "passed"
    assert second["cycles"] * 3 < first["cycles"] == summary["cycles"]
    assert summary["mean_program_cycles"] == pytest.approx((first["cycles"] + second["cycles"]) / 2)
    stats = json.loads((out / "stats.json").read_text())["run"]
    assert (stats["program.1.cycles"], stats["program.2.cycles"]) == (first["cycles"], second["cycles"])
    assert stats["program.1.instructions"] + stats["program.2.instructions"] == stats["chip.instructions"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_use_of_caches_and_memory_is_counted_by_program(
    protocol: str, guests: Path, mixes: Mixes, numbers: list[Path]
) -> None:
    """Both are in detail to the end of the run, so their counts add up to those of the chip."""
    own = guests / "own_values"
    chip = ["chip.cores=4", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", *SCARCE]
    entries = [entry(own, f"{2 * i}-{2 * i + 1}", stdin=str(numbers[i])) for i in range(2)]
    done, out = mixes.run(entries, [*chip, "run.max_cycles=60000"], ["--no-ff", "--json"])
    assert done.returncode == 4, "neither has come to its end"
    stats = json.loads((out / "stats.json").read_text())["roi"]
    parts = json.loads((out / "summary.json").read_text())["programs"]
    for cache, counter in (("l2", "misses"), ("llc", "hits"), ("llc", "misses"), ("llc", "evictions")):
        of_tiles = sum(stats[f"tile.{tile}.{cache}.{counter}"] for tile in range(4))
        of_programs = [part["caches"][cache][counter] for part in parts]
        assert sum(of_programs) == of_tiles > 0, (cache, counter)
        assert of_programs == [stats[f"program.{i}.{cache}.{counter}"] for i in (1, 2)]
    for counter in ("reads", "writes"):
        of_memory = sum(n for name, n in stats.items() if name.startswith("mem.") and name.endswith(counter))
        assert sum(part["caches"]["mem"][counter] for part in parts) == of_memory > 0, counter
    assert all(part["caches"]["llc"]["displaced"] > 0 for part in parts), "they share slices of 16 sets"
    assert all(0 < part["caches"]["llc"]["lines"] < 4 * 64 for part in parts)


def test_use_of_caches_is_in_exports_and_reports(guests: Path, mixes: Mixes, numbers: list[Path]) -> None:
    chip = ["chip.cores=4", "chip.cores_per_tile=1"]
    own = guests / "own_values"
    out = mixes.run([entry(own, f"{2 * i}-{2 * i + 1}", stdin=str(numbers[i])) for i in range(2)], chip)[1]
    run = rubato.load(out)
    second = run.summary.programs[1]
    assert second.caches is not None
    row = export.runs([run]).row(0, named=True)
    assert row["programs.2.caches.llc.misses"] == second.caches.llc.misses > 0
    assert row["programs.1.caches.mem.reads"] == run.stats["program.1.mem.reads"]
    page = mixes.folder / "report.html"
    report.write([out], page)
    assert f"<td class=n>{second.caches.llc.misses:,}</td>" in page.read_text()
    assert "Programs on one chip" in page.read_text()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_fault_ends_its_program_only(protocol: str, guests: Path, mixes: Mixes, numbers: list[Path]) -> None:
    chip = ["chip.cores=4", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", "coherence.check=true"]
    done, out = mixes.run(
        [
            entry(guests / "own_values", "0-1", stdin=str(numbers[0]), arguments=["fault"]),
            entry(guests / "own_values", "2-3", stdin=str(numbers[1])),
        ],  # fmt: skip
        chip,
    )
    assert done.returncode == 3
    assert "program 1 (own_values): " in done.stderr
    assert outputs(out, 2) == ["", mixes.alone(guests / "own_values", 2, "1001\n")]


def test_a_failed_check_of_any_program_is_the_runs(guests: Path, mixes: Mixes) -> None:
    done, _ = mixes.run(
        [entry(guests / "own_values", "0"), entry(guests / "own_values", "1", arguments=["fail"])],
        ["chip.cores=2", "chip.cores_per_tile=1"],
    )
    assert done.returncode == 1
    assert "program 2 (own_values): its own check failed" in done.stderr


def test_whoever_waits_for_ever_is_named_and_the_others_end(guests: Path, mixes: Mixes) -> None:
    done, out = mixes.run(
        [entry(guests / "exceptions", "0"), entry(guests / "deadlock", "1-2")],
        ["chip.cores=3", "chip.cores_per_tile=1"],
    )
    assert done.returncode == 4
    assert "program 2 (deadlock): nothing can proceed" in done.stderr
    assert outputs(out, 1) == [mixes.alone(guests / "exceptions", 1)]


@pytest.mark.parametrize("protocol", ["mesi", "flask"])
def test_a_run_ends_when_each_program_has_executed_its_instructions(
    protocol: str, guests: Path, mixes: Mixes, numbers: list[Path]
) -> None:
    chip = ["chip.cores=4", "chip.cores_per_tile=1", "run.instructions=50000", f"coherence.protocol={protocol}"]
    done, out = mixes.run(
        [
            entry(guests / "own_values", "0-1", stdin=str(numbers[0])),
            entry(guests / "own_values", "2-3", stdin=str(numbers[1])),
        ],  # fmt: skip
        chip,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for program in json.loads((out / "summary.json").read_text())["programs"]:
        assert 50000 <= program["instructions"] < 50000 + 2 * 1024 * 4, "counted every 1024 cycles"
        assert program["cycles"] % 1024 == 0


def test_run_instructions_end_a_program_alone(guests: Path, mixes: Mixes, tmp_path: Path) -> None:
    command = [mixes.rubato_chip, "--json", "--cores", "4", "--set", "run.instructions=20000", guests / "openmp"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    summary = json.loads(done.stdout)
    assert 20000 <= summary["instructions"] < 20000 + 4 * 1024 * 4
    assert summary["cycles"] < 20000 * 4


@pytest.mark.parametrize("protocol", ["mesi", "sparse"])
def test_each_goes_to_its_own_region(protocol: str, guests: Path, mixes: Mixes, numbers: list[Path]) -> None:
    """The first has a function that it calls once; the second runs main."""
    chip = ["chip.cores=4", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", "run.warm=true"]
    entries = [entry(guests / "own_values", "0-1", stdin=str(numbers[0]), roi="work"), entry(guests / "openmp", "2-3")]
    done, out = mixes.run(entries, chip)
    assert done.returncode == 0, done.stderr[-2000:]
    assert outputs(out, 2) == [mixes.alone(guests / "own_values", 2, "1000\n"), mixes.alone(guests / "openmp", 2)]
    first = json.loads((out / "summary.json").read_text())["programs"][0]
    assert first["fast_forward_instructions"] > 1000


def test_allocators_and_profiles_are_each_programs_own(guests: Path, mixes: Mixes) -> None:
    chip = ["chip.cores=4", "chip.cores_per_tile=2", "run.alloc=ideal", "run.profile_cycles=1000"]
    done, out = mixes.run([entry(guests / "own_values", "0-3", copies=2)], chip)
    assert done.returncode == 0, done.stderr[-2000:]
    alone = mixes.alone(guests / "own_values", 2)
    assert outputs(out, 2) == [alone, alone]


def test_what_cannot_be_is_refused_in_one_sentence(guests: Path, mixes: Mixes, tmp_path: Path) -> None:
    one = entry(guests / "hello", "0")
    chip = ["chip.cores=2", "chip.cores_per_tile=1"]
    for entries, settings, options, sentence in (
        ([one, entry(guests / "sssp", "1")], [], [], "program 2 (sssp) has tasks, which run only where one program "),
        ([one, entry(tmp_path / "none", "1")], [], [], "none"),
        ([one, entry(guests / "hello", "1", stdin="/no/file")], [], [], "/no/file: cannot read this standard input"),
        ([one, entry(guests / "hello", "1", roi="nothing")], [], [], "has no symbol 'nothing'"),
        ([one, entry(guests / "hello", "2")], [], [], "but the chip has cores 0 to 1 (chip.cores)"),
        ([one], [], ["--trace"], "--trace is of one program that has the chip to itself"),
        ([one], [], ["--check-replay"], "--check-replay is of one program"),
        ([one, entry(guests / "hello", "1")], ["run.check_replay=true"], [], "run.check_replay"),
        ([entry(guests / "hello", "0-3", copies=4)], FOUR_SETS, [], "4 programs need more than 4 sets"),
    ):  # fmt: skip
        done, _ = mixes.run(entries, [*chip, *settings], options)
        assert done.returncode == 2, (sentence, done.stderr)
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
    done = subprocess.run(
        [mixes.rubato_chip, "--programs", tmp_path / "mix-1.toml", guests / "hello"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "says what to run; leave out" in done.stderr


def test_a_later_run_leaves_no_output_of_an_earlier_one(guests: Path, mixes: Mixes, rubato_chip: Path) -> None:
    done, out = mixes.run([entry(guests / "hello", "0-1", copies=2)], ["chip.cores=2", "chip.cores_per_tile=1"])
    assert done.returncode == 1, "hello exits with 7"
    assert (out / "output-2.txt").exists()
    subprocess.run([rubato_chip, "--quiet", "--out", out, guests / "affinity"], check=True, capture_output=True)
    assert not (out / "output-2.txt").exists()
