"""Files that are written whole or not at all. What goes wrong is one sentence that names the file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
from pathlib import Path

from rubato.errors import UsageError


def write_whole(file: Path, content: str | bytes) -> None:
    """Makes or replaces `file`; a link leads to the file that is replaced.

    @raises UsageError if that cannot be done, or if something else than a regular file is there, such as a device,
    which must not become one.
    """
    target = file.resolve()
    if target.exists() and not target.is_file():
        raise UsageError(f"{file} is not a regular file; choose another name.")
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
        part.replace(target)
    except OSError as e:
        _remove(part)
        raise UsageError(f"{file} cannot be written: {e.strerror or e}.") from None
    except BaseException:
        _remove(part)
        raise


def _remove(part: Path) -> None:
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)
