"""Common part of the benchmarks: the ends of a command, with sentence and code, and the table of verdicts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from harness import command, peers, programs, tables
from rubato.errors import UsageError
from rubato.results import measurements
from rubato.results.measurements import Results, Verdict


def test_a_program_that_fails_is_quoted():
    assert programs.output_of(["cat"], text="words") == "words"
    assert programs.output_of(["cat"]) == "", "nothing to read, instead of the terminal"
    with pytest.raises(UsageError, match=r"^row 1: sh -c .* ended with 3: broken$"):
        programs.output_of(["sh", "-c", "echo broken >&2; exit 3"], name="row 1")
    with pytest.raises(UsageError, match=r"^false ended with 1: $"):
        programs.output_of(["false"])


def test_a_program_that_is_not_built_is_named_with_the_remedy(tmp_path: Path):
    programs.require(tmp_path)
    with pytest.raises(UsageError, match=r"/absent does not exist; `make build` builds it.$"):
        programs.require(tmp_path, tmp_path / "absent")


@pytest.mark.parametrize(("program", "target"), [("bin/rubato-chip", "rubato-chip"), ("guest/sssp", "guest_sssp")])
def test_a_program_of_another_build_is_named_with_its_target(program: str, target: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    with pytest.raises(UsageError, match=f"`cmake --build {tmp_path} --target {target}` builds it.$"):
        programs.require(tmp_path / program)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("no such row"), 2, "bench/table: no such row\n"),
        (KeyboardInterrupt(), 130, "bench/table: interrupted; the same command continues (kept).\n"),
    ],
)
def test_what_ends_a_command_is_a_sentence_and_a_code(error: BaseException, code: int, said: str, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/bench/table"])
    with pytest.raises(SystemExit) as ended, command.explained(Path("kept")):
        raise error
    assert ended.value.code == code and capsys.readouterr().err == said


def test_names_are_chosen_from_those_that_are_known(capsys):
    parser = command.parser_of("A table.")
    assert command.chosen(parser, "row", None, ["a", "b"]) == ["a", "b"]
    assert command.chosen(parser, "row", "b", ["a", "b"]) == ["b"]
    with pytest.raises(SystemExit):
        command.chosen(parser, "row", "b,c", ["a", "b"])
    assert "unknown row c; expected a, b" in capsys.readouterr().err
    command.at_least_one(parser, "--rounds", None)
    with pytest.raises(SystemExit):
        command.at_least_one(parser, "--rounds", 0)
    assert "--rounds is at least 1" in capsys.readouterr().err


def test_samples_go_on_only_with_the_same_sizes_on_the_same_machine(tmp_path: Path):
    results = command.opened(tmp_path / "out", "Actors", quick=True)
    results.samples["fib"] = [1.0]
    results.save(tmp_path / "out")
    assert command.opened(tmp_path / "out", "Actors", quick=True).samples == {"fib": [1.0]}
    with pytest.raises(UsageError, match="other sizes or on another machine; choose another --out"):
        command.opened(tmp_path / "out", "Actors", quick=False)
    Results(title="Actors", machine="an abacus", quick=True).save(tmp_path / "out")
    assert measurements.machine() != "an abacus"
    with pytest.raises(UsageError, match="another machine"):
        command.opened(tmp_path / "out", "Actors", quick=True)


def shown(table: object) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=120)
    console.print(table)
    return [line.split("  ") for line in console.file.getvalue().splitlines()]


def test_a_verdict_is_a_line_with_its_bar():
    met = Verdict(name="fib", title="of [all]", unit="×", mean=2, low=1.9, high=2.1, samples=3, bar=1.5)
    missed = Verdict(name="wake", title="most", unit="us", mean=60, low=50, high=70, samples=3, bar=50, at_least=False)
    words = [[word.strip() for word in line if word.strip()] for line in shown(tables.verdict_table([met, missed]))]
    assert words == [
        ["row", "measure", "value", "95 % interval", "bar"],
        ["fib", "of [all]", "2×", "1.9 to 2.1", ">= 1.5", "met"],
        ["wake", "most", "60 us", "50 to 70", "<= 50", "missed"],
    ]
    claims = shown(tables.verdict_table([met], titles=("claim",), value=lambda r: f"{r.mean:.3g}"))
    assert claims[1][0] == "of [all]" and "2×" not in claims[1]


def test_a_peer_is_built_whole_or_not_at_all(tmp_path: Path, monkeypatch):
    """A build that fails after it has made its folder is tried again by the next call."""
    monkeypatch.setattr(peers, "PEERS", tmp_path / "built")
    monkeypatch.setattr(peers, "SOURCES", tmp_path / "sources")
    source = tmp_path / "sources/other/source"
    source.parent.mkdir(parents=True)
    source.write_text("exit 1")
    build = ("sh", "-c", "mkdir '{out}' && cp source '{out}/copy' && echo broken >&2 && sh source")
    peer = peers.Peer("Other", "other", ("sh",), "apt-get install other", build, {"": ("fast",)})
    for _ in range(2):
        with pytest.raises(UsageError, match=r"(?s)^Other: sh -c .* failed: broken$"):
            peer.make()
        assert peer.is_installed() and not peer.program.exists()
    source.write_text("exit 0")
    peer.make()
    built = peer.program / "copy"
    assert built.read_text() == "exit 0"
    built.write_text("kept")
    peer.make()
    assert built.read_text() == "kept", "nothing is newer"
    os.utime(source, (2e9, 2e9))
    peer.make()
    assert built.read_text() == "exit 0"


def test_a_peer_is_built_in_a_folder_of_any_name(tmp_path: Path, monkeypatch):
    """The compilers' stand-ins write down their arguments, and make the folder of mvn's."""
    built, programs, called = tmp_path / "it's $HOME \"tree\"", tmp_path / "programs", tmp_path / "called"
    monkeypatch.setattr(peers, "PEERS", built)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    programs.mkdir()
    for name in ("mvn", "javac", "erlc"):
        (programs / name).write_text(f"""#!/bin/sh
printf '%s\\n' {name} "$@" >> '{called}'
for argument; do case "$argument" in -DoutputDirectory=*) mkdir -p "${{argument#*=}}" ;; esac; done
""")
        (programs / name).chmod(0o755)
    for letter in "PE":
        peers.ALL_PEERS[letter].make()
        assert peers.ALL_PEERS[letter].program.is_dir()
    part = built / "pekko.part"
    assert called.read_text().splitlines() == [
        "mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={part}/lib",
        "javac", "-cp", f"{part}/lib/*", "-d", str(part), "Savina.java",
        "erlc", "-Werror", "-o", f"{built}/erlang.part", "savina.erl"]  # fmt: skip


def test_a_command_of_a_peer_names_its_program_or_a_place_for_it():
    peer = peers.ALL_PEERS["P"]
    assert peer.filled(["{out}/lib"]) == [f"{peers.PEERS / 'pekko'}/lib"]
    assert peer.filled(["{out}/lib"], "{root}/x") == ["{root}/x/lib"]
