"""Packages of Debian's riscv64 port, fetched through apt from a package list of its own: the machine's apt is neither
used nor changed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCE = f"deb [arch=riscv64 signed-by={KEYS}] http://deb.debian.org/debian trixie main\n"


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
