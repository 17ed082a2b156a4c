"""Mapped files beside what tests/guest/file_mappings.c shows under qemu-riscv64: advice that QEMU does not pass on to
Linux, other processes that change the file, and files that are mapped in a checkpoint."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

# Fast-forward alone: the program marks no region.
MODES = {"detail": ["--no-ff", "--cores", "2"], "fast-forward": ["--roi", "@markers"]}

# Output of the same program under Linux 6.1 on x86-64.
ADVICE = """free own: 0 
free private: -1 Invalid argument
free shared: -1 Invalid argument
remove own: -1 Invalid argument
remove private: -1 Permission denied
remove shared: 0 
'first' '' ''
remove anonymous: 0 
''
no advice: -1 Invalid argument
"""

MOVES = """two kinds: -1 Bad address
extended: -1 Bad address
as before: 'w' SIGSEGV 2
read only: 0 
there: 'b' SIGSEGV 2
writable: 0 
there: 'c' 'w'
cut: 0 
left: 'c' SIGSEGV 1
"""


@pytest.mark.parametrize("mode", MODES)
def test_memory_keeps_its_rights_where_it_moves(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    command = [rubato_chip, "--quiet", *MODES[mode], guests / "file_mappings", "moves"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (MOVES, 0), done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_advice_gives_back_what_linux_gives_back(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    command = [rubato_chip, "--quiet", *MODES[mode], guests / "file_mappings", "advice"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (ADVICE, 0), done.stderr


def answer(run: subprocess.Popen[str], line: str) -> str:
    """Answer of the program to a line of its input."""
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write(line + "\n")
    run.stdin.flush()
    return run.stdout.readline().rstrip("\n")


@pytest.mark.parametrize("mode", MODES)
def test_another_process_and_the_program_share_a_file(
    mode: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    file = tmp_path / "shared"
    file.write_bytes(b"first".ljust(4096, b"\0") + b"other".ljust(4096, b"\0"))
    command = [rubato_chip, "--quiet", *MODES[mode], guests / "shared_with_others", file.name]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert answer(run, "show") == "first other"
        with file.open("r+b") as outside:
            outside.seek(4096)
            outside.write(b"mine!")
        assert answer(run, "show") == "first mine!"
        assert answer(run, "write") == "written"
        assert file.read_bytes()[:5] == b"guest"
        # The page is gone: the access reads zero, and the next system call tells.
        os.truncate(file, 4096)
        assert answer(run, "touch") == "read 0, faults 1, code 2"
        # The page is back.
        with file.open("r+b") as outside:
            outside.seek(4096)
            outside.write(b"again")
        assert answer(run, "touch") == f"read {ord('a')}, faults 1, code 2"
        assert run.communicate()[0] == ""
    assert run.returncode == 0
    assert file.read_bytes().startswith(b"guest")


PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *shared, *own;
__attribute__((noinline)) void behind(void) {
  printf("%s %s %s", shared, own, own + 4096);
  madvise(own, 8192, MADV_DONTNEED);
  printf(" %s\n", own);
}
int main(int argc, char** argv) {
  int fd = open(argv[1], O_RDONLY);
  shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  close(fd);
  memset(own, 0, 4);
  strcpy(own, "own");
  behind();
}
"""


def test_mapped_files_are_restored(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    subprocess.run(
        ["riscv64-linux-gnu-gcc", "-O1", "-static", "-o", program, tmp_path / "program.c"], check=True
    )
    (tmp_path / "input").write_bytes(b"first\0".ljust(4096, b"x") + b"second\0")
    words = ["--roi", "behind", program, str(tmp_path / "input")]
    taken = subprocess.run([rubato_chip, "--checkpoint", tmp_path / "file", *words], capture_output=True, check=False)
    assert taken.returncode == 0, taken.stderr
    command = [rubato_chip, "--quiet", "--restore", tmp_path / "file", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("first own second first\n", 0), done.stderr


def test_a_file_mapped_for_writing_is_in_no_checkpoint(rubato_chip: Path, tmp_path: Path) -> None:
    writes = PROGRAM.replace("O_RDONLY", "O_RDWR").replace("PROT_READ, MAP_S", "PROT_READ | PROT_WRITE, MAP_S")
    (tmp_path / "program.c").write_text(writes)
    program = tmp_path / "program"
    subprocess.run(
        ["riscv64-linux-gnu-gcc", "-O1", "-static", "-o", program, tmp_path / "program.c"], check=True
    )
    (tmp_path / "input").write_bytes(b"first\0".ljust(4096, b"x") + b"second\0")
    command = [rubato_chip, "--checkpoint", "file", "--roi", "behind", program, "input"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the program has mapped a file shared and writable" in done.stderr
