"""Other libraries of actors: programs in bench/peers that send the same messages as apps/savina and check the same
results. Each is built when a benchmark needs it, never by `make`."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT
from rubato.errors import UsageError

PEERS = ROOT / "build" / "peers"
SOURCES = ROOT / "bench" / "peers"

#: The benchmarks that all of them have, with the names of their sizes in the order of the programs' last arguments.
SIZE_NAMES = {
    "pingpong": ("n",), "count": ("n",), "fjthrput": ("n", "a"), "fjcreate": ("n",), "threadring": ("n", "r"),
    "chameneos": ("c", "m"), "big": ("n", "w"), "streaming": ("n", "w"), "fib": ("n",),
}  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """`settings`: each is a configuration, with its last arguments and environment. `needs`: programs and files that
    are there if it is installed. {out} in `build` and `launch`: the program, or the folder that it consists of. It is
    an argument of its own and no part of a shell's script, since a path may have any character."""

    title: str
    folder: str
    needs: tuple[str, ...]
    remedy: str
    build: tuple[str, ...]
    settings: dict[str, tuple[str, ...]]
    launch: tuple[str, ...] = ("{out}",)

    @property
    def program(self) -> Path:
        return PEERS / self.folder

    def is_installed(self) -> bool:
        return all(Path(n).exists() if n.startswith("/") else shutil.which(n) is not None for n in self.needs)

    def filled(self, command: Sequence[str], out: str = "") -> list[str]:
        return [part.format(out=out or self.program) for part in command]

    def make(self) -> None:
        """Builds it, if its source is newer. A program that is there is whole: a build that fails or is interrupted
        leaves only a part beside it. @raises UsageError with what the compiler said."""
        sources = [f for f in (SOURCES / self.folder).iterdir() if f.is_file()]
        if self.program.exists() and all(f.stat().st_mtime < self.program.stat().st_mtime for f in sources):
            return
        part = PEERS / f"{self.folder}.part"
        _remove(part)
        PEERS.mkdir(parents=True, exist_ok=True)
        command = self.filled(self.build, str(part))
        done = subprocess.run(command, cwd=SOURCES / self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UsageError(f"{self.title}: {' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-500:]}")
        _remove(self.program)
        part.rename(self.program)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


ALL_PEERS = {
    "C": Peer("CAF", "caf", ("/usr/include/caf/all.hpp",), "apt-get install libcaf-dev",
              ("g++", "-std=c++17", "-O3", "-DNDEBUG", "-o", "{out}", "savina.cpp", "-lcaf_core", "-pthread"),
              {"stealing": ("stealing",), "sharing": ("sharing",)}),
    "P": Peer("Pekko", "pekko", ("java", "javac", "mvn"), "apt-get install openjdk-17-jdk-headless maven",
              ("sh", "-c", 'mvn -q -B dependency:copy-dependencies -DoutputDirectory="$1/lib"'
                           ' && javac -cp "$1/lib/*" -d "$1" Savina.java', "sh", "{out}"),
              {"throughput-5": ("5",), "throughput-50": ("50",)},
              ("java", "-XX:+UseParallelGC", "-Xms2g", "-Xmx2g", "-cp", "{out}:{out}/lib/*", "Savina")),
    "G": Peer("Go", "go", ("go",), "apt-get install golang-go", ("go", "build", "-o", "{out}", "savina.go"),
              {"": ("default",)}),
    "E": Peer("Erlang", "erlang", ("erl", "erlc"), "apt-get install erlang-base",
              ("sh", "-c", 'mkdir "$1" && erlc -Werror -o "$1" savina.erl', "sh", "{out}"),
              {"on-heap": ("on_heap",), "off-heap": ("off_heap",)},
              ("erl", "-noinput", "-pa", "{out}", "-run", "savina", "main")),
}  # fmt: skip
