"""Zba, Zbb, Zbs, Zicond, Zfa, Zfhmin and cache blocks in guest programs, under each interpreter and core model."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

WAYS = {
    "in order": ["--no-ff"],
    "fast-forward": ["--roi", "@markers"],
    "window core": ["--no-ff", "--set", "core.model=window"],
}

# By key: RISCV_HWPROBE_KEY_MVENDORID ... ZICBOP_BLOCK_SIZE, then two that Linux 6 does not know. Bits of key 4, from
# Linux's header: F and D, C, Zba, Zbb, Zbs, Zicboz, Zkt, Zfhmin, Zfa, Zicond, Zihintpause, Zca, Zcd, Zicntr, Zihpm,
# Zicbom, Zaamo, Zalrsc, Zicbop.
EXTENSIONS = sum(
    1 << bit for bit in [0, 1, 3, 4, 5, 6, 16, 28, 32, 35, 36, 43, 45, 50, 51, 55, 56, 57, 60]
)  # fmt: skip
PROBED = [0, 0, 0, 1, EXTENSIONS, 3, 64, (1 << 38) - 1, 10**9, 3, 4, 0, 64, 0, 0, 64]


@pytest.mark.parametrize("way", WAYS)
def test_each_new_instruction_gives_what_plain_c_gives(
    way: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    command = [rubato_chip, "--quiet", "--cores", "2", "--out", tmp_path, *WAYS[way], guests / "new_instructions"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "14139 checks, 0 wrong"
    assert lines[1:] == [
        "hwprobe: 0",
        *[f"  {key}: key {key} value {value:x}" for key, value in enumerate(PROBED)],
        "  16: key -1 value 0",
        "  17: key -1 value 0",
        "no core: -1",
        "core 0: 0",
        "which 0: 0, set 3, key 4",
        "which 1: 0, set 3, key 3",
        "which 2: 0, set 0, key 4",
        "which 3: 0, set 0, key -1",
        "which without a set: -1",
        "other flags: -1",
        "isa\t\t: rv64imafdc_zicbom_zicbop_zicboz_zicntr_zicond_zicsr_zifencei_zihintpause_zihpm_zaamo_zalrsc"
        "_zfa_zfhmin_zca_zcd_zba_zbb_zbs_zkt",
    ]


@pytest.mark.parametrize("cores", [8, 16])
def test_a_block_that_an_aborted_task_zeroed_comes_back_whole(
    cores: int, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    command = [rubato_chip, "--quiet", "--cores", str(cores), "--check-replay", "--out", tmp_path]
    done = subprocess.run([*command, guests / "task_zeroed_blocks"], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (0, "check: passed\n"), done.stderr
    assert json.loads((tmp_path / "summary.json").read_text())["tasks"]["aborted"] > 0
