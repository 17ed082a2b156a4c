"""Programs that a benchmark runs: that they are there, and what they print."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import resource
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import BUILD, ROOT

# isort: split
from rubato.errors import UsageError


def builder_of(program: Path) -> str:
    """Says which command builds a program of BUILD."""
    if BUILD == ROOT / "build" / "release":
        return "`make build` builds it."
    target = f"guest_{program.name}" if program.parent.name == "guest" else program.name
    return f"`cmake --build {BUILD} --target {target}` builds it."


def require(*programs: Path, remedy: str = "") -> None:
    """@raises UsageError with the remedy, by default the command that builds it, if one is not there."""
    for program in programs:
        if not program.exists():
            raise UsageError(f"{program} does not exist; {remedy or builder_of(program)}")


def processor_seconds() -> float:
    """Processor time of all programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def output_of(command: Sequence[object], *, environment: Mapping[str, str] | None = None, text: str | None = None,
              name: str = "") -> str:  # fmt: skip
    """The command's output, given `text` to read. @raises UsageError with the end of its words, if it fails, and with
    the remedy, if its program is a file that is not there; `name` is that of the measurement."""
    words = [str(word) for word in command]
    if "/" in words[0]:
        require(Path(words[0]))
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, input=text,
                          stdin=subprocess.DEVNULL if text is None else None)  # fmt: skip
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-500:]
        of = f"{name}: " if name else ""
        raise UsageError(f"{of}{' '.join(words)} ended with {done.returncode}: {said}")
    return done.stdout
