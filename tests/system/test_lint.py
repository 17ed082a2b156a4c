"""The house rules that a tool can check hold in the whole tree (tools/lint says which)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("check", ["format", "headers", "spdx", "length", "pragma", "prefetch", "python"])
def test_lint_finds_nothing(root: Path, check: str) -> None:
    result = subprocess.run([root / "tools" / "lint", check], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
