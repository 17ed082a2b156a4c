"""Which tests need not run again: those of systems that are, byte for byte, as they were when their tests last passed.

A system is a folder with what it stands on. Its tests are left out as a whole or not at all; tests that belong to no
system (the command, documents, lint, the base) always run. A clean clone has no record, so there everything runs.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "build" / "test-results" / "passed.json"

# How everything is built and tested: in each system's fingerprint.
COMMON = ("CMakeLists.txt", "CMakePresets.json", "cmake", "tools", "base", "tests/CMakeLists.txt", "tests/conftest.py",
          "tests/system/conftest.py")


@dataclass(frozen=True)
class System:
    """`folders`: files and folders that decide what its tests say. `pytest`: patterns of its files below tests/.

    In CTest its tests have its name as a label.
    """

    folders: tuple[str, ...]
    pytest: tuple[str, ...]


TASKS = ("include", "serial", "apps", "tests/apps", "tests/conformance")
SYSTEMS = {
    "native": System((*TASKS, "native", "tests/native", "tests/differential", "bench", "python", "examples"),
                     ("system/test_native_*", "system/test_package.py", "python/test_native_*")),
    "chip": System((*TASKS, "guest", "chip", "configs", "workloads", "python", "tests/chip", "tests/guest",
                    "tests/golden", "tests/random_programs", "tests/system", "bench/instructions", "bench/harness"),
                   ("system/test_chip_instructions.py", "system/test_guest_programs.py",
                    "system/test_ideal_allocator.py", "system/test_capalloc.py", "system/test_capsule*.py",
                    "system/test_random_*", "system/test_task_*", "system/test_mayspec.py",
                    "system/test_determinism.py", "system/test_functional_programs.py", "system/test_debian_tools.py",
                    "system/test_coherence_protocols.py", "system/test_debugger.py", "system/test_*workloads.py",
                    "golden/*")),
    "actors": System((*TASKS, "native", "actors", "tests/actors", "tests/actor_programs", "tests/differential", "bench",
                      "python"),
                     ("system/test_actors_*", "system/test_savina.py")),
    "tm": System(("tm", "native", "include", "apps", "tests/tm", "bench", "python"),
                 ("system/test_tm_*", "system/test_stamp.py", "python/test_tm_*")),
    "cached": System(("cached", "tm", "native", "include", "tests/cached", "tests/system", "bench"),
                     ("system/test_cached_*",)),
}


def fingerprint(system: System) -> str:
    """Of all files that git knows or would know, as they are now."""
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
                              *COMMON, *system.folders], cwd=ROOT, capture_output=True, check=True).stdout
    digest = hashlib.sha256()
    for name in sorted(set(listing.decode().split("\0")) - {""}):
        path = ROOT / name
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def unchanged() -> set[str]:
    """Names of the systems that are as they were when all of their tests passed."""
    try:
        passed = json.loads(RECORD.read_text())
    except (OSError, ValueError):
        return set()
    return {name for name, system in SYSTEMS.items() if passed.get(name) == fingerprint(system)}


def record(fingerprints: dict[str, str]) -> None:
    """To be called when every test has passed, with the fingerprints from before: an edit meanwhile is untested."""
    RECORD.write_text(json.dumps(fingerprints, indent=1) + "\n")


def pytest_files(names: set[str]) -> list[str]:
    """The files of pytest that belong to these systems, relative to the repository."""
    patterns = [pattern for name in names for pattern in SYSTEMS[name].pytest]
    files = [path.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    return sorted(f"tests/{file}" for file in files if any(fnmatch(file, pattern) for pattern in patterns))
