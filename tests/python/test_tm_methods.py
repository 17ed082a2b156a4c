"""The names of transactional methods and managers in Python are those of the library."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rubato.errors import UsageError
from rubato.tm import settings
from rubato.tm.managers import MANAGERS
from rubato.tm.methods import ALGORITHMS, METHODS

LISTS = Path(__file__).parents[2] / "tm" / "thread"


def test_python_has_the_algorithms_of_the_library_in_its_order() -> None:
    assert tuple(re.findall(r"X\((\w+), k\w+\)", (LISTS / "algorithm_list.hpp").read_text())) == ALGORITHMS


def test_python_has_the_managers_of_the_library_with_their_losses() -> None:
    found = re.findall(r"X\((\w+), k\w+, (\d+)\)", (LISTS / "manager_list.hpp").read_text())
    assert [(name, int(losses)) for name, losses in found] == list(MANAGERS.items())


def test_a_manager_takes_a_number_if_the_list_has_one() -> None:
    for manager, losses in MANAGERS.items():
        settings.refuse_wrong({"RUBATO_ITM_MANAGER": manager})
        for number, is_taken in (("1", losses > 0), ("1000000", losses > 0), ("0", False), ("1000001", False)):
            variables = {"RUBATO_ITM_MANAGER": f"{manager}:{number}"}
            if is_taken:
                settings.refuse_wrong(variables)
            else:
                with pytest.raises(UsageError, match="expected none, backoff"):
                    settings.refuse_wrong(variables)


def test_each_method_is_a_value_of_its_variable_and_no_other_word() -> None:
    for method in (*METHODS, "adaptive:20"):
        settings.refuse_wrong({"RUBATO_ITM_METHOD": method})
    with pytest.raises(UsageError) as refusal:
        settings.refuse_wrong({"RUBATO_ITM_METHOD": "eagre"})
    assert all(method in str(refusal.value) for method in METHODS)
