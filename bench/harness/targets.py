"""Programs of this repository that `make build` leaves out and a benchmark builds when it needs them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from harness import BUILD, ROOT
from rubato.cli import terminal
from rubato.errors import UsageError


@dataclass(frozen=True)
class Target:
    """A target of the build, whose program has its name."""

    title: str
    remedy: str = ""  # a peer's: what a user installs

    def is_installed(self) -> bool:
        """Its sources are here."""
        return True

    def make(self) -> None:
        """@raises UsageError with what the build said."""
        if (BUILD / "bin" / self.title).exists():
            return
        command = ("tools/build", "release", self.title)
        terminal.err.print(f"{' '.join(command)}, since points need it", markup=False, highlight=False, soft_wrap=True)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise UsageError(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()[-500:]}")
