"""Runs a program on the engine that its RunSpec names. All take the same hooks and leave the same files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any

from rubato.process.child import Outcome
from rubato.process.claim import claimed
from rubato.running.spec import RunSpec


def execute(spec: RunSpec, directory: Path, **hooks: Any) -> Outcome:
    """Runs `spec` into `directory`. An interrupt stops the program, marks the directory and is raised again."""
    if spec.engine == "chip":
        from rubato.running import chip as engine
    else:
        from rubato.running import native as engine
    with claimed(directory):
        return engine.execute(spec, directory, **hooks)
