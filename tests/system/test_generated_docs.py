"""Pages that are made from the programs are what the programs say."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path


def test_generated_pages_are_what_the_programs_say(root: Path, rubato_chip: Path) -> None:
    done = subprocess.run([root / "tools" / "docs", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
