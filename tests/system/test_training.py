"""The recipe of tools/build release-pgo: its training runs, its folders have the same options, and wrong use is refused
in one sentence. A long test compares its simulator's results with the golden ones."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def train(root: Path) -> ModuleType:
    loader = SourceFileLoader("train", str(root / "tools" / "train"))
    module = module_from_spec(spec_from_loader("train", loader))
    loader.exec_module(module)
    return module


def smaller(word: str) -> str:
    """The same input in small: a command line is right or wrong whatever its size."""
    return re.sub(r"rmat:\d+", "rmat:6", re.sub(r"road:\d+x\d+", "road:12x12", word))


def test_each_line_of_the_training_runs(train: ModuleType, build: Path) -> None:
    commands = train.commands(build)
    assert {Path(command[4]).name for command in commands} == set(train.programs())
    for command in commands:
        short = [smaller(word) for word in command]
        assert short != command, "no line is without a size"
        done = subprocess.run([*short, "--verify"], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "check: passed" in done.stdout, (short, done.stdout, done.stderr)


def test_training_runs_at_the_same_addresses(train: ModuleType) -> None:
    """Counts depend on host addresses: with randomization eight of nine files of two trainings differed."""
    prefix = train.at_fixed_addresses()
    if not prefix:
        pytest.skip("this system refuses processes without address randomization")
    maps = {subprocess.run([*prefix, "cat", "/proc/self/maps"], capture_output=True, check=True).stdout
            for _ in range(3)}  # fmt: skip
    assert len(maps) == 1


def test_the_same_lines_on_few_and_many_cores(train: ModuleType) -> None:
    """Each program on the same chips, so that no program and no size of chip outweighs the others."""
    chips: dict[str, set[str]] = {}
    for cores, program, *_ in train.lines():
        chips.setdefault(program, set()).add(cores)
    assert len(chips) >= 4 and all(cores == {"1", "16", "64"} for cores in chips.values())


def test_both_folders_have_the_same_options(root: Path) -> None:
    presets = {p["name"]: p for p in json.loads((root / "CMakePresets.json").read_text())["configurePresets"]}
    instrumented, optimized = presets["release-pgo-train"], presets["release-pgo"]
    assert instrumented["inherits"] == optimized["inherits"] == "release"
    differ = {"RUBATO_PROFILE"}
    assert instrumented["cacheVariables"].keys() == optimized["cacheVariables"].keys() >= differ
    for key in instrumented["cacheVariables"].keys() - differ:
        assert instrumented["cacheVariables"][key] == optimized["cacheVariables"][key]


def test_a_simulator_without_counters_is_refused(root: Path, build: Path) -> None:
    done = subprocess.run([root / "tools" / "train", build], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "writes no counts" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"RUBATO_PROFILE": "both"}, "RUBATO_PROFILE is 'both', but generate, use or nothing was expected"),
        ({"RUBATO_PROFILE": "use"}, "run tools/build release-pgo, which makes it"),
        ({"RUBATO_PROFILE": "generate", "CMAKE_CXX_COMPILER_ID": "Clang"}, "needs GCC, but the compiler is Clang"),
    ],
)
def test_a_wrong_profile_is_refused(root: Path, variables: dict[str, str], sentence: str) -> None:
    defines = [f"-D{name}={value}" for name, value in ({"CMAKE_CXX_COMPILER_ID": "GNU"} | variables).items()]
    done = subprocess.run(["cmake", *defines, "-P", root / "cmake" / "profile.cmake"], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode != 0 and sentence in " ".join(done.stderr.split())


@pytest.mark.long  # compiles the simulator twice
def test_the_optimized_simulator_gives_the_golden_results(root: Path) -> None:
    done = subprocess.run([root / "tools" / "build", "release-pgo"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    command = [".venv/bin/python", "-m", "pytest", "tests/golden", "-q", "-k", "statistics_are_the_committed_ones"]
    done = subprocess.run(command, cwd=root, env=os.environ | {"RUBATO_BUILD": str(root / "build" / "release-pgo")},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-3000:]
