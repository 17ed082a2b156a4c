"""Who writes to a directory: one run, or one sweep, at a time."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from rubato.errors import UsageError


@contextlib.contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Keeps others out of `directory`, which is made if need be, to the end. The claim of a process that has died is
    none; where the file system has no locks there are none either.

    @raises UsageError if somebody else has claimed it.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; --out is a directory.")
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{directory} is being written by another run; choose another --out.") from None
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)
