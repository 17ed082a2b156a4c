"""The names of transactional methods in Python are those of the library."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rubato.errors import UsageError
from rubato.tm import settings
from rubato.tm.methods import ALGORITHMS, METHODS

LIST = Path(__file__).parents[2] / "tm" / "thread" / "algorithm_list.hpp"


def test_python_has_the_algorithms_of_the_library_in_its_order() -> None:
    assert tuple(re.findall(r"X\((\w+), k\w+\)", LIST.read_text())) == ALGORITHMS


def test_each_method_is_a_value_of_its_variable_and_no_other_word() -> None:
    for method in (*METHODS, "adaptive:20"):
        settings.refuse_wrong({"RUBATO_ITM_METHOD": method})
    with pytest.raises(UsageError) as refusal:
        settings.refuse_wrong({"RUBATO_ITM_METHOD": "eagre"})
    assert all(method in str(refusal.value) for method in METHODS)
