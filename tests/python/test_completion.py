"""Shells complete applications and their options, modes, keys, chip descriptions and runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import COMMAND, call
from rubato.cli.completion import rejoined


@pytest.fixture
def complete(home, monkeypatch, capsys):
    """The words that complete a command line, as fish gets them; help is left out."""

    def completed(line: str) -> list[str]:
        for name, value in {
            "_RUBATO_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_ARGS": line,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            call()
        printed = capsys.readouterr()
        assert printed.err == ""
        return [found.partition("\t")[0] for found in printed.out.splitlines() if found]

    return completed


@pytest.mark.parametrize(
    "line, words",
    [
        ("rubato run ss", ["sssp"]),
        ("rubato apps ", ["sssp"]),
        ("rubato run --mode ", ["spec", "nonspec", "mayspec"]),
        ("rubato run sssp --mode n", ["nonspec"]),
        ("rubato run sssp --mode=n", ["--mode=nonspec"]),
        ("rubato run sssp --set=task.mayspec=s", ["--set=task.mayspec=spec"]),
        ("rubato run sssp --engine ser", ["serial"]),
        ("rubato run sssp --alloc i", ["ideal"]),
        ("rubato run sssp --config sm", ["small"]),
        ("rubato config check s", ["small"]),
        ("rubato config explain l2.", ["l2.size", "l2.latency"]),
        ("rubato run sssp --set l2.s", ["l2.size=262144"]),
        ("rubato config show --set task.mayspec=n", ["task.mayspec=nonspec"]),
        ("rubato run sssp --set net.contention=", ["net.contention=true", "net.contention=false"]),
        ("rubato sweep --program s", ["sssp"]),
        ("rubato sweep --program sssp,", []),
        ("rubato sweep --mode spec,", ["spec,nonspec", "spec,mayspec"]),
        ("rubato sweep --config sm", ["small"]),
        ("rubato sweep --set net.contention=true,", ["net.contention=true,false"]),
        ("rubato tm run --method norec", ["norec"]),
        ("rubato run sssp --gr", ["--graph"]),
        ("rubato sweep --program sssp --sour", ["--source"]),
        ("rubato run sssp -- --s", ["--source"]),
        ("rubato run sssp -- --graph ", []),
    ],
)
def test_names_are_completed(complete, line, words):
    assert complete(line) == words


def test_our_options_and_the_applications_are_offered_before_the_dashes_only(complete):
    assert {"--cores", "--source"} <= set(complete("rubato run sssp --"))
    assert complete("rubato run sssp -- --") == ["--graph", "--source", "--verify", "--type"]
    assert "--source" not in complete("rubato run other --")


@pytest.mark.parametrize("command", ["report", "export", "repeat", "compare"])
def test_runs_and_sweeps_are_completed(complete, command):
    for file in ("runs/sssp-4/summary.json", "runs/sssp-16/incomplete", "study/sweep.json", "other/notes.txt"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text("{}")
    assert complete(f"rubato {command} ") == ["study", "runs/sssp-16", "runs/sssp-4"]
    assert complete(f"rubato {command} runs/sssp-1") == ["runs/sssp-16"]
    assert complete(f"rubato {command} {Path.cwd()}/st") == [f"{Path.cwd()}/study"]
    assert complete(f"rubato {command} nowhere/") == []


def test_the_second_of_two_runs_is_completed(complete):
    for name in ("a", "b"):
        Path(name).mkdir()
        (Path(name) / "summary.json").write_text("{}")
    assert complete("rubato compare a ") == ["a", "b"]


def test_a_completion_is_silent_without_a_simulator_or_with_a_wrong_application(complete, own_home, monkeypatch):
    monkeypatch.setenv("RUBATO_HOME", str(own_home))
    (own_home / "bin/rubato-chip").unlink()
    (own_home / "apps/sssp/app.toml").write_text("name = 1\n")
    for line in ("run sssp --set l2.", "run s", "run sssp --set l2.size=", "run sssp -- --", "config explain l2"):
        assert complete(f"rubato {line}") == []


def test_every_line_is_a_word_however_long_the_help(home):
    environment = os.environ | {
        "_RUBATO_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": "rubato run sssp --", "COLUMNS": "40",
    }  # fmt: skip
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) > 80 and all(line.startswith("--") for line in lines), done.stdout


@pytest.mark.parametrize(
    "words, current, joined, where",
    [
        (["rubato", "run", "a"], 2, ["rubato", "run", "a"], 2),
        (["rubato", "--set", "l2.size", "="], 3, ["rubato", "--set", "l2.size="], 2),
        (["rubato", "--set", "l2.size", "=", "1", "x"], 5, ["rubato", "--set", "l2.size=1", "x"], 3),
        (["rubato", "--set", "=", "a", "=", "b"], 5, ["rubato", "--set=a=b"], 1),
    ],
)
def test_words_that_bash_splits_are_joined(words, current, joined, where):
    assert rejoined(words, current) == (joined, where)


def test_zsh_gets_whole_words_too(home):
    def answer(line: str) -> str:
        environment = os.environ | {"_RUBATO_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
        return subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True).stdout

    assert answer("rubato run sssp --mode=").strip() == (
        """_arguments '*: :(("--mode=spec"\n"--mode=nonspec"\n"--mode=mayspec"))'""")
    assert '(("l2.size=262144":"Size of a tile' in answer("rubato run sssp --set l2.s")
    assert answer("rubato run sssp --out=x").strip() == "_files"


#: Words as bash has them (it splits at `=`), and what replaces the last.
BASH = {
    "rubato run ss": ["sssp"],
    "rubato run sssp --set task.mayspec = n": ["nonspec"],
    "rubato run sssp --set task.mayspec =": ["mayspec", "spec", "nonspec"],
    "rubato run sssp --set l2.s": ["l2.size=262144"],
    "rubato run sssp --mode = n": ["nonspec"],
    "rubato run sssp -- --gr": ["--graph"],
    "rubato run --set = net.contention = t": ["true"],
}


def test_bash_completes_by_the_function_that_it_is_given(home, tmp_path):
    command = tmp_path / "rubato"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from rubato.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    function = subprocess.run([command], env=os.environ | {"_RUBATO_COMPLETE": "source_bash"}, capture_output=True,
                              text=True, check=True).stdout  # fmt: skip
    script = function + "".join(
        f"\nCOMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; _rubato_completion {command}\n"
        f'printf "%s\\n" "{line}:" "${{COMPREPLY[@]}}" ""\n'
        for line in BASH
    )
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
    answers = [block.splitlines() for block in done.stdout.split("\n\n") if block]
    assert {first.removesuffix(":"): words for first, *words in answers} == BASH
