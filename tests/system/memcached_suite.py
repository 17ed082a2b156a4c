"""memcached's own test suite (perl) against rubato-cached.

    memcached_suite.py PROGRAM [--discipline locks] [--tls] [--jobs 4] [FILE...]

prints what became of each file and, of a file that fails, its lines that do. The source is Debian's package of
memcached 1.6.18, which `source` fetches by apt; RUBATO_MEMCACHED_SOURCE names a folder that has it already.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cached_server import DISCIPLINES, LAST_RESORT

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from debian_source import Unavailable, fetch  # noqa: E402

VERSION = "1.6.18"
#: Files about what rubato-cached has not, or not so: the users of binary-sasl.t are made by saslpasswd2.
ABSENT = re.compile(r"extstore|sasl|proxy")
EXPECTED = Path(__file__).with_name("memcached_suite.txt")


def source(folder: Path) -> Path:
    """memcached's source, with stand-ins for what its build makes. Errors: Unavailable."""
    for tool in ("perl", "apt-get"):
        if not shutil.which(tool):
            raise Unavailable(f"memcached's own tests need {tool}, which is not installed")
    given = os.environ.get("RUBATO_MEMCACHED_SOURCE")
    made = folder / f"memcached-{VERSION}"
    if not (made / "timedrun").exists():
        folder.mkdir(parents=True, exist_ok=True)
        if given:
            shutil.copytree(given, made, dirs_exist_ok=True)
        else:
            archive = fetch("memcached", f"memcached_{VERSION}.orig.tar.*", folder)
            with tarfile.open(archive) as files:
                files.extractall(folder)
        stand_in = ROOT / "tests/system/memcached_stand_in.py"
        write_program(made / "memcached-debug", f'exec "{sys.executable}" "{stand_in}" "$@"')
        write_program(made / "timedrun", 'shift\nexec "$@"')
    return made


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def files_of(suite: Path) -> list[str]:
    absent = ABSENT if perl_has_tls() else re.compile(f"{ABSENT.pattern}|ssl_")
    return sorted(path.name for path in (suite / "t").glob("*.t") if not absent.search(path.name))


def perl_has_tls() -> bool:
    return subprocess.run(["perl", "-MIO::Socket::SSL", "-e", "1"], capture_output=True, check=False).returncode == 0


@dataclass
class Outcome:
    """Outcome of a file. The file passes if all that it planned ran, all of it held, and it ended with 0."""

    file: str
    code: int
    planned: int
    held: int
    failed: list[str] = field(default_factory=list)  #: the lines `not ok`
    output: str = ""

    @property
    def passes(self) -> bool:
        return self.code == 0 and not self.failed and self.held == self.planned


def read_tap(file: str, code: int, output: str) -> Outcome:
    outcome = Outcome(file, code, 0, 0, output=output)
    for line in output.splitlines():
        if plan := re.match(r"1\.\.(\d+)", line):
            outcome.planned = int(plan[1])
        elif re.match(r"ok\b", line) or re.match(r"not ok\b.*# TODO", line):
            outcome.held += 1
        elif re.match(r"not ok\b", line):
            outcome.failed.append(line)
    return outcome


def run(suite: Path, file: str, program: Path, discipline: str, tls: bool = False) -> Outcome:
    environment = os.environ | {
        "RUBATO_STAND_IN": str(program),
        "RUBATO_STAND_IN_OPTIONS": f"discipline={discipline},debugtime,misbehave",
    }
    if tls or file.startswith("ssl_"):
        environment["SSL_TEST"] = "1"
    command = ["perl", f"t/{file}"]
    # A session of its own, whose servers end with it, however the file ends; and no pipe, which they would keep open.
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(command, cwd=suite, env=environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)  # fmt: skip
        try:
            process.wait(LAST_RESORT)
        except subprocess.TimeoutExpired:
            output.write("it did not end\n")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return read_tap(file, process.returncode, output.read())


def run_all(
    suite: Path, files: Iterable[str], program: Path, discipline: str, jobs: int, tls: bool = False
) -> Iterator[Outcome]:
    """In the order of the names. Most of the time a file sleeps, hence some at once."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda file: run(suite, file, program, discipline, tls), files)


def expected_failures(discipline: str) -> dict[str, str]:
    """File and reason of those that fail by this discipline; `all` stands for each."""
    found = {}
    for line in EXPECTED.read_text().splitlines():
        if line and not line.startswith("#"):
            file, of, reason = line.split(None, 2)
            if of == "all" or discipline in of.split(","):
                found[file] = reason
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("files", nargs="*", help="of its folder t, as touch.t; all")
    parser.add_argument("--discipline", choices=DISCIPLINES, default="locks")
    parser.add_argument("--tls", action="store_true", help="every file by TLS, not only those about it")
    parser.add_argument("--jobs", type=int, default=4, help="files at once")
    parser.add_argument("--verbose", action="store_true", help="all that a failing file says")
    options = parser.parse_args()
    try:
        suite = source(ROOT / "build" / "memcached-suite")
    except Unavailable as why:
        sys.exit(str(why))
    program, expected = options.program.resolve(), expected_failures(options.discipline)
    passed, files = 0, options.files or files_of(suite)
    for outcome in run_all(suite, files, program, options.discipline, options.jobs, options.tls):
        passed += outcome.passes
        verdict = "passes" if outcome.passes else f"fails ({outcome.held} of {outcome.planned}, exit {outcome.code})"
        print(f"{outcome.file}: {verdict}", expected.get(outcome.file, ""), flush=True)
        if not outcome.passes:
            said = outcome.output.splitlines() if options.verbose else outcome.failed
            print("\n".join(f"    {line}" for line in said))
    print(f"{passed} of {len(files)} files pass")


if __name__ == "__main__":
    main()
