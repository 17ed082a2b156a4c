#!/usr/bin/env python3
"""Packages of Debian's riscv64 port, fetched through apt from a package list of its own: the machine's apt is neither
used nor changed.

    tests/system/debian.py FOLDER PACKAGE...    unpacks the packages and what they need into FOLDER/root, and makes
                                                FOLDER/bin, whose scripts start their programs on the chip
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCE = f"deb [arch=riscv64 signed-by={KEYS}] http://deb.debian.org/debian trixie main\n"


def libraries(root: Path) -> Path:
    return root / "usr/lib/riscv64-linux-gnu"


def by_loader(root: Path, program: Path, name: str) -> list[str]:
    """The words that start a program with its loader and libraries, under that name."""
    loader = libraries(root) / "ld-linux-riscv64-lp64d.so.1"
    return [str(loader), "--argv0", name, "--library-path", str(libraries(root)), str(program)]


def make_places(root: Path, folder: Path, programs: dict[Path, str]) -> Path:
    """A folder for PATH: each of the programs is a script that starts it by its loader, under the name that is told or
    (empty) by the script's own path. Programs of busybox are there, too."""
    shell = root / "usr/bin/bash-static"
    for program, name in programs.items():
        target = program.resolve()
        if root.resolve() not in target.parents or target.read_bytes()[:4] != b"\x7fELF" or "static" in target.name:
            continue
        script = folder / program.name
        script.write_text(f'#!{shell}\nexec {" ".join(by_loader(root, target, name or str(script)))} "$@"\n')
        script.chmod(0o755)
    for name in ("sh", "grep", "sed"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(root / "usr/bin/busybox")
    return folder


def programs_of(root: Path) -> dict[Path, str]:
    """The programs of the packages for make_places(). initdb looks for postgres beside itself, and postgres for its
    files beside its own path."""
    names = {program: program.name for part in ("bin", "sbin") for program in (root / "usr" / part).glob("*")}
    for folder in (root / "usr/lib/postgresql").glob("*/bin"):
        names |= {program: str(program) if program.name == "postgres" else "" for program in folder.iterdir()}
    return names


def configure(folder: Path) -> dict[str, str]:
    """Makes what apt needs. Returns the environment of its commands."""
    apt = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial", "state"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    (apt / "state" / "status").touch()
    (apt / "sources.list").write_text(SOURCE)
    (apt / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{apt}/sources.list"; Dir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State "{apt}/state"; Dir::State::status "{apt}/state/status"; Dir::State::lists "{apt}/lists";\n'
        f'Dir::Cache "{apt}/cache"; APT::Architecture "riscv64"; APT::Architectures "riscv64";\n'
        'Acquire::Retries "1"; Acquire::http::Timeout "20"; Acquire::Languages "none";\n'
    )
    return {**os.environ, "APT_CONFIG": str(apt / "apt.conf")}


def unpack(folder: Path, packages: Iterable[str], *, needed: bool = False) -> str:
    """Downloads packages, and with `needed` what they depend on, and unpacks them into folder/root. Returns why it
    could not, or nothing."""
    for tool in ("apt-get", "dpkg-deb", "qemu-riscv64"):
        if shutil.which(tool) is None:
            return f"{tool} is missing"
    if not KEYS.exists():
        return f"{KEYS} is missing (package debian-archive-keyring)"
    folder.mkdir(parents=True, exist_ok=True)
    environment = configure(folder)
    download = ["install", "--download-only", "--no-install-recommends", "--yes"] if needed else ["download"]
    archives = folder / "apt" / "cache" / "archives" if needed else folder
    for command in (["apt-get", "update"], ["apt-get", *download, *packages]):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"{' '.join(command)}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive, folder / "root"], check=True)
    return ""


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    if reason := unpack(folder, ["bash-static", "busybox-static", *sys.argv[2:]], needed=True):
        print(f"{folder}: the packages cannot be fetched: {reason}", file=sys.stderr)
        return 1
    (folder / "bin").mkdir(exist_ok=True)
    make_places(folder / "root", folder / "bin", programs_of(folder / "root"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
