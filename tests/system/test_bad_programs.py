"""What is wrong with a program is said in one sentence, with the right exit code (cli.md, C2, C3)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def compiled(folder: Path, source: str, *options: str) -> Path:
    (folder / "bad.c").write_text(source)
    command = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", *options, "bad.c", "-o", "bad"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "bad"


def run(rubato_chip: Path, program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [rubato_chip, "--quiet", "--cores", "2", *options, program]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          check=False, timeout=120)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def test_a_text_file_is_no_program(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a program\n")
    done = run(rubato_chip, tmp_path / "notes.txt")
    assert done.returncode == 2
    assert "notes.txt" in last_line(done.stderr) and "ELF" in last_line(done.stderr)


def test_a_missing_file_is_named(rubato_chip: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, tmp_path / "absent")
    assert done.returncode == 2 and "absent" in last_line(done.stderr)


def test_a_program_of_the_host_is_refused_by_its_architecture(rubato_chip: Path) -> None:
    done = run(rubato_chip, rubato_chip)
    assert done.returncode == 2 and "RISC-V" in last_line(done.stderr)


def test_a_dynamic_program_is_refused_with_the_remedy(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["riscv64-linux-gnu-gcc", "bad.c", "-o", "bad"], cwd=tmp_path, check=True)
    done = run(rubato_chip, tmp_path / "bad")
    assert done.returncode == 2 and "-static" in last_line(done.stderr)


@pytest.mark.parametrize("length", [10, 64, 100, 1000, 100_000])
def test_a_truncated_program_is_refused(length: int, rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes((guests / "hello").read_bytes()[:length])
    done = run(rubato_chip, tmp_path / "short")
    assert done.returncode == 2 and "short" in last_line(done.stderr), done.stderr


FAULTS = {
    "wild pointer": "int main(void) { *(volatile int*)0x123456789a000 = 1; }",
    "null pointer": "int main(void) { return *(volatile int*)8; }",
    "wild jump": "int main(void) { ((void (*)(void))0x7eadbeef0)(); }",
    "stack overflow": "int f(volatile int* p) { volatile int a[64]; a[0] = *p; return f(a) + a[1]; }"
    " int main(void) { volatile int x = 1; return f(&x); }",
    "illegal instruction": 'int main(void) { __asm__ volatile(".word 0xffffffff"); }',
    "write to code": "int main(void) { *(volatile int*)main = 0; }",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_with_its_place(fault: str, rubato_chip: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, compiled(tmp_path, FAULTS[fault]), "--out", str(tmp_path / "run"))
    assert done.returncode == 3, done.stderr
    assert "0x" in done.stderr, "the report names the pc"


def test_an_endless_loop_ends_at_the_limit(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) { for (volatile int x = 0;;) x++; }")
    done = run(rubato_chip, program, "--max-cycles", "200000")
    assert done.returncode == 4 and "200" in done.stderr, done.stderr


def test_deadlocked_threads_end_and_say_who_waits(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(
        tmp_path,
        """#include <pthread.h>
pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t both;
void* other(void* x) {
  pthread_mutex_lock(&second);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&first);
  return x;
}
int main(void) {
  pthread_t thread;
  pthread_barrier_init(&both, 0, 2);
  pthread_create(&thread, 0, other, 0);
  pthread_mutex_lock(&first);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&second);
}
""",
        "-pthread",
    )
    done = run(rubato_chip, program)
    assert done.returncode == 4, done.stderr
    assert "first" in done.stderr and "second" in done.stderr, "the report names the futexes' symbols"
