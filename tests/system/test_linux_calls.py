"""Calls and files of Linux that qemu-riscv64 has not, or shows of the host: what the chip answers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "guest"
PROC = """pid 1, parent 1, threads 1, user 1
8 MiB more: 8192 KiB; most: 1
in pages the same: 1
stat: 3, this 1 proc_files R
its 23rd field: 1
auxv: entry 1
limits: files 1
smaps: 1
no such file: -1
not written: -1 EACCES
tasks 2, named a-thread
of the thread: 1
it has ended: -1
descriptors 4
reads 1 a
may not write: -1
truncated to 0
written 3, seen 3
without a name: 3
status of the file: 1
memory: 2
the pipe's other end: 1 1
its end: 0
a socket: -1 ENXIO
readlink 1
the program itself is not written: -1 EACCES
no folder: -1 ENOTDIR
"""
OTHER_MEMORY = """read: 13
'of ' 'the child', here 'before'
up to the end: 4
not there: EFAULT
flags: EINVAL
no process: ESRCH
advice: 8192
no such advice: EINVAL
no process's: EBADF
a part: 4096
write: 22
child finds: written by the parent
child: 0
pages: 0
of two bytes: 2
of all: 4
flags: EINVAL
no file: EBADF
policy: 0
usual: 0
allowed: 0
nodes: 1
its node: 0
is: 0
bind: 0
no such node: EINVAL
no such policy: EINVAL
"""


def compile_for_host(program: str, folder: Path) -> Path:
    native = folder / program
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", native, SOURCES / f"{program}.c"], check=True)
    return native


def run(folder: Path, *command: str | Path) -> str:
    folder.mkdir()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode()


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
@pytest.mark.parametrize(
    "program",
    ["rare_calls", "fifos", "bad_buffers", "modes_and_names", "kept_settings", "more_paths", "own_files",
     "several_futexes"])
def test_calls_answer_as_those_of_the_host(
        guests: Path, rubato_chip: Path, tmp_path: Path, program: str, options: list[str]) -> None:
    """The same source, compiled for this computer."""
    host = run(tmp_path / "host", compile_for_host(program, tmp_path))
    chip = run(tmp_path / "chip", rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / program)
    assert chip == host


def test_set_id_bits_are_those_of_the_host_or_refused(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    command = [rubato_chip, "--quiet", "--out", tmp_path / "run", guests / "modes_and_names", "set-ids"]
    if os.geteuid() != 0:
        native = compile_for_host("modes_and_names", tmp_path)
        assert run(tmp_path / "chip", *command) == run(tmp_path / "host", native, "set-ids")
        return
    (tmp_path / "chip").mkdir()
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path / "chip", text=True)
    assert done.returncode == 0, done.stderr
    assert "made: ENOENT\nchmod: ENOENT" in done.stdout
    assert "refused to give" in done.stderr
    assert "Rubato runs as root" in done.stderr


def test_a_fifo_of_the_host_says_why_the_run_stands_still(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    other_end = os.open(tmp_path / "fifo", os.O_RDWR)
    os.write(other_end, b"from the host\n")
    command = [rubato_chip, "--quiet", "--out", tmp_path / "run", guests / "fifos", "fifo"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    os.close(other_end)
    out, told = done.stdout, done.stderr
    assert out == "from the host\n"
    assert "opens the FIFO" in told
    assert "a program of the host has opened its other end" in told


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"], ["--cores", "2", "--sandbox", "chip"]])
def test_inotify_tells_of_the_changes_that_the_host_tells_of(
        guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    """The same source, compiled for this computer."""
    host = run(tmp_path / "host", compile_for_host("inotify", tmp_path))
    options = [str(tmp_path / option) if option == "chip" else option for option in options]
    chip = run(tmp_path / "chip", rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "inotify")
    assert chip == host
    assert chip.count("move 0 ") == 2, "both halves of a move have one number"


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
def test_the_bound_of_descriptors_is_that_of_the_host(
        guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    host = run(tmp_path / "host", compile_for_host("descriptor_limit", tmp_path))
    command = [rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "descriptor_limit"]
    assert run(tmp_path / "chip", *command) == host


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
def test_files_of_proc_agree_with_calls(guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    command = [rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "proc_files"]
    assert run(tmp_path / "chip", *command) == PROC


@pytest.mark.parametrize("options", [["--cores", "2"], ["--no-ff"]])
def test_memory_of_other_processes_is_read_and_written(
        guests: Path, rubato_chip: Path, tmp_path: Path, options: list[str]) -> None:
    command = [rubato_chip, "--quiet", *options, "--out", tmp_path / "run", guests / "other_memory"]
    assert run(tmp_path / "chip", *command) == OTHER_MEMORY


DATE = r"""
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
int main(void) {
  struct timeval now;
  struct timespec start = {0, 0};
  gettimeofday(&now, NULL);
  clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &(struct timespec){now.tv_sec + 1, 0}, NULL);
  clock_gettime(CLOCK_REALTIME, &start);
  printf("%ld %ld %ld\n", (long)now.tv_sec, (long)start.tv_sec, (long)time(NULL));
  return 0;
}
"""


@pytest.mark.parametrize(("options", "date"), [([], 1704067200), (["--set", "run.start_date=1800000000"], 1800000000)])
def test_the_date_of_the_start_is_a_key(rubato_chip: Path, tmp_path: Path, options: list[str], date: int) -> None:
    (tmp_path / "date.c").write_text(DATE)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w"]
    subprocess.run([*compiler, tmp_path / "date.c", "-o", tmp_path / "date"], check=True)
    said = run(tmp_path / "chip", rubato_chip, "--quiet", *options, "--fast-forward", tmp_path / "date")
    assert said == f"{date} {date + 1} {date + 1}\n"


USERS = r"""
#include <stdio.h>
#include <unistd.h>
static void show(const char* path) {
  char line[200];
  FILE* const file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) fputs(line, stdout);
  printf("%d %d\n", access(path, R_OK), access(path, W_OK));
}
int main(void) {
  show("/etc/passwd");
  show("/etc/group");
  return 0;
}
"""


def test_the_user_of_the_program_has_a_name_on_every_host(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "users.c").write_text(USERS)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w"]
    subprocess.run([*compiler, tmp_path / "users.c", "-o", tmp_path / "users"], check=True)
    said = run(tmp_path / "chip", rubato_chip, "--quiet", "--fast-forward", tmp_path / "users")
    assert said == """root:x:0:0::/root:/bin/sh
rubato:x:1000:1000::/:/bin/sh
nobody:x:65534:65534::/:/bin/sh
0 -1
root:x:0:
rubato:x:1000:
nogroup:x:65534:
0 -1
"""
    (tmp_path / "confined").mkdir()
    options = ["--quiet", "--fast-forward", "--sandbox", tmp_path / "confined"]
    assert run(tmp_path / "again", rubato_chip, *options, tmp_path / "users") == "-1 -1\n-1 -1\n"
