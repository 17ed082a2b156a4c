"""TCMalloc for guest programs: `tools/tcmalloc` takes the right sources only, and applications compute with it what
they compute without."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import rubato

INPUTS = {
    "des": "--generate csa:5 --vectors 2 --events heap",
    "genome": "--gene 256 --segment 16 --segments 512",
    "nocsim": "--width 4 --height 4 --cycles 60",
    "silo": "--warehouses 1 --transactions 30",
}


def test_another_archive_is_refused_in_a_sentence(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "google-perftools_2.10.orig.tar.gz"
    other.write_bytes(b"not the sources")
    done = subprocess.run([root / "tools/tcmalloc", "--source", other], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"tools/tcmalloc: {other} is not the source of gperftools 2.10: its SHA-256 is ")
    assert done.stderr.count("\n") == 1


def test_an_archive_that_is_not_there_is_named(root: Path, tmp_path: Path) -> None:
    none = tmp_path / "none.tar.gz"
    done = subprocess.run([root / "tools/tcmalloc", "--source", none], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"tools/tcmalloc: {none} cannot be read: No such file or directory.\n")


@pytest.fixture(scope="module")
def with_tcmalloc(root: Path, guests: Path) -> Path:
    """Programs with it: fetched and built, unless they are there."""
    done = subprocess.run([root / "tools/tcmalloc"], capture_output=True, text=True, check=False)
    if done.returncode != 0 and "cannot be had" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return guests


@pytest.mark.long
@pytest.mark.parametrize("application", INPUTS)
def test_applications_are_right_with_tcmalloc_in_all_modes(
    application: str, with_tcmalloc: Path, tmp_path: Path
) -> None:
    program = with_tcmalloc / f"{application}-tcmalloc"
    symbols = subprocess.run(["riscv64-linux-gnu-nm", program], capture_output=True, text=True, check=True).stdout
    address = {line.split()[-1]: line.split()[0] for line in symbols.splitlines() if len(line.split()) == 3}
    assert address["malloc"] == address["tc_malloc"]
    assert "_int_malloc" not in address  # the C library's
    for cores in (1, 4, 16):
        for mode in ("spec", "nonspec", "mayspec"):
            done = rubato.run(application, cores=cores, mode=mode, alloc="tcmalloc", out=tmp_path / f"{cores}{mode}",
                              arguments=INPUTS[application])  # fmt: skip
            assert done.summary.check == "passed"
