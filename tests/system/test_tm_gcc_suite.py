"""GCC's own tests of libitm, file by file, on librubato_itm (T65): from Debian's package gcc-12-source.

What fails is listed with its reason in tests/tm/gcc_suite.toml. GCC's remarks for its own library (skip, expected to
fail) are not followed.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import tomllib

from rubato.cli.tm import FLAGS
from rubato.tm.methods import ALGORITHMS

pytestmark = pytest.mark.long

ARCHIVES = Path("/usr/src/gcc-12")
LISTED = tomllib.loads((Path(__file__).parents[1] / "tm/gcc_suite.toml").read_text()).get("fails", [])
METHODS = ["adaptive", *ALGORITHMS]
LEVELS = ["-O0", "-O2"]
#: Beyond this a program hangs: all of them take less than a second.
LAST_RESORT_SECONDS = 1800
FILES = 25


def install() -> None:
    """@raises pytest.skip.Exception where the package cannot be installed."""
    if list(ARCHIVES.glob("gcc-12*.tar.xz")):
        return
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    command = [*as_root, "apt-get", "-qy", "install", "--no-install-recommends", "gcc-12-source"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as e:
        pytest.skip(f"Debian's package gcc-12-source cannot be installed: {e.strerror}")
    if done.returncode != 0 or not list(ARCHIVES.glob("gcc-12*.tar.xz")):
        last = (done.stderr.strip().splitlines() or ["apt-get failed"])[-1]
        pytest.skip(f"Debian's package gcc-12-source cannot be installed: {last}")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder libitm of GCC's sources."""
    if shutil.which("gcc-12") is None or shutil.which("g++-12") is None:
        pytest.skip("the tests are of GCC 12, which is not installed")
    install()
    folder = tmp_path_factory.mktemp("gcc")
    archive = next(ARCHIVES.glob("gcc-12*.tar.xz"))
    parts = ["*/libitm/testsuite/libitm.c/*", "*/libitm/testsuite/libitm.c++/*", "*/libitm/libitm.h"]
    subprocess.run(["tar", "-xJf", archive, "-C", folder, "--wildcards", *parts], check=True)
    return next(folder.glob("*/libitm"))


def sources(suite: Path) -> list[Path]:
    found = sorted([*suite.glob("testsuite/libitm.c/*.c"), *suite.glob("testsuite/libitm.c++/*.C")])
    assert len(found) == FILES, "the package has another suite: look at it, and change FILES"
    return found


def options_of(text: str) -> list[str]:
    found = re.findall(r"dg-(?:additional-)?options \"([^\"]*)\"", text)
    return [option for options in found for option in options.split()]


def reason(file: str, level: str, method: str, stage: str) -> str | None:
    """Why it is listed as one that fails."""
    for one in LISTED:
        is_meant = one["file"] == file and one["stage"] == stage
        if is_meant and one.get("level", level) == level and method in one.get("methods", [method]):
            return str(one["reason"])
    return None


@pytest.fixture(scope="module")
def programs(suite: Path) -> dict[tuple[str, str], Path | None]:
    """By file and level; None: it is listed as one that does not build. Those to be compiled alone have none."""
    made: dict[tuple[str, str], Path | None] = {}
    wrong = []
    for source in sources(suite):
        text = source.read_text()
        is_run = "dg-do compile" not in text
        for level in LEVELS:
            compiler = "gcc-12" if source.suffix == ".c" else "g++-12"
            program = source.with_suffix("." + level.strip("-"))
            flags = ["-fgnu-tm", *FLAGS.split(), level, "-pthread", f"-I{suite}", *options_of(text)]
            output = ["-o", str(program), "-litm"] if is_run else ["-c", "-o", f"{program}.o"]
            command = [compiler, *flags, str(source), *output]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            expected = reason(source.name, level, "", "build")
            if (done.returncode != 0) != (expected is not None):
                wrong.append(f"{source.name} {level}: {done.stderr or f'it builds, but is listed: {expected}'}")
            if is_run:
                made[source.name, level] = program if done.returncode == 0 else None
    assert wrong == []
    return made


@pytest.mark.parametrize("method", METHODS)
def test_the_suite_passes_but_for_what_is_listed(
    method: str, programs: dict[tuple[str, str], Path | None], itm: Path
) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RUBATO_ITM", "ITM_", "LD_"))}
    environment = kept | {"LD_PRELOAD": str(itm / "libitm.so.1"), "RUBATO_ITM_METHOD": method}
    wrong, passed = [], 0
    for (file, level), program in programs.items():
        if program is None:
            continue
        done = subprocess.run([program], env=environment, capture_output=True, check=False, timeout=LAST_RESORT_SECONDS)
        expected = reason(file, level, method, "run")
        if (done.returncode != 0) != (expected is not None):
            wrong.append(f"{file} {level}: " + (f"listed, but it passes: {expected}" if expected else "fails"))
        passed += done.returncode == 0
    assert wrong == []
    assert passed >= FILES


def test_every_reason_names_a_file_of_the_suite(suite: Path) -> None:
    names = {source.name for source in sources(suite)}
    assert {one["file"] for one in LISTED} <= names
    assert all(len(one["reason"]) > 20 for one in LISTED)
