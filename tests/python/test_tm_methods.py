"""The names of transactional methods in Python are those of the library."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

from rubato.tm.methods import ALGORITHMS

LIST = Path(__file__).parents[2] / "tm" / "thread" / "algorithm_list.hpp"


def test_python_has_the_algorithms_of_the_library_in_its_order() -> None:
    assert tuple(re.findall(r"X\((\w+), k\w+\)", LIST.read_text())) == ALGORITHMS
