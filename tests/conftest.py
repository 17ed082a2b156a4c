"""Common part of all tests: the limit for one that does not end at all."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

LAST_RESORT_SECONDS = 1800  # of one test. It judges no result: beside other work a test may take any time.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", type=float, default=1, help="how long each soak of the cache server takes")


def too_long(*_: object) -> None:
    raise TimeoutError(f"the test does not end: it has taken {LAST_RESORT_SECONDS} s")


@pytest.fixture(autouse=True)
def last_resort(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interrupts the test, and with it what the test waits for; those marked long take their time."""
    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(0 if request.node.get_closest_marker("long") else LAST_RESORT_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
