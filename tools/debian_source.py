"""Archives of Debian 12's source packages, for programs of others that are built or tested here and never committed.

Used by tools/tcmalloc and by tests/system/memcached_suite.py.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class Unavailable(Exception):
    """Why a source cannot be had here, in one sentence."""


def fetch(package: str, archive: str, folder: Path) -> Path:
    """The archive of `package` whose name fits the pattern `archive`, downloaded into `folder`. The apt that fetches it
    has lists of its own, since the system's may have no sources of source packages. Errors: Unavailable."""
    if not shutil.which("apt-get"):
        raise Unavailable(f"the source of {package} is fetched by apt-get, which is not installed")
    state = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    mirror = "http://deb.debian.org/debian"
    (state / "sources.list").write_text(
        f"deb-src {mirror} bookworm main\ndeb-src {mirror}-security bookworm-security main\n"
    )
    apt = ["apt-get", "-o", f"Dir::Etc::sourcelist={state}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}/cache",
           "-o", "APT::Sandbox::User="]  # fmt: skip
    for command in (["update"], ["source", "--download-only", package]):
        done = subprocess.run([*apt, *command], cwd=folder, capture_output=True, text=True, check=False)
    found = sorted(folder.glob(archive))
    if not found:
        said = (done.stderr.strip().splitlines() or ["apt-get said nothing"])[-1]
        raise Unavailable(f"{archive}, the source of {package}, cannot be had: {said}")
    return found[0]
