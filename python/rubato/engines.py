"""Runs a program on the engine that its RunSpec names. Both engines take the same hooks and leave the same files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any

from rubato.child import Outcome
from rubato.claim import claimed
from rubato.spec import RunSpec


def execute(spec: RunSpec, directory: Path, **hooks: Any) -> Outcome:
    """Runs `spec` into `directory`. An interrupt stops the program, marks the directory and is raised again."""
    if spec.engine == "native":
        from rubato import native as engine
    else:
        from rubato import chip as engine
    with claimed(directory):
        return engine.execute(spec, directory, **hooks)
