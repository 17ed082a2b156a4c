"""Which library runs a program's transactions, and why: what the dynamic loader would do (T97).

librubato_itm has the SONAME of GCC's library, libitm.so.1; so one of the two is loaded, whichever is found first: by
LD_PRELOAD, by the folders that are written into the program, by LD_LIBRARY_PATH, or in the system's folders.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rubato.errors import UsageError
from rubato.process.child import ask

SONAME = "libitm.so.1"
#: Other names of the interface are in every program that GCC links.
BEGIN = b"_ITM_beginTransaction"


@dataclass(frozen=True)
class Found:
    """`is_ours`: it is librubato_itm."""

    path: Path | None
    is_ours: bool
    reason: str

    @property
    def named(self) -> str:
        name = "librubato_itm" if self.is_ours else "GCC's libitm" if self.path else "no library"
        return f"{name} ({self.path})" if self.path else name

    def __str__(self) -> str:
        return f"{self.named}: {self.reason}"


def is_ours(library: Path) -> bool:
    """By a symbol's text that GCC's does not have: what _ITM_libraryVersion answers."""
    try:
        return b"librubato_itm " in library.read_bytes()
    except OSError:
        return False


def by_environment(environment: Mapping[str, str] = os.environ) -> Found:
    """What a program gets that names no folder of its own."""
    for entry in re.split("[ :]", environment.get("LD_PRELOAD", "")):
        path = Path(entry)
        if path.name and (path.name.startswith("libitm.so") or is_ours(path)):
            return Found(path, is_ours(path), "LD_PRELOAD names it")
    for folder in environment.get("LD_LIBRARY_PATH", "").split(":"):
        path = Path(folder or ".") / SONAME
        if "LD_LIBRARY_PATH" in environment and path.exists():
            return Found(path, is_ours(path), "it is in a folder of LD_LIBRARY_PATH")
    reason = "it is the system's; LD_PRELOAD, LD_LIBRARY_PATH or linking with rubato::itm chooses librubato_itm"
    path = _of_the_system()
    if path is None:
        return Found(None, is_ours=False, reason="libitm.so.1 is not installed")
    return Found(path, is_ours(path), reason)


def of_program(program: Path, environment: Mapping[str, str] = os.environ) -> Found:
    """@raises UsageError if it is no program that the loader or readelf understands."""
    try:
        content = program.read_bytes()
    except OSError as e:
        raise UsageError(f"{program}: {e.strerror}.") from None
    if not content.startswith(b"\x7fELF"):
        raise UsageError(f"{program} is no program: an ELF file was expected.")
    try:
        dynamic = ask(["readelf", "-dW", str(program)]).stdout
    except FileNotFoundError:
        raise UsageError("readelf was not found; install binutils.") from None
    if "(NEEDED)" not in dynamic:
        if BEGIN not in content and b"librubato_itm " not in content:
            return Found(None, is_ours=False, reason="it has no transactions")
        return Found(program, b"librubato_itm " in content, "it is linked statically")
    traced = subprocess.run([str(program.resolve())], env={**environment, "LD_TRACE_LOADED_OBJECTS": "1"},
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    loaded = re.findall(r"^\s*(?:(\S+) => )?(\S*/\S+) \(0x", traced.stdout, re.MULTILINE)
    if BEGIN not in content and not any(name == SONAME for name, _ in loaded):
        return Found(None, is_ours=False, reason="it has no transactions")
    preloaded = [Path(path) for name, path in loaded if not name and is_ours(Path(path))]
    if preloaded:
        return Found(preloaded[0], is_ours=True, reason="LD_PRELOAD names it")
    for name, place in loaded:
        if name == SONAME:
            return Found(Path(place), is_ours(Path(place)), _reason(Path(place), dynamic, environment))
    return Found(None, is_ours=False, reason=f"{SONAME} is not found, and the program cannot start")


def _reason(path: Path, dynamic: str, environment: Mapping[str, str]) -> str:
    written = re.search(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    in_program = written is not None and str(path.parent) in written.group(2).split(":")
    folders = [Path(folder or ".") for folder in environment.get("LD_LIBRARY_PATH", "").split(":")]
    in_variable = "LD_LIBRARY_PATH" in environment and path.parent in folders
    # The loader looks into RPATH before the variable, into RUNPATH after it.
    if in_program and written is not None and (written.group(1) == "RPATH" or not in_variable):
        return f"the program's {written.group(1)} names its folder"
    if in_variable:
        return "it is in a folder of LD_LIBRARY_PATH"
    return "it is the system's; LD_PRELOAD, LD_LIBRARY_PATH or linking with rubato::itm chooses librubato_itm"


def _of_the_system() -> Path | None:
    try:
        known = ask(["/sbin/ldconfig", "-p"]).stdout
    except OSError:
        return None
    found = re.search(rf"^\s*{re.escape(SONAME)} .*=> (\S+)$", known, re.MULTILINE)
    return Path(found.group(1)) if found else None
