"""Golden runs (C28): small runs whose statistics are committed and compared, all of them.

runs.toml lists the runs. Their programs, programs/NAME.xz, are committed as they were compiled: so a golden run
changes when the model does, and neither with a header of the guest library nor with a compiler. programs/README.md says
when a program itself is compiled anew.

expected/NAME.txt holds one line a statistic, `path value`. What is zero is left out, so a new counter of something that
a run does not do changes nothing. The rows of the single cores, tiles, controllers and conflicts are one line together:
how many, their sum, and a digest of the values in order. A speed-up of the simulator leaves every line as it is; a
change to the model updates them on purpose: `tools/golden --update "REASON"`. A run that is new comes by
`tools/golden --add "REASON"`.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
import lzma
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Texts in stats.json beside the numbers, and figures of the host: no part of a result.
NOT_COMPARED = {"unit", "description", "host", "units", "descriptions", "threads", "waits", "profile",
                "parallelism", "contention"}
ENERGY = "energy."  # a function of the counters (K77), whose last digits a compiler may round otherwise
CYCLES = "roi.chip.cycles"
#: Programs and the folders of their sources.
PROGRAMS = {"kernels": HERE / "programs", "plain": HERE / "programs/plain", "store": HERE / "programs/store"}
HISTORY = HERE / "HISTORY.md"
# A statistic of one of many units or rows: roi.core.12.loads, conflicts.lines[3].aborts.
OF_UNIT = re.compile(r"^((?:\w+|regions\[\d+\]\.values)\.(?:core|tile|mem)(?=\.)|conflicts\.\w+(?=\[))"
                     r"(?:\.\d+|\[\d+\])\.(.+)$")  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A run: options of rubato-chip, and words of the program. Without words the options name a file of programs side
    by side, which are all this one. `{root}` is the repository's folder."""

    name: str
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    exit_code: int = 0  # of the command; 1 for a guest that exits with something else than 0
    program: str = "kernels"

    @property
    def expected(self) -> Path:
        return HERE / "expected" / f"{self.name}.txt"

    @property
    def title(self) -> str:
        """The first line of the expected file: the command, the same in every clone."""
        options = (option.replace("{root}/", "") for option in self.options)
        return " ".join(("# rubato-chip", *options, *self._words))

    def command(self, simulator: Path, results: Path) -> list[str]:
        """To be run in a folder with the program."""
        options = (option.replace("{root}", str(ROOT)) for option in self.options)
        # A program that knows its path (argv[0], /proc/self/exe) may run differently from one clone to another.
        name = ("--argv0", self.program) if self.arguments else ()
        return [str(simulator), *options, *name, "--out", str(results), *self._words]

    @property
    def _words(self) -> tuple[str, ...]:
        return (self.program, *self.arguments) if self.arguments else ()


def runs() -> list[Run]:
    listed = tomllib.loads((HERE / "runs.toml").read_text()).get("run", [])
    words = ("options", "arguments")
    return [Run(**{key: () for key in words} | {k: tuple(v) if k in words else v for k, v in one.items()})
            for one in listed]  # fmt: skip


def archive_of(program: str) -> Path:
    return HERE / "programs" / f"{program}.xz"


def compile_program(name: str, program: Path) -> None:
    """Compiles a program with the guest library as it is. @raises FileNotFoundError without a cross compiler,
    subprocess.CalledProcessError if it does not compile."""
    sources = sorted(PROGRAMS[name].glob("*.cpp"))
    subprocess.run(["riscv64-linux-gnu-g++", "-std=c++20", "-O2", "-static", "-pthread", "-Wall", "-Wextra", "-Werror",
                    "-Wl,--build-id=none", "-Wl,--strip-debug", f"-I{ROOT / 'include'}", f"-I{ROOT}",
                    *map(str, sources), "-o", str(program)], check=True)


def program_into(folder: Path, name: str = "kernels") -> Path:
    """The committed program, unpacked."""
    program = folder / name
    program.write_bytes(lzma.decompress(archive_of(name).read_bytes()))
    program.chmod(0o755)
    return program


def flatten(value: object, path: str = "") -> list[str]:
    """`path value` lines of a JSON document, in its order."""
    if isinstance(value, dict):
        return [line for key, part in value.items() if key not in NOT_COMPARED and not key.startswith(ENERGY)
                for line in flatten(part, f"{path}.{key}" if path else key)]
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return [line for index, part in enumerate(value) for line in flatten(part, f"{path}[{index}]")]
    return [f"{path} {json.dumps(value)}"]


def fold(lines: list[str]) -> list[str]:
    """The lines without zeros, and with one line for a statistic of all cores, tiles, controllers or conflicts."""
    folded: dict[str, list[str]] = {}
    for line in lines:
        path, value = line.split(" ", 1)
        of_unit = OF_UNIT.match(path)
        folded.setdefault(f"{of_unit[1]}.*.{of_unit[2]}" if of_unit else path, []).append(value)
    result = []
    for path, values in folded.items():
        if not any(re.search(r"[1-9A-Za-z]", value) for value in values):
            continue
        if ".*." in path:
            numbers = [json.loads(value) for value in values]
            total = f"sum {sum(numbers)} " if all(isinstance(n, int) for n in numbers) else ""
            digest = hashlib.sha256("\n".join(values).encode()).hexdigest()[:12]
            result.append(f"{path} count {len(values)} {total}digest {digest}")
        else:
            result.append(f"{path} {values[0]}")
    return result


def simulate(run: Run, build: Path) -> str:
    """Runs the simulator; the text as it is committed. @raises RuntimeError if the run fails."""
    with tempfile.TemporaryDirectory() as folder:
        program_into(Path(folder), run.program)
        command = run.command(build / "bin" / "rubato-chip", Path(folder, "run"))
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode != run.exit_code:
            raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        stats = json.loads(Path(folder, "run", "stats.json").read_text())
    printed = (re.match(r"^([a-z ]+): (\d+)$", line) for line in done.stdout.splitlines())
    head = [run.title, *(f"prints.{line[1].replace(' ', '_')} {line[2]}" for line in printed if line)]
    return "\n".join(head + fold(flatten(stats))) + "\n"


def difference(expected: str, actual: str, limit: int = 12) -> str:
    """For a person: how many statistics differ, of which parts, how far the cycles went, and the first of them."""
    before, after = (dict(line.split(" ", 1) for line in text.splitlines() if not line.startswith("#"))
                     for text in (expected, actual))
    changed = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    parts = Counter(".".join(re.split(r"[.\[]", name)[:2]) for name in changed)
    lines = [f"  {len(changed)} of {len(before)} statistics differ: "
             + ", ".join(f"{part} {count}" for part, count in parts.most_common())]
    if (was := int(before.get(CYCLES, "0"))) and (now := int(after.get(CYCLES, "0"))):
        lines.append(f"  cycles: {was:,} -> {now:,} ({100 * (now - was) / was:+.2f} %)")
    lines += [f"  {name}: was {before.get(name, 'absent')}, is {after.get(name, 'absent')}" for name in changed[:limit]]
    return "\n".join(lines) + (f"\n  and {len(changed) - limit} more" if len(changed) > limit else "")
