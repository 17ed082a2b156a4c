"""Errors a user can cause: one sentence for a person and the exit code of the command (docs/cli.md).

The commands print the sentence and leave; from Python they are ordinary exceptions.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubato.results.run import Run


class ExitCode(enum.IntEnum):
    """What the process tells its caller; the same codes as rubato-chip's, plus `internal`."""

    SUCCESS = 0
    CHECK_FAILED = 1  # the program's check failed or it exited non-zero
    USAGE = 2  # wrong usage, input or configuration
    GUEST_FAULT = 3  # the simulated program faulted
    NO_PROGRESS = 4  # deadlock, out of simulated time, or out of --timeout
    INTERNAL = 70  # Rubato itself failed: a bug
    INTERRUPTED = 130


class RubatoError(Exception):
    """Base of every error a user can cause."""

    exit_code: int = ExitCode.USAGE


class UsageError(RubatoError):
    """Wrong usage, input file or configuration."""


class RunFailed(RubatoError):
    """A run that started and did not succeed; `run` holds what it left behind, `exit_code` says how it ended."""

    def __init__(self, sentence: str, exit_code: int, run: Run | None = None):
        super().__init__(sentence)
        self.exit_code = exit_code
        self.run = run
