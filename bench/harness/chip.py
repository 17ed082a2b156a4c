"""Runs of the simulated chip that a benchmark reads."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness import BUILD
from harness.programs import output_of
from rubato.results.run import Run, load


@contextmanager
def simulated(words: Sequence[object], settings: Mapping[str, object], *, name: str) -> Iterator[Run]:
    """A run of `words`, options and what to run, with `settings` of the configuration; what it came to can be read
    inside of the block. @raises UsageError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        keys = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        output_of([BUILD / "bin/rubato-chip", "--quiet", "--out", folder, *keys, *words], name=name)
        yield load(Path(folder))
