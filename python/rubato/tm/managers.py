"""The managers of conflicts of librubato_itm by name. `tests/python/test_tm_methods.py` compares them with the
library's own list, `tm/thread/manager_list.hpp`, which an installed package does not have.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re

#: Each with the losses after which it acts if no number is given; 0: it takes no number.
MANAGERS = {"none": 0, "backoff": 0, "hourglass": 128, "serialize": 100}
#: Numbers behind the colon of a setting, for the library: at most a million.
NUMBER = "(?:1000000|[1-9][0-9]{0,5})"
#: What RUBATO_ITM_MANAGER may be.
PATTERN = "|".join(f"{name}(:{NUMBER})?" if losses else name for name, losses in MANAGERS.items())
#: The same for a reader.
SPELLINGS = tuple(f"{name}[:N]" if losses else name for name, losses in MANAGERS.items())
EXPECTED = f"{', '.join(SPELLINGS[:-1])} or {SPELLINGS[-1]}"


def is_manager(text: str) -> bool:
    return re.fullmatch(PATTERN, text) is not None
