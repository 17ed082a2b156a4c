"""The command line of a benchmark: names that are chosen, samples of earlier calls, and what ends it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rubato.errors import UsageError
from rubato.results import measurements
from rubato.results.measurements import Results


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Its --help begins with the script's own description."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def chosen(parser: argparse.ArgumentParser, what: str, text: str | None, known: Sequence[str]) -> list[str]:
    """Names separated by commas; all that are known where none is given."""
    names = text.split(",") if text else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown {what} {', '.join(unknown)}; expected {', '.join(known)}")
    return names


def at_least_one(parser: argparse.ArgumentParser, option: str, number: int | None) -> None:
    if number is not None and number < 1:
        parser.error(f"{option} is at least 1")


def opened(directory: Path, title: str, quick: bool, sizes: str = "sizes", programs: Iterable[Path] = ()) -> Results:
    """The samples that are there. @raises UsageError if they are of other sizes, of another machine, or of an earlier
    build of one of the programs."""
    directory.mkdir(parents=True, exist_ok=True)
    results = Results(title=title, machine=measurements.machine(), quick=quick)
    if (directory / measurements.FILE).exists():
        found = measurements.load(directory)
        if (found.title, found.machine, found.quick) != (results.title, results.machine, results.quick):
            raise UsageError(
                f"{directory} was measured with other {sizes} or on another machine; choose another --out."
            )
        results = found
    hashes = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in programs if p.exists()}
    if changed := [p for p in hashes if results.made_with.get(p, hashes[p]) != hashes[p]]:
        raise UsageError(f"{', '.join(changed)} changed since {directory} was measured; choose another --out.")
    results.made_with |= hashes
    return results


@contextmanager
def explained(directory: Path | None = None) -> Iterator[None]:
    """An error that stops the work ends the command with a sentence: with 2 if the user can cure it, with 130
    when interrupted. `directory`: where samples are kept, so that the next call continues."""
    name = f"bench/{Path(sys.argv[0]).name}"
    try:
        yield
    except UsageError as e:
        print(f"{name}: {e}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        kept = "" if directory is None else f"; the same command continues ({directory})"
        print(f"{name}: interrupted{kept}.", file=sys.stderr)
        raise SystemExit(130) from None
