"""Completion of names on the command line: applications and their options, modes, keys, chip descriptions, runs.

The parser completes commands and options, and calls these functions for values. A function returns the words that may
stand there, each with a line of help or without. A shell offers files where a function returns nothing.

Words are completed while a user types: whatever is wrong, a completion is silent.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rubato.errors import RubatoError

#: The variable by which a shell asks for completions; its value is `complete_SHELL`.
VARIABLE = "_RUBATO_COMPLETE"
#: Files that make a folder a run or a sweep.
_OF_RESULTS = ("summary.json", "run.toml", "incomplete", "sweep.json")


def _silent(completer: Callable[[str], Iterable[Any]]) -> Callable[..., list[Any]]:
    """`completer` as the parser calls it: a list, which is empty if something is wrong."""

    @functools.wraps(completer)
    def complete(incomplete: str) -> list[Any]:
        try:
            return list(completer(incomplete))
        except (RubatoError, OSError, ValueError):
            return []

    return complete


def several(completer: Callable[[str], list[Any]]) -> Callable[[str], list[Any]]:
    """A completer of comma lists: completes the last word, by one that is not in the list yet."""

    @_silent
    def complete(incomplete: str) -> Iterator[Any]:
        before, comma, last = incomplete.rpartition(",")
        for found in completer(last):
            word, *help = (found,) if isinstance(found, str) else found
            if word not in before.split(","):
                yield (before + comma + word, *help) if help else before + comma + word

    return complete


def one_of(words: Iterable[str]) -> Callable[[str], list[Any]]:
    @_silent
    def complete(incomplete: str) -> Iterable[str]:
        return words

    return complete


@_silent
def applications(incomplete: str) -> Iterator[Any]:
    from rubato.home import apps

    return ((app.name, app.summary) for app in apps.all_apps().values())


@_silent
def configurations(incomplete: str) -> Iterator[str]:
    """Names of the chip descriptions that are shipped."""
    from rubato.home import locate

    return iter(locate.shipped_configs())


@_silent
def keys(incomplete: str) -> Iterator[Any]:
    from rubato.home import schema

    return ((key.key, key.description) for key in schema.keys().values())


@_silent
def settings(incomplete: str) -> Iterator[Any]:
    """KEY=VALUE: every key with its default, to be edited; behind the `=`, the values that there are to choose from."""
    from rubato import toml
    from rubato.home import schema

    name, equals, _ = incomplete.partition("=")
    if not equals:
        for key in schema.keys().values():
            yield f"{key.key}={toml.text(key.default)}", key.description
        return
    key = schema.key(name)
    choices = [True, False] if key.type in ("boolean", "bool") else key.choices or [key.default]
    yield from (f"{name}={toml.text(value)}" for value in choices)


@_silent
def swept_settings(incomplete: str) -> Iterator[Any]:
    """KEY=V,V."""
    name, equals, values = incomplete.partition("=")
    if not equals:
        return iter(settings(incomplete))
    known = (setting.partition("=")[2] for setting in settings(f"{name}="))
    return (f"{name}={words}" for words in several(one_of(list(known)))(values))


@_silent
def results(incomplete: str) -> Iterator[str]:
    """Runs and sweeps: here, in the folder that the word names, and in `runs`, where commands put them."""
    named = incomplete.rpartition("/")[0]
    folders = [named or "/"] if "/" in incomplete else [".", "runs"]
    for folder in folders:
        for path in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else []:
            if any((path / name).exists() for name in _OF_RESULTS):
                yield path.name if folder == "." else os.path.join(folder, path.name)


def of_option(name: str) -> Callable[[str], list[Any]] | None:
    """The completer of an option that `rubato run` and `rubato sweep` have in common."""
    from rubato.running.spec import ALLOCATORS, ENGINES, MODES

    known = {
        "alloc": one_of(ALLOCATORS), "config": configurations, "engine": one_of(ENGINES), "mode": one_of(MODES),
        "set": settings,
    }  # fmt: skip
    return known.get(name)


def program_options(programs: Iterable[str], incomplete: str) -> list[tuple[str, str]]:
    """The options of those of `programs` that are applications, if the word begins like one."""
    if not incomplete.startswith("-"):
        return []  # it may be a file, the value of an option
    from rubato.home import apps

    found: dict[str, str] = {}
    with contextlib.suppress(RubatoError, OSError):
        known = apps.all_apps()
        for app in (known[program] for program in programs if program in known):
            found |= {option.name: option.help for option in app.options}
            found |= {name: "" for name in app.option_names() if name not in found}
    return [(name, help) for name, help in found.items() if name.startswith(incomplete)]


def is_behind_dashes() -> bool:
    """Whether the word that is completed stands behind `--`."""
    return "--" in _words()[:-1]


def _words() -> list[str]:
    """The words of the command line up to the cursor, as far as the shell's variables tell them."""
    if "COMP_WORDS" in os.environ:
        return os.environ["COMP_WORDS"].split("\n")[: int(os.environ.get("COMP_CWORD", "0")) + 1]
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return [*line.split(), ""] if line.endswith(" ") else line.split()


def rejoined(words: list[str], current: int) -> tuple[list[str], int]:
    """Bash splits words at `=`. @returns them as they were typed, and the index of the one at the cursor."""
    joined: list[str] = []
    where = 0
    for index, word in enumerate(words):
        is_rest = word == "=" or (index > 0 and words[index - 1] == "=")
        if is_rest and joined:
            joined[-1] += word
        else:
            joined.append(word)
        if index == current:
            where = len(joined) - 1
    return joined, where


def answer(argv: list[str]) -> int:
    """What the shell asked for, on standard output."""
    os.environ["COLUMNS"] = "1000"  # the parser would break lines of help, and shells take each line for a word
    from rubato.cli import app, load

    words = _words()
    load(words[1:2] if len(words) > 2 else [])  # of the other commands nothing is asked
    if os.environ[VARIABLE] in ("complete_fish", "complete_zsh"):
        return _answer_with_options(argv)
    if os.environ[VARIABLE] != "complete_bash" or "COMP_WORDS" not in os.environ:
        return app.call(argv)
    split, current = os.environ["COMP_WORDS"].split("\n"), int(os.environ.get("COMP_CWORD", "0"))
    joined, where = rejoined(split, current)
    os.environ |= {"COMP_WORDS": "\n".join(joined), "COMP_CWORD": str(where)}
    typed = "".join(joined[where : where + 1])
    value = typed.partition("=")[2] if typed.startswith("-") else typed  # the parser leaves out `--OPTION=` itself
    present = value[: value.rfind("=") + 1] if joined != split else ""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            return app.call(argv)
    finally:
        # Bash replaces only what stands behind the last `=`.
        sys.stdout.write("".join(line.removeprefix(present) + "\n" for line in text.getvalue().splitlines()))
        sys.stdout.flush()


def _answer_with_options(argv: list[str]) -> int:
    """The answer for shells that replace the whole word: for `--mode=no` the parser gives `nonspec` alone."""
    from rubato.cli import app

    typed = _words()[-1] if _words() else ""
    option = typed[: typed.find("=") + 1] if typed.startswith("--") and not is_behind_dashes() else ""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            return app.call(argv)
    finally:
        sys.stdout.write(with_option(option, text.getvalue(), os.environ[VARIABLE]))
        sys.stdout.flush()


def with_option(option: str, answer: str, shell: str) -> str:
    """The parser's answer with `option` before each word. The answer for fish has a word a line, the one for zsh is a
    call of `_arguments` with words in quotes, one a line."""
    if not option:
        return answer
    begin = r'(?m)^(?=.)' if shell == "complete_fish" else r'(?m)(?:(?<=\(\()|^)"(?=.)'
    return re.sub(begin, option if shell == "complete_fish" else f'"{option}', answer)
