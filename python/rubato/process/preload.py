"""Libraries under paths that LD_PRELOAD can name: the loader splits it at spaces and colons and expands `$` names."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rubato.errors import UsageError


@contextmanager
def preloadable(library: Path) -> Iterator[Path]:
    """The path of a library, or of a folder of libraries; or a link to it in a folder that exists as long as the
    context, since a path has no escapes.

    @raises UsageError if the folder of temporary files has such a path as well."""
    path = library.resolve()
    if _can_be_named(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rubato-preload-") as folder:
        link = Path(folder).resolve() / (path.name if _can_be_named(Path(path.name)) else "library")
        if not _can_be_named(link):
            raise UsageError(
                f"{path} cannot be preloaded, since its path has a space, colon or $, and so has that of the folder "
                f"for temporary files, {link.parent.parent}; let TMPDIR name a folder without them."
            )
        link.symlink_to(path)
        yield link


def _can_be_named(path: Path) -> bool:
    return not re.search(r"[ :$]", str(path))
