"""`rubato run --env` reaches the guest's environment, which has nothing else in it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import rubato

PROGRAM = '#include <stdio.h>\nint main(int c, char** v, char** e) { while (*e) puts(*e++); puts("end"); }\n'


@pytest.mark.usefixtures("rubato_chip")
def test_the_guest_sees_the_variables_that_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "variables.c").write_text(PROGRAM)
    command = ["riscv64-linux-gnu-gcc", "-O2", "-static", "variables.c", "-o", "variables"]
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setenv("NOT_GIVEN", "1")
    program = str(tmp_path / "variables")
    run = rubato.run(program, cores=1, env=["OMP_NUM_THREADS=4", "B=x = y"], out=tmp_path / "run")
    assert run.output.splitlines() == ["OMP_NUM_THREADS=4", "B=x = y", "end"]
    assert run.manifest["environment"] == ["OMP_NUM_THREADS=4", "B=x = y"]
