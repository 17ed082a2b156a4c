"""`rubato --help` is text, and says what the parser knows."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys

import typer

import rubato
from rubato.cli import first_page, load
from rubato.cli.app import app


def test_the_page_has_the_commands_and_options_of_the_parser() -> None:
    load([])
    group = typer.main.get_command(app)
    known = {name: command.get_short_help_str(1000) for name, command in group.commands.items()}
    assert {name: " ".join(text.split()) for name, text in known.items()} == first_page.COMMANDS
    options = {", ".join(sorted(o.opts, key=len)): o.help for o in group.params}
    assert {name: text for name, text in first_page.OPTIONS.items() if name != "-h, --help"} == options


def test_lines_are_no_longer_than_the_terminal_but_for_commands() -> None:
    for width in (60, 80, 120):
        page = first_page.text(width).replace(first_page.EXAMPLES, "")
        assert max(map(len, page.splitlines())) <= width
        for name, text in first_page.COMMANDS.items():
            assert f"\n  {name} " in page
            assert text in " ".join(page.split())


def test_it_imports_neither_the_parser_nor_the_commands() -> None:
    code = "import sys; from rubato.cli import first_page; first_page.show(); print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    modules = loaded.splitlines()[-1].split()
    for heavy in ("typer", "rich", "pydantic", "rubato.home.apps", "polars", "asyncio"):
        assert not [m for m in modules if m == heavy or m.startswith(f"{heavy}.")]


def test_the_version_needs_neither_the_parser_nor_the_commands() -> None:
    code = """
import os, sys
os._exit = lambda code: print(code, *sorted(sys.modules)) or sys.exit(code)
from rubato.cli import main
main(["--version"])
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    version, modules = printed.splitlines()
    assert version == f"rubato {rubato.__version__}"
    assert modules.startswith("0 ") and not {"typer", "rich", "pydantic", "polars"} & set(modules.split())


def test_the_command_shows_it() -> None:
    for flag in ("--help", "-h"):
        command = [sys.executable, "-m", "rubato", flag]
        done = subprocess.run(command, env=os.environ | {"COLUMNS": "90"}, capture_output=True, text=True, check=True)
        assert done.stdout == first_page.text(90)
    with_pipe = f"{sys.executable} -m rubato --help | head -1"
    done = subprocess.run(["bash", "-c", with_pipe], capture_output=True, text=True, check=True)
    assert done.stdout == "Usage: rubato [OPTIONS] COMMAND [ARGS]...\n"
    assert done.stderr == ""
