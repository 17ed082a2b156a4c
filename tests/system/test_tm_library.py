"""`rubato doctor --program`: which library a transactional program gets, and why, is what it really gets (T97)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rubato.errors import UsageError
from rubato.tm import library as tm_library

SOURCE = """#include <cstdio>
extern "C" const char* _ITM_libraryVersion();
int x;
int main() { __transaction_atomic { ++x; } std::puts(_ITM_libraryVersion()); }
"""


def environment(**more: str) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("LD_")} | more


def compiled(folder: Path, *options: str, source: str = SOURCE) -> Path:
    program = folder / "program"
    subprocess.run(["g++", "-fgnu-tm", "-xc++", "-", "-o", program, *options], input=source, text=True, check=True)
    return program


def check(program: Path, is_ours: bool, reason: str, **variables: str) -> None:
    env = environment(**variables)
    found = tm_library.of_program(program, env)
    said = subprocess.run([program], env=env, capture_output=True, text=True, check=True).stdout
    assert found.is_ours == is_ours == said.startswith("librubato_itm") and reason in found.reason, (found, said)


def test_the_reason_is_the_one_by_which_the_loader_chose(itm: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path)
    check(program, False, "it is the system's")
    check(program, True, "LD_PRELOAD", LD_PRELOAD=str(itm / "librubato_itm.so"))
    check(program, True, "LD_LIBRARY_PATH", LD_LIBRARY_PATH=str(itm))
    assert not tm_library.by_environment(environment()).is_ours
    assert tm_library.by_environment(environment(LD_PRELOAD=str(itm / "librubato_itm.so"))).is_ours
    assert tm_library.by_environment(environment(LD_LIBRARY_PATH=str(itm))).is_ours


@pytest.mark.parametrize("kind", ["--disable-new-dtags", "--enable-new-dtags"])
def test_a_folder_in_the_program_chooses(kind: str, itm: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, f"-L{itm}", f"-Wl,{kind},-rpath,{itm}")
    name = "RPATH" if "disable" in kind else "RUNPATH"
    check(program, True, f"the program's {name} names its folder")
    check(program, True, "LD_PRELOAD", LD_PRELOAD=str(itm / "libitm.so.1"))


def test_a_static_program_has_its_library_in_it(itm: Path, tmp_path: Path) -> None:
    check(compiled(tmp_path, "-static", f"-L{itm}"), True, "it is linked statically")


def test_a_program_without_transactions_is_told_from_one_with(tmp_path: Path) -> None:
    program = compiled(tmp_path, source="int main() {}")
    assert tm_library.of_program(program, environment()).reason == "it has no transactions"
    text = tmp_path / "text"
    text.write_text("no program")
    with pytest.raises(UsageError, match="an ELF file was expected"):
        tm_library.of_program(text)
    with pytest.raises(UsageError, match="No such file"):
        tm_library.of_program(tmp_path / "nothing")


def test_doctor_names_library_and_reason(root: Path, itm: Path, tmp_path: Path) -> None:
    rubato = root / ".venv/bin/rubato"
    program = compiled(tmp_path, f"-L{itm}", f"-Wl,-rpath,{itm}")
    said = subprocess.run([rubato, "doctor", "--program", program], env=environment(), capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert said.stdout == f"{program}: librubato_itm ({itm}/libitm.so.1): the program's RUNPATH names its folder\n"
