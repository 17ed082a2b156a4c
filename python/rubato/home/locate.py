"""Where the built programs are: in the source tree, under RUBATO_HOME, or inside the installed package.

A home is a directory that has the programs either as a source tree has them (build/release/bin,
build/release/guest, apps, configs) or as an installation has them (bin, guest, apps, configs).
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
from pathlib import Path

from rubato.errors import UsageError

PACKAGE = Path(__file__).resolve().parent.parent


def homes() -> list[Path]:
    """The homes in the order in which they are searched. RUBATO_HOME, when set, is the only one."""
    if chosen := os.environ.get("RUBATO_HOME"):
        return [Path(chosen).expanduser().resolve()]
    found = [d for d in PACKAGE.parents if (d / "CMakePresets.json").is_file() and (d / "chip").is_dir()]
    return [*found[:1], PACKAGE / "_home"]


def _first(candidates: list[Path]) -> Path | None:
    return next((c for c in candidates if c.exists()), None)


def find_chip() -> Path | None:
    """The simulator, or nothing if it has not been built."""
    places = [h / p / "rubato-chip" for h in homes() for p in ("build/release/bin", "bin")]
    if found := _first(places):
        return found
    on_path = None if os.environ.get("RUBATO_HOME") else shutil.which("rubato-chip")
    return Path(on_path) if on_path else None


def chip() -> Path:
    """The simulator. @raises UsageError if it has not been built."""
    if found := find_chip():
        return found
    raise UsageError(
        f"rubato-chip was not found under {homes()[0]}; build it with `make build`, or point RUBATO_HOME at a "
        "directory that has it."
    )


def program(name: str, engine: str) -> Path | None:
    """The executable of program `name` for an engine, or nothing if it has not been built: guest/NAME for the chip,
    bin/NAME-native for this machine."""
    folder, file = ("guest", name) if engine == "chip" else ("bin", f"{name}-{engine}")
    return _first([h / p / file for h in homes() for p in (f"build/release/{folder}", folder)])


def find_native_info() -> Path | None:
    """The program that says how many workers the native engine uses here, or nothing if it has not been built."""
    return _first([h / p / "rubato-native-info" for h in homes() for p in ("build/release/bin", "bin")])


def find_itm() -> Path | None:
    """librubato_itm, or nothing if it has not been built."""
    places = ("build/release/tm/lib", "tm/lib", "lib/rubato", "lib64/rubato", "lib/x86_64-linux-gnu/rubato")
    return _first([h / p / "librubato_itm.so" for h in homes() for p in places])


def nothing_here() -> str:
    """The sentence for a home that has no applications: why none is known, and what to do."""
    if os.environ.get("RUBATO_HOME"):
        return (
            f"{homes()[0]}, which RUBATO_HOME names, has no applications; let it name Rubato's source tree after "
            "`make build`, or unset it."
        )
    return (
        "this installation of Rubato has no applications and no simulator; run `make build` in its source tree, and "
        "let RUBATO_HOME name that."
    )


def app_files() -> list[Path]:
    """Every application's description, one app.toml an application."""
    return sorted(f for h in homes() for f in (h / "apps").glob("*/app.toml"))


def shipped_configs() -> dict[str, Path]:
    """The shipped chip descriptions by name."""
    return {f.stem: f for h in homes() for f in sorted((h / "configs").glob("*.toml"))}


def config_file(name: str) -> Path:
    """A chip description: a path, or the name of one of the shipped ones (`espresso-256`)."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = shipped_configs()
    if path.stem in shipped and str(path.parent) == ".":
        return shipped[path.stem]
    from rubato.suggest import did_you_mean

    if not name:
        raise UsageError("--config takes a TOML file or the name of a shipped chip description, not nothing.")
    if path.exists():
        raise UsageError(f"configuration file {name} is {'a directory' if path.is_dir() else 'no regular file'}.")
    raise UsageError(f"configuration file {name} does not exist.{did_you_mean(path.stem, shipped)}")
