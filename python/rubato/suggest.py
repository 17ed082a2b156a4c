"""Near misses: what a user probably meant when a key, application or option does not exist."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], limit: int = 3) -> str:
    """Returns " Did you mean A or B?" (with the leading space), or nothing if nothing is near."""
    near = near_misses(word, known, limit)
    if not near:
        return ""
    return f" Did you mean {' or '.join(near)}?"


def near_misses(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known words nearest to `word`, best first: spelled alike, or with the same last part of a path."""
    known = list(known)
    lowered = {k.lower().lstrip("-"): k for k in known}  # dashes would make all options look alike
    near = difflib.get_close_matches(word.lower().lstrip("-"), lowered, n=limit, cutoff=0.66)
    tail = word.lower().rpartition(".")[2]
    if "." in word or not near:
        near += [k for k in lowered if k.rpartition(".")[2] == tail and "." in k and k not in near]
    return [lowered[k] for k in near[:limit]]
