"""What is installed, what is missing, and the one line that gets it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import importlib.metadata
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from rubato.home import apps, locate
from rubato.process.child import ask
from rubato.tm import library as tm_library


@dataclass(frozen=True)
class Finding:
    """One thing looked for. `needed`: without it Rubato does not work; otherwise something smaller does not."""

    name: str
    purpose: str
    found: str  # version or place; empty if missing
    remedy: str
    needed: bool = True
    details: tuple[str, ...] = ()  # how that was found out, a sentence a step

    @property
    def ok(self) -> bool:
        return bool(self.found)


_TOOLS = [
    ("C++ compiler", "builds the simulator", ["g++", "clang++"], "apt install g++", True),
    ("CMake", "builds the simulator", ["cmake"], "apt install cmake", True),
    ("Ninja", "builds the simulator", ["ninja"], "apt install ninja-build", True),
    ("RISC-V cross compiler", "builds programs for the chip", ["riscv64-linux-gnu-g++"],
     "apt install g++-riscv64-linux-gnu", True),
    ("QEMU user mode", "reference in tests", ["qemu-riscv64", "qemu-riscv64-static"], "apt install qemu-user", False),
    ("Chromium", "tests of the report", ["chromium", "chromium-browser", "google-chrome"], "apt install chromium",
     False),
    ("ccache", "faster rebuilds", ["ccache"], "apt install ccache", False),
    ("pkg-config", "finds oneTBB and hwloc; test of the installed package", ["pkg-config"], "apt install pkg-config",
     False),
    ("Valgrind", "instruction counts in tests and benchmarks", ["valgrind"], "apt install valgrind", False),
    ("perf", "bench/native_activity", ["perf"], "apt install linux-perf", False),
]  # fmt: skip

# Name, purpose, name for pkg-config, remedy. None is needed.
_LIBRARIES = [
    ("oneTBB", "what bench/native compares with", "tbb", "apt install libtbb-dev pkg-config"),
    ("hwloc", "pins native workers", "hwloc", "apt install libhwloc-dev pkg-config"),
]

_PACKAGES = ["typer", "rich", "pydantic", "polars", "distributed"]


def findings() -> list[Finding]:
    """Everything Rubato uses, in the order in which a newcomer needs it."""
    python = platform.python_version() if sys.version_info >= (3, 10) else ""
    result = [Finding("Python 3.10+", "the command rubato", python, "apt install python3")]
    for name, purpose, programs, remedy, needed in _TOOLS:
        result.append(Finding(name, purpose, _said([program, "--version"] for program in programs), remedy, needed))
    for name, purpose, package, remedy in _LIBRARIES:
        result.append(Finding(name, purpose, _said([["pkg-config", "--modversion", package]]), remedy, needed=False))
    for package in _PACKAGES:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        result.append(Finding(f"Python package {package}", "the command rubato", version, f"pip install {package}"))
    chip = locate.find_chip()
    result.append(Finding("rubato-chip", "the simulator", str(chip or ""), "make build"))
    result.append(_native())
    result += _transactions()
    for name, app in apps.all_apps().items():
        built = [path for engine in app.engines if (path := app.built_for(engine)) is not None]
        found = str(built[0]) if built else ""
        if built and app.missing:  # as in a wheel, which has the chip's only
            found += f" (not for {', '.join(app.missing)})"
        result.append(Finding(f"application {name}", app.summary, found, "make build", False))
    return result


def _native() -> Finding:
    """The native engine: its number of workers, derived from affinity, CPU sets and quotas."""
    purpose = "runs programs on this machine's cores"
    program = locate.find_native_info()
    derivation: list[str] = []
    if program is not None:
        said = ask([program, "--json"])
        if said.returncode == 0:
            derivation = json.loads(said.stdout)["derivation"]
    found = derivation[-1] if derivation else ""
    return Finding("native engine", purpose, found, "make build", False, tuple(derivation[:-1]))


def _transactions() -> list[Finding]:
    """What compiles transactional programs, which library runs them and why, and what it can use here (T97)."""
    spec = _said([["g++", "-print-file-name=libitm.spec"]])
    compiler = _said([["g++", "--version"]]) if "/" in spec else ""
    library = tm_library.by_environment()
    ours = str(locate.find_itm() or "")
    rtm = "RTM" if " rtm " in _read("/proc/cpuinfo") else ""
    return [
        Finding("compiler for transactions", "g++ -fgnu-tm", compiler, "apt install g++", needed=False),
        Finding("librubato_itm", "transactions in the place of GCC's libitm", ours, "make build", needed=False),
        Finding("a program's transactions", "which library they get, and why", library.named if library.path else "",
                "apt install libitm1", needed=False, details=(library.reason,)),
        Finding("hardware transactions", "method rtm, GCC's htm", rtm, "none: this processor has no RTM", needed=False),
        Finding("membarrier", "threads learn of waiting ones at no cost", _membarrier(),
                "none: this kernel does not have it, and every transaction has one fence more", needed=False),
    ]  # fmt: skip


def _membarrier() -> str:
    """The private expedited commands, if the kernel has them."""
    number = {"x86_64": 324, "aarch64": 283, "riscv64": 283}.get(platform.machine())
    if number is None:
        return ""
    commands = ctypes.CDLL(None).syscall(number, 0, 0, 0)
    return "private expedited" if commands > 0 and commands & 8 else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _said(commands: Iterable[list[str]]) -> str:
    """The first line of what the first command says that is installed and succeeds; empty: none does."""
    for program, *arguments in commands:
        path = shutil.which(program)
        if path is None:
            continue
        try:
            said = ask([path, *arguments])
        except (OSError, subprocess.TimeoutExpired):
            return path
        if said.returncode != 0:
            continue
        lines = (said.stdout or said.stderr).splitlines()
        return lines[0].strip() if lines else path
    return ""
