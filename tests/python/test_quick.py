"""`rubato run` reads its usual command lines without the parser's libraries, and exactly as the parser does."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
import subprocess
import sys
import typing

import pytest

from helpers import call
from rubato.cli import load, quick
from rubato.cli.options import FLAG, LIST, NUMBER, OF_RUN, WORD

ATOMS = [
    "sssp", "--cores", "4", "16", "--cores=8", "--seed", "-3", "--seed=x", "--out", "o", "--out=a=b", "--set",
    "l2.size=1", "--set=net.contention=true", "--env", "A=1", "--force", "--force=1", "--json", "--trace", "--no-ff",
    "--generate", "road:10x10", "--graph=x", "-x", "-h", "--help", "--timeout", "90s", "", "-", "é", "--", "--series",
    "--max-cycles", "1_000", "007", "--engine", "native",
]  # fmt: skip


@pytest.fixture
def parser(monkeypatch):
    """The parser's result for a command line: the arguments of start(), or nothing."""
    load(["run"])
    from rubato.cli import app, run_command

    lists_of_run = [one.name for one in OF_RUN if one.kind == LIST]
    found: list[tuple] = []
    monkeypatch.setattr(run_command, "start", lambda *given: found.append(given[:4]) or 0)

    def parse(argv: list[str]) -> tuple | None:
        found.clear()
        app.call(argv)
        if not found:
            return None
        program, words, behind, options = found[0]
        lists = {name: list(options[name] or []) or None for name in lists_of_run}  # typers differ in the empty one
        return program, words, behind, {**options, **lists}

    return parse


def test_the_table_is_what_the_parser_knows():
    load(["run"])
    import typer

    from rubato.cli import app
    from rubato.cli.run_command import run_command

    (command,) = (c for name, c in typer.main.get_command(app.app).commands.items() if name == "run")
    options = {p.name: p for p in command.params if p.opts[0].startswith("--") and p.name != "help"}
    assert {o for p in options.values() for o in p.opts} == {one.flag for one in OF_RUN}
    hints = typing.get_type_hints(run_command, include_extras=False)
    kinds = {bool: FLAG, int | None: NUMBER, str | None: WORD, str: WORD, list[str] | None: LIST}
    for one in OF_RUN:
        assert kinds[hints[options[one.name].name]] == one.kind, one.flag


def test_what_it_reads_the_parser_reads_alike(parser, home, capsys):
    rng, read = random.Random(3), 0
    for _ in range(1500):
        argv = ["run", *rng.choices(ATOMS, k=rng.randint(0, 6))]
        if (quickly := quick.parsed(argv)) is not None:
            read += 1
            assert quickly == parser(argv), argv
    assert read > 200
    capsys.readouterr()


@pytest.mark.parametrize(
    "words",
    [["sssp", "--cores", "many"], ["--cores", "4", "-x"], ["--bogus", "sssp"], ["sssp", "-h"], ["sssp", "--seed"]],
)
def test_what_it_does_not_understand_is_the_parsers(words):
    assert quick.parsed(["run", *words]) is None and quick.parsed(["sweep", "sssp"]) is None


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["sssp", "--core", "4"], "neither rubato run nor sssp has an option --core. Did you mean --cores"),
        ([], "which program? `rubato apps` lists the applications; see `rubato run --help`."),
        (["ssp"], "there is no application and no file ssp. Did you mean sssp?"),
    ],
)
def test_errors_are_the_same_sentences(home, capsys, words, sentence):
    assert call("run", *words) == 2
    assert sentence in capsys.readouterr().err


#: Lists the modules that are loaded when the program is started, and ends.
SPY = """
import os, sys
from rubato.process import child
def spy(*_, **__):
    os.write(1, "\\n".join(sys.modules).encode())
    os._exit(0)
child.supervise = spy
from rubato.cli import main
main()
"""


def test_the_program_starts_before_libraries_that_take_time_are_loaded(home):
    command = [sys.executable, "-c", SPY, "run", "sssp", "--cores", "4", "--", "--generate", "road:10x10"]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "rubato.running.chip" in loaded
    slow = {"typer", "click", "pydantic", "rich", "polars"}
    assert not loaded & (slow | {"rubato.results.summary", "rubato.cli.terminal"})
