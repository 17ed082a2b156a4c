"""Errors of a program are said in one sentence, with the right exit code (cli.md, C2, C3)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest


def compiled(folder: Path, source: str, *options: str) -> Path:
    (folder / "bad.c").write_text(source)
    command = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", *options, "bad.c", "-o", "bad"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "bad"


def compiled_tasks(folder: Path, source: str, *options: str) -> Path:
    """A program of the task model."""
    (folder / "bad.cpp").write_text(source)
    include = Path(__file__).resolve().parents[2] / "include"
    command = ["riscv64-linux-gnu-g++", "-std=c++20", "-O2", "-static", f"-I{include}", *options]
    command += ["bad.cpp", "-o", "bad"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "bad"


def run(rubato_chip: Path, program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [rubato_chip, "--quiet", "--cores", "2", *options, program]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          check=False)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def test_large_locals_of_tasks_overflow_with_the_remedy_or_get_more_stack(rubato_chip: Path, tmp_path: Path) -> None:
    source = """
        #include "rubato/rubato.hpp"
        #include <cstdio>
        [[gnu::noinline]] void fill(volatile char* room, int bytes) {
          for (int i = bytes - 1; i >= 0; i -= 64) room[i] = 1;
        }
        void large(int) { volatile char room[1200000]; fill(room, sizeof room); }
        int main() {
          for (int i = 0; i < 64; ++i) rubato::create<rubato::nonspec>(large, {}, i);
          rubato::run();
          std::puts("done");
        }
    """
    done = run(rubato_chip, compiled_tasks(tmp_path, source))
    assert done.returncode == 3
    assert "overflowed its stack" in done.stderr and "-DRUBATO_TASK_STACK_BYTES=BYTES" in done.stderr
    done = run(rubato_chip, compiled_tasks(tmp_path, source, "-DRUBATO_TASK_STACK_BYTES=2097152"))
    assert done.returncode == 0 and "done" in done.stdout


@pytest.mark.parametrize("option", ["--no-ff", "--roi=wait"])
def test_who_sleeps_for_ever_is_found(option: str, rubato_chip: Path, tmp_path: Path) -> None:
    """Longer than simulated time is: that must not wrap into the past."""
    program = compiled(tmp_path, """
        #include <time.h>
        __attribute__((noinline)) int wait(void) {
          const struct timespec years = {10000000000, 0};
          return nanosleep(&years, 0);
        }
        int main(void) { return wait(); }
    """)
    done = run(rubato_chip, program, option)
    assert done.returncode == 4 and "nothing can proceed" in done.stderr


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


def test_a_dynamic_program_without_its_loader_is_refused_with_the_remedy(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("int main(void) { return 0; }\n")
    compiler = ["riscv64-linux-gnu-gcc", "-Wl,--dynamic-linker=/no/such/loader"]
    subprocess.run([*compiler, "bad.c", "-o", "bad"], cwd=tmp_path, check=True)
    done = run(rubato_chip, tmp_path / "bad")
    assert done.returncode == 2
    assert "/no/such/loader is not there" in last_line(done.stderr) and "-static" in last_line(done.stderr)


TASK_FAULT = """
#include <rubato/rubato.hpp>
void plant(int* at) { *at = 1; }
int main(int argc, char**) {
  rubato::create<rubato::TYPE>(plant, {.at = 7}, reinterpret_cast<int*>(argc - 1));
  rubato::run();
}
"""


@pytest.mark.parametrize("task_type", ["spec", "nonspec", "mayspec"])
def test_a_fault_in_a_task_names_task_and_timestamp(
    task_type: str, rubato_chip: Path, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "fault.cpp").write_text(TASK_FAULT.replace("TYPE", task_type))
    subprocess.run(["riscv64-linux-gnu-g++", "-std=c++20", "-O2", "-static", "-pthread", f"-I{root / 'include'}",
                    tmp_path / "fault.cpp", "-o", tmp_path / "fault"], check=True, capture_output=True)  # fmt: skip
    done = run(rubato_chip, tmp_path / "fault", "--out", str(tmp_path / "run"))
    assert done.returncode == 3, done.stderr
    sentence = "task plant(int*) at timestamp 7 wrote address 0x0 (a null pointer?), which is not mapped, at 0x"
    assert sentence in done.stderr, done.stderr


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


@pytest.mark.parametrize("options", [[], ["--no-ff"], ["--warm"]])
def test_a_task_that_reads_the_stack_of_another_worker_is_refused(
    options: list[str], rubato_chip: Path, guests: Path
) -> None:
    command = [rubato_chip, "--quiet", "--cores", "16", *options, guests / "foreign_stack"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout
    assert "stack of another core's worker" in last_line(done.stderr) and "reader()" in last_line(done.stderr)


@pytest.mark.parametrize("cores", [1, 4])
def test_a_task_that_ends_its_thread_is_refused(cores: int, rubato_chip: Path, guests: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", str(cores), guests / "exit_thread"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "a task ended the thread that it runs on: a task ends by returning" in last_line(done.stderr)


@pytest.mark.parametrize("options", [["--quiet", "PROGRAM"], ["--json", "PROGRAM"], ["--help"], ["--help-config"],
                                     ["--show-config"]], ids=lambda options: options[0])  # fmt: skip
def test_output_that_nothing_takes_is_no_success(options: list[str], rubato_chip: Path, guests: Path) -> None:
    words = [str(guests / "hello") if o == "PROGRAM" else o for o in options]
    with open("/dev/full", "w") as full:
        done = subprocess.run([rubato_chip, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "writ" in last_line(done.stderr) and "No space left on device" in last_line(done.stderr), done.stderr


def test_a_trace_that_the_disk_does_not_take_leaves_nothing_half_written(
    rubato_chip: Path, guests: Path, tmp_path: Path
) -> None:
    command = [rubato_chip, "--quiet", "--cores", "16", "--trace", "--out", tmp_path / "run", guests / "sssp"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))  # noqa: E731
    done = subprocess.run([*command, "--generate", "road:60x60"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, preexec_fn=limit)  # fmt: skip
    assert done.returncode == 2
    assert last_line(done.stderr) == f"rubato-chip: {tmp_path / 'run'}: the disk does not take the trace"
    assert {f.name for f in (tmp_path / "run").iterdir()} == {"incomplete", "run.toml"}


def test_an_endless_loop_ends_at_the_limit(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) { for (volatile int x = 0;;) x++; }")
    done = run(rubato_chip, program, "--max-cycles", "200000")
    assert done.returncode == 4 and "200000 cycles" in done.stderr, done.stderr
    assert "thread 1000 at main" in done.stderr


def test_what_tasks_wait_for_is_said_with_the_names_of_functions(rubato_chip: Path, guests: Path) -> None:
    command = [rubato_chip, "--quiet", "--cores", "4", "--max-cycles", "20000", guests / "sssp"]
    done = subprocess.run([*command, "--generate", "road:40x40"], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 4
    waiting = [line for line in done.stderr.splitlines() if " function " in line]
    assert any(line.startswith("core ") for line in waiting) and any("earliest idle task" in line for line in waiting)
    assert all("visit" in line and "0x" not in line for line in waiting), waiting


DEADLOCK = """#include <pthread.h>
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
"""


# Events of a watch or a limit on a run must not pass for progress.
@pytest.mark.parametrize(
    "options", [[], ["--no-ff"], ["--interval", "1000", "--max-cycles", "1000000000000", "--out", "run"]]
)
def test_deadlocked_threads_end_and_say_who_waits(options: list[str], rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, DEADLOCK, "-pthread")
    done = run(rubato_chip, program, *[str(tmp_path / o) if o == "run" else o for o in options])
    assert done.returncode == 4, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("thread ")]
    assert len(lines) == 2
    for line, caller, mutex, holder in zip(lines, ["main", "other"], ["second", "first"], [1001, 1000], strict=True):
        assert "0x" in line and caller in line
        assert f"({mutex}), a mutex held by thread {holder}" in line
    assert "nothing can proceed" in last_line(done.stderr)


def test_an_ended_wait_with_a_far_limit_does_not_delay_the_end(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(
        tmp_path,
        """#include <pthread.h>
#include <semaphore.h>
#include <time.h>
sem_t go, never;
void* other(void* x) { sem_post(&go); return x; }
int main(void) {
  pthread_t thread;
  struct timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1000000;
  pthread_create(&thread, 0, other, 0);
  sem_timedwait(&go, &far);
  sem_wait(&never);
}
""",
        "-pthread",
    )
    done = run(rubato_chip, program, "--interval", "1000", "--out", str(tmp_path / "run"))
    assert done.returncode == 4, done.stderr
    assert "never" in done.stderr


# Each line is one way to get memory: what fits is given, one byte more is refused, and reserving is free.
MEMORY = """#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define MIB (1ul << 20)
static int map(size_t n, int rights) {
  void* p = mmap(0, n, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return errno;
  munmap(p, n);
  return 0;
}
static void* reserved(size_t n) { return mmap(0, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) {
  errno = 0;
  printf("mmap %d %d %d\\n", map(48 * MIB, 3), map(64 * MIB, 3) == ENOMEM, map(1024 * MIB, 0));
  printf("brk %d %d\\n", sbrk(MIB) == (void*)-1, sbrk(64 * MIB) == (void*)-1 && errno == ENOMEM);
  char* p = reserved(256 * MIB);
  printf("mprotect %d %d\\n", mprotect(p, 32 * MIB, 3), mprotect(p, 256 * MIB, 3) && errno == ENOMEM);
  printf("again %d\\n", mprotect(p, 40 * MIB, 3));
  printf("mremap %d\\n", mremap(p, 40 * MIB, 80 * MIB, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
  printf("malloc %d\\n", malloc(60 * MIB) == 0);
  munmap(p, 256 * MIB);
  printf("freed %d\\n", malloc(40 * MIB) != 0);
}
"""


def test_more_memory_than_the_chip_has_is_refused(rubato_chip: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, compiled(tmp_path, MEMORY), "--set", "run.memory_bytes=67108864")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "mmap 0 1 0\nbrk 0 1\nmprotect 0 1\nagain 0\nmremap 1\nmalloc 1\nfreed 1\n"
    ample = run(rubato_chip, tmp_path / "bad")  # the default is far more
    assert "mmap 0 0 0" in ample.stdout and "malloc 0" in ample.stdout


SPACE = """#include <stdio.h>
#include <stdint.h>
#include <sys/mman.h>
#define MAP(at, bytes) mmap((void*)(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
int main(void) {
  const uintptr_t top = (uintptr_t)1 << 32;
  int local;
  void* low = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("stack %d mapping %d\\n", (uintptr_t)&local < top, (uintptr_t)low < top);
  printf("last %d\\n", MAP(top - (64 << 10), 4096) != MAP_FAILED);
  printf("behind %d %d\\n", MAP(top, 4096) == MAP_FAILED, MAP(top - 4096, 8192) == MAP_FAILED);
  printf("all %d\\n", mmap(0, top, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}
"""


def test_a_smaller_address_space_ends_where_the_key_says(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, SPACE)
    done = run(rubato_chip, program, "--set", "run.address_bits=32")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "stack 1 mapping 1\nlast 1\nbehind 1 1\nall 1\n"
    usual = run(rubato_chip, program)
    assert usual.stdout == "stack 0 mapping 0\nlast 1\nbehind 0 0\nall 0\n"


def test_a_stack_must_fit_into_the_address_space(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) {}")
    options = ("--set", "run.address_bits=32", "--set", "run.stack_bytes=1GiB")
    done = run(rubato_chip, program, *options)
    assert done.returncode == 2
    assert "run.stack_bytes is 1073741824, expected 65536 to 268435456" in last_line(done.stderr)
    assert run(rubato_chip, program, *options[2:]).returncode == 0
    done = run(rubato_chip, program, "--set", "run.stack_bytes=32GiB")
    assert done.returncode == 2
    assert "run.stack_bytes is '32GiB', expected 65536 to 17179869184 bytes" in done.stderr


def test_a_stack_must_fit_into_the_memory(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) {}")
    done = run(rubato_chip, program, "--set", "run.memory_bytes=1GiB", "--set", "run.stack_bytes=2GiB")
    assert done.returncode == 2
    assert "run.stack_bytes is 2147483648, but the program's whole memory, run.memory_bytes, is" in done.stderr


def test_an_abort_is_named(rubato_chip: Path, tmp_path: Path) -> None:
    done = run(rubato_chip, compiled(tmp_path, "#include <stdlib.h>\nint main(void) { abort(); }"))
    assert done.returncode == 3 and "SIGABRT" in last_line(done.stderr)


def test_a_fault_in_a_thread_names_the_thread(rubato_chip: Path, tmp_path: Path) -> None:
    program = compiled(
        tmp_path,
        """#include <pthread.h>
__attribute__((noinline)) void culprit(int* p) { *(volatile int*)p = 1; }
void* other(void* x) { culprit((int*)0x5550000); return x; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  for (;;) __asm__ volatile("");
}
""",
        "-pthread",
    )
    done = run(rubato_chip, program)
    assert done.returncode == 3
    assert all(word in last_line(done.stderr) for word in ["thread 1001", "0x5550000", "culprit"]), done.stderr


@pytest.mark.parametrize("depth", range(4))
def test_an_exception_leaves_a_task_that_has_speculated(depth: int, rubato_chip: Path, tmp_path: Path) -> None:
    """Wherever the stack of run()'s caller ends: an attempt's begins at the next line below."""
    source = f"""#include <stdexcept>
#include "rubato/rubato.hpp"
void work(int n) {{ for (volatile int i = 0; i < n; i = i + 1) {{}} }}
void fails() {{ work(3000); throw std::runtime_error("no such gate:\\n17"); }}
int main() {{
  volatile char frame[16 * {depth} + 1];
  frame[0] = 0;
  rubato::create<rubato::mayspec>(work, {{.at = 0, .on = 99}}, 1000);
  for (int i = 0; i < 8; ++i) rubato::create<rubato::mayspec>(fails, {{.at = 1 + i, .on = i}});
  rubato::run();
  return frame[0];
}}
"""
    done = run(rubato_chip, compiled_tasks(tmp_path, source))
    assert done.returncode == 3
    assert done.stderr == "rubato-chip: task fails() at timestamp 1 ended with an exception: no such gate: 17\n"


def test_misuse_outside_tasks_says_where(rubato_chip: Path, tmp_path: Path) -> None:
    """A task names itself in its sentence; without one, what helps is who called."""
    source = """#include "rubato/rubato.hpp"
void work() {}
[[gnu::noinline]] void culprit(int at) { rubato::create<rubato::nonspec>(work, {.at = at}); }
int main(int argc, char**) { culprit(-argc); }
"""
    done = run(rubato_chip, compiled_tasks(tmp_path, source))
    assert done.returncode == 3
    sentence = "rubato-chip: a timestamp must not be negative, but -1 was given, called from "
    assert done.stderr.startswith(sentence) and done.stderr.endswith("culprit(int) < main\n"), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_names_no_caller_whose_call_is_over(rubato_chip, tmp_path):
    """Its return address is still on the stack, in a frame that no call has written to."""
    source = """#include <rubato/rubato.hpp>
[[gnu::noinline]] int innermost(volatile int* at) { return *at + 1; }
[[gnu::noinline]] int stale(volatile int* at) { return innermost(at) + 1; }
[[gnu::noinline]] int staler(volatile int* at, int depth) { return depth == 0 ? stale(at) : staler(at, depth - 1) + 1; }
void work() {}
[[gnu::noinline]] void culprit(int at) {
  volatile char unwritten[400];
  unwritten[0] = 0;
  rubato::create<rubato::nonspec>(work, {.at = at});
}
int main(int argc, char**) {
  volatile int one = argc;
  culprit(staler(&one, 10) > 0 ? -argc : 0);
}
"""
    done = run(rubato_chip, compiled_tasks(tmp_path, source))
    assert done.returncode == 3
    assert done.stderr.endswith(", called from culprit(int) < main\n"), done.stderr
