"""Common part of the end-to-end tests: the places of the built programs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cached_server import DISCIPLINES, Running, run_discipline
from rubato.process.preload import preloadable

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def build(root: Path) -> Path:
    """The build folder: build/release, or what RUBATO_BUILD names."""
    return Path(os.environ.get("RUBATO_BUILD", root / "build" / "release"))


@pytest.fixture(scope="session")
def rubato_chip(build: Path) -> Path:
    """The simulator itself. It must have been built: a test run without it is a failure, not a skip."""
    program = build / "bin" / "rubato-chip"
    assert program.exists(), f"{program} does not exist; run `make build`"
    return program


@pytest.fixture(scope="session")
def guests(build: Path) -> Path:
    """The folder of the guest (RISC-V) programs."""
    return build / "guest"


@pytest.fixture(scope="session")
def itm(build: Path) -> Iterator[Path]:
    """The folder of librubato_itm, by a path that LD_PRELOAD can name whatever folder the build is in."""
    if not (build / "tm/lib/librubato_itm.so").exists():
        pytest.skip("there is no compiler for transactions here")
    with preloadable(build / "tm/lib") as folder:
        yield folder


@pytest.fixture(scope="session")
def cached_program(build: Path) -> Path:
    found = build / "bin" / "rubato-cached"
    if not found.exists():
        pytest.skip("rubato-cached is not built: libevent or libxxhash is absent")
    return found


@pytest.fixture(params=DISCIPLINES)
def start(cached_program: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Running]]:
    running = []

    def begin(*options: str) -> Running:
        running.append(run_discipline(cached_program, request.param, *options))
        return running[-1]

    yield begin
    for one in running:
        one.stop()
