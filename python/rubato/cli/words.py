"""Words of a command line that no option of ours is: the program's, unless they look like a slip."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

from rubato.errors import UsageError
from rubato.home import apps
from rubato.suggest import did_you_mean, near_misses


def no_such_option(command: str, ours: Iterable[str], word: str, program: str) -> UsageError:
    """For an option that stands before `program`, which might have it."""
    hint = did_you_mean(word, ours) or f" Options of the program follow {program}, or `--` at the end."
    return UsageError(f"{command} has no option {word}.{hint}")


def foreign_words(command: str, ours: Iterable[str], words: list[str], programs: list[str]) -> list[str]:
    """What the parser did not know and stood before `--`. @raises UsageError if it is near an option of somebody."""
    known = apps.all_apps()
    theirs = [name for program in programs if program in known for name in known[program].option_names()]
    for word in words:
        flag = word.partition("=")[0]
        if not flag.startswith("--") or flag in theirs:
            continue
        if near := near_misses(flag, [*(o for o in ours if o.startswith("--")), *theirs]):
            raise UsageError(
                f"neither {command} nor {' nor '.join(programs) or 'the program'} has an option {flag}. "
                f"Did you mean {' or '.join(near)}? (Options of the program can always follow `--`.)"
            )
    return list(words)
