"""The environment variables of librubato_itm, which ignores a value that it does not understand (T50)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping

from rubato.errors import UsageError
from rubato.tm import managers
from rubato.tm.methods import ALGORITHMS, METHODS

_POWERS = {
    "RUBATO_ITM_ORECS": (1 << 10, 1 << 22),
    "RUBATO_ITM_STRIPE": (16, 256),
}
_WORDS = {
    "RUBATO_ITM_METHOD": (
        f"adaptive(-all)?(:{managers.NUMBER})?|{'|'.join(ALGORITHMS)}",
        f"{', '.join(METHODS[:-1])} or {METHODS[-1]}",
    ),
    "RUBATO_ITM_MANAGER": (managers.PATTERN, managers.EXPECTED),
    "RUBATO_ITM_PRIVATIZATION": ("quiesce|values", "quiesce or values"),
    "RUBATO_ITM_CLOCK": ("counter|deferred", "counter or deferred"),
    "RUBATO_ITM_STACKS": ("[1-9][0-9]*", "a number from 1"),
}


_NAMES = ("METHOD", "MANAGER", "PRIVATIZATION", "ORECS", "STRIPE", "CLOCK", "STATS", "PROFILE", "STACKS")


def refuse_wrong(environment: Mapping[str, str]) -> None:
    """@raises UsageError for the first variable whose value the library would ignore."""
    for name in sorted(environment):
        if name.startswith("RUBATO_ITM_") and name.removeprefix("RUBATO_ITM_") not in _NAMES:
            known = ", ".join(f"_{one}" for one in _NAMES[1:-1])
            raise UsageError(f"{name} is no setting; there are RUBATO_ITM_METHOD, {known} and _{_NAMES[-1]}.")
    for name, (pattern, expected) in _WORDS.items():
        value = environment.get(name, "")
        if value and re.fullmatch(pattern, value) is None:
            raise UsageError(f"{name} is {value!r}, expected {expected}.")
    for name, (least, most) in _POWERS.items():
        value = environment.get(name, "")
        if value and not _is_power(value, least, most):
            raise UsageError(f"{name} is {value!r}, expected a power of two from {least} to {most}.")


def _is_power(value: str, least: int, most: int) -> bool:
    if re.fullmatch("[1-9][0-9]{0,6}", value) is None:
        return False
    number = int(value)
    return least <= number <= most and number & (number - 1) == 0
