"""`--alloc`: allocators that are executables of their own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from rubato.errors import UsageError
from rubato.running.spec import RunSpec


@pytest.fixture
def allocating(own_home: Path) -> Path:
    """A home whose application allocates in tasks."""
    file = own_home / "apps/sssp/app.toml"
    file.write_text("allocates_in_tasks = true\n" + file.read_text())
    return own_home


@pytest.mark.parametrize(
    ("allocator", "sentence"),
    [
        ("tcmalloc", "sssp is not built with tcmalloc; `tools/tcmalloc` in Rubato's source tree fetches the allocator "
                     "and builds it."),
        ("libc", "sssp is not built with libc; `make build` builds it."),
    ],
)  # fmt: skip
def test_an_allocator_that_is_not_built_is_named_with_its_remedy(
    allocator: str, sentence: str, allocating: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        RunSpec(program="sssp", alloc=allocator).check()
    assert str(refused.value) == sentence


@pytest.mark.parametrize("allocator", ["tcmalloc", "libc"])
def test_an_allocator_with_an_executable_of_its_own_runs_that_one(allocator: str, allocating: Path) -> None:
    program = allocating / f"guest/sssp-{allocator}"
    program.write_bytes(b"\x7fELF not really")
    assert RunSpec(program="sssp", alloc=allocator).executable() == program
    assert RunSpec(program="sssp", alloc="plain").executable() == allocating / "guest/sssp"
