"""The sentence of native runs, for programs of which it is known what keeps them from using two workers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rubato

ROAD = ["--generate", "road:60x60"]
WIDE = ["--generate", "rmat:12:16", "--unit-lengths"]


def said(out: Path, arguments: list[str], *, cores: int = 2, mode: str = "mayspec") -> str:
    return rubato.run("sssp", engine="native", cores=cores, mode=mode, arguments=arguments, out=out).conclusion


@pytest.mark.usefixtures("build")
def test_timestamps_with_a_task_or_two_are_named(tmp_path: Path) -> None:
    found = re.fullmatch(
        r"At least ([\d.]+) % of the tasks ran one after another, in the order of their timestamps: "
        r"([\d,]+) of ([\d,]+) timestamps had too few tasks for several workers\.",
        said(tmp_path / "run", ROAD),
    )
    assert found is not None
    assert float(found[1]) > 90


@pytest.mark.usefixtures("build")
def test_spec_tasks_are_named(tmp_path: Path) -> None:
    assert said(tmp_path / "run", WIDE, mode="spec") == (
        "100 % of the tasks are SPEC, which have no other task beside them on this engine."
    )


@pytest.mark.usefixtures("build")
def test_neither_is_said_of_wide_timestamps_or_one_worker(tmp_path: Path) -> None:
    assert not said(tmp_path / "wide", WIDE)
    assert not said(tmp_path / "one", ROAD, cores=1)
