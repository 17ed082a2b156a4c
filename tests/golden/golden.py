"""Golden runs (C28): small runs whose complete statistics are committed and compared byte for byte.

runs.toml lists them; expected/NAME.txt holds one line a statistic, `path value`. A speed-up of the simulator leaves all
of them as they are; a change to the model updates them on purpose: `tools/golden --update "REASON"`.

The statistics are those of one guest program, bit for bit, and another cross compiler makes another program. So each
file also names the compiler and the hash of the program's loaded bytes: with another compiler a run is skipped, with
the same compiler another program means that the sources changed, which needs an update like a change to the model.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# What stats.json says beside the numbers, or says of the host: no part of a result.
NOT_COMPARED = {"unit", "description", "host", "units", "descriptions"}


@dataclass(frozen=True)
class Run:
    """One run: a guest program of the build folder, options of rubato-chip, the guest's own arguments."""

    name: str
    program: str
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    exit_code: int = 0  # of the command; 1 for a guest that exits with something else than 0

    @property
    def expected(self) -> Path:
        return HERE / "expected" / f"{self.name}.txt"


def runs() -> list[Run]:
    listed = tomllib.loads((HERE / "runs.toml").read_text()).get("run", [])
    return [Run(r["name"], r["program"], tuple(r.get("options", ())), tuple(r.get("arguments", ())),
                r.get("exit_code", 0)) for r in listed]


@dataclass(frozen=True)
class Section:
    name: str
    data: bytes
    is_loaded: bool


def sections(elf: bytes) -> list[Section]:
    """The sections of a 64-bit little-endian ELF file."""
    offset, size, count, names_index = *struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]

    def content(header: tuple) -> bytes:
        return b"" if header[1] == 8 else elf[header[4] : header[4] + header[5]]  # 8: no bits in the file

    names = content(headers[names_index])
    return [Section(names[h[0] : names.index(b"\0", h[0])].decode(), content(h), bool(h[2] & 2)) for h in headers]


def identity(program: Path) -> tuple[str, str]:
    """(compiler, hash of what is loaded). The build id is left out: it also covers debug information and paths."""
    digest, compiler = hashlib.sha256(), "unknown"
    for section in sections(program.read_bytes()):
        if section.is_loaded and section.name != ".note.gnu.build-id":
            digest.update(section.data)
        if section.name == ".comment":
            compiler = section.data.split(b"\0")[0].decode()
    return compiler, digest.hexdigest()[:16]


def flatten(value: object, path: str = "") -> list[str]:
    """`path value` lines of a JSON document, in its order."""
    if isinstance(value, dict):
        return [line for key, part in value.items() if key not in NOT_COMPARED
                for line in flatten(part, f"{path}.{key}" if path else key)]
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return [line for index, part in enumerate(value) for line in flatten(part, f"{path}[{index}]")]
    return [f"{path} {json.dumps(value)}"]


def simulate(run: Run, build: Path) -> str:
    """Runs the simulator; the text as it is committed. @raises RuntimeError if the run fails."""
    guests = build / "guest"
    compiler, loaded = identity(guests / run.program)
    with tempfile.TemporaryDirectory() as out:
        # A program that knows its path (argv[0], /proc/self/exe) may run differently from one clone to another.
        simulator = str(build / "bin" / "rubato-chip")
        command = [simulator, *run.options, "--argv0", run.program, "--out", f"{out}/run", run.program, *run.arguments]
        done = subprocess.run(command, cwd=guests, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode != run.exit_code:
            raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        stats = json.loads(Path(out, "run", "stats.json").read_text())
    head = [f"# {' '.join(('rubato-chip', *run.options, run.program, *run.arguments))}",
            f"# compiler {compiler}", f"# program {loaded}"]
    return "\n".join(head + flatten(stats)) + "\n"


def header(text: str, what: str) -> str:
    prefix = f"# {what} "
    return next((line[len(prefix):] for line in text.splitlines()[:5] if line.startswith(prefix)), "")


def difference(expected: str, actual: str, limit: int = 12) -> str:
    """The first statistics that differ, for a person."""
    before, after = (dict(line.rsplit(" ", 1) if "[" not in line else line.split(" ", 1) for line in text.splitlines()
                          if not line.startswith("#")) for text in (expected, actual))
    lines = [f"  {name}: was {before.get(name, 'absent')}, is {after.get(name, 'absent')}"
             for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    more = f"\n  and {len(lines) - limit} more" if len(lines) > limit else ""
    return "\n".join(lines[:limit]) + more
