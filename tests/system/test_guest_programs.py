"""Guest programs print the same bytes on the chip as under qemu-riscv64 (C5): those of tests/guest, in detail.

A program needs no entry here: each source in tests/guest is one program. `NAME.args` beside it holds its arguments,
one a line, `NAME.stdin` its input. One that must not be compared has a line `// no-qemu: REASON` in its first ten.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "guest"


def is_compared(source: Path) -> bool:
    return "no-qemu:" not in "".join(source.read_text().splitlines(keepends=True)[:10])


PROGRAMS = sorted(s.stem for s in SOURCES.glob("*.c*") if s.suffix in {".c", ".cpp"} and is_compared(s))


def run(command: list[str | Path], folder: Path, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=240)


@pytest.mark.skipif(shutil.which("qemu-riscv64") is None, reason="qemu-riscv64 is not installed (tools/bootstrap)")
@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_it_prints_under_qemu(
    program: str, cores: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    arguments = (SOURCES / f"{program}.args").read_text().splitlines() if (SOURCES / f"{program}.args").exists() else []
    stdin = (SOURCES / f"{program}.stdin").read_bytes() if (SOURCES / f"{program}.stdin").exists() else b""
    folders = [tmp_path / "qemu", tmp_path / "chip"]
    for folder in folders:  # programs may write files: each run has a folder of its own
        folder.mkdir()
        (folder / program).symlink_to(guests / program)
    reference = run(["qemu-riscv64", f"./{program}", *arguments], folders[0], stdin)
    command = [rubato_chip, "--quiet", "--set", f"chip.cores={cores}", f"./{program}", *arguments]
    chip = run(command, folders[1], stdin)
    assert chip.stdout == reference.stdout, chip.stderr.decode(errors="replace")[-2000:]
    # The command's exit code is 1 for every guest that exits with something else than 0.
    assert (chip.returncode == 0) == (reference.returncode == 0), chip.stderr.decode(errors="replace")[-2000:]
