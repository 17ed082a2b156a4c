"""Dynamically linked programs: their loader, libraries of their own, libraries that they open, and threads.

qemu-riscv64 says what they print. The loader and the libraries are the cross compiler's.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

LIBRARIES = Path("/usr/riscv64-linux-gnu/lib")
LOADER = LIBRARIES / "ld-linux-riscv64-lp64d.so.1"
pytestmark = pytest.mark.skipif(not LOADER.exists(), reason=f"{LOADER} is missing (package libc6-riscv64-cross)")

OWN = r"""
#include <stdexcept>
#include <string>
thread_local int calls = 0;
struct Loud {
  Loud() { puts("the library is there"); }
  ~Loud() { puts("the library goes"); }
} loud;
int twice(int value) {
  if (value < 0) throw std::invalid_argument("less than " + std::to_string(0));
  return ++calls, 2 * value;
}
extern "C" int times(void) { return calls; }
"""

PROGRAM = r"""
#include <dlfcn.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <thread>
#include <vector>
int twice(int value);
extern "C" int times(void);
extern char** environ;
int main(int count, char** arguments) {
  if (count > 1) return std::printf("child %s\n", arguments[1]), 7;
  std::vector<int> results(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&results, i] {
      for (int n = 0; n <= i; ++n) results[i] += twice(n);
      results[i] = results[i] * 100 + times();
    });
  for (auto& thread : threads) thread.join();
  for (int result : results) std::printf("%d ", result);
  try {
    twice(-1);
  } catch (const std::exception& error) {
    std::printf("%s, %d calls here\n", error.what(), times());
  }
  void* const opened = dlopen("libm.so.6", RTLD_NOW);
  auto* const root = reinterpret_cast<double (*)(double)>(dlsym(opened, "cbrt"));
  std::printf("%.6f %d\n", root(10), dlclose(opened));
  std::printf("%s\n", dlopen("libnone.so", RTLD_LAZY) == nullptr ? "no such library" : "?");
  std::fflush(stdout);
  char* its[] = {arguments[0], const_cast<char*>("one"), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, its, environ);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%d %d\n", error, WEXITSTATUS(status));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dynamic")
    (folder / "own.cpp").write_text(OWN)
    (folder / "program.cpp").write_text(PROGRAM)
    compiler = ["riscv64-linux-gnu-g++", "-std=c++20", "-O1", "-w", "-include", "cstdio"]
    linking = [f"-Wl,--dynamic-linker={LOADER},--disable-new-dtags,-rpath,{LIBRARIES}:{folder}", "-L.", "-lown"]
    for command in (
        [*compiler, "-shared", "-fPIC", "own.cpp", "-o", "libown.so"],
        [*compiler, "program.cpp", *linking, "-o", "program"],
        [*compiler, "-no-pie", "program.cpp", *linking, "-o", "program-no-pie"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, check=False, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout


EXPECTED = (
    "the library is there\n1 202 603 1204 less than 0, 0 calls here\n2.154435 0\nno such library\n"
    "the library is there\nchild one\nthe library goes\n0 7\nthe library goes\n"
)


@pytest.mark.parametrize("kind", ["program", "program-no-pie"])
@pytest.mark.parametrize(
    "options",
    [["--fast-forward"], ["--no-ff"], ["--no-ff", "--cores", "4"], ["--cores", "4", "--set", "core.model=window"]],
)
def test_a_dynamic_program_prints_what_it_prints_elsewhere(
    kind: str, options: list[str], program: Path, rubato_chip: Path
) -> None:
    assert run(rubato_chip, "--quiet", *options, program.with_name(kind)) == EXPECTED


@pytest.mark.parametrize("kind", ["program", "program-no-pie"])
def test_a_loader_is_a_program_too(kind: str, program: Path, rubato_chip: Path) -> None:
    behind = [LOADER, "--library-path", f"{LIBRARIES}:{program.parent}", program.with_name(kind), "one"]
    done = subprocess.run([rubato_chip, "--quiet", "--guest-status", *behind], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (7, b"the library is there\nchild one\nthe library goes\n")


def test_its_main_is_the_region_of_interest(program: Path, rubato_chip: Path, tmp_path: Path) -> None:
    counts = []
    for options in ([], ["--no-ff"]):
        run(rubato_chip, "--quiet", *options, "--out", tmp_path / "run", program)
        counts.append(json.loads((tmp_path / "run" / "summary.json").read_text())["instructions"])
    assert 0 < counts[0] < counts[1], "--no-ff has the loader's instructions, too"


MANY = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kChildren = 70 };
int main(void) {
  int gate[2];
  pipe(gate);
  for (int i = 0; i < kChildren; ++i)
    if (fork() == 0) {
      char byte;
      close(gate[1]);
      _exit(read(gate[0], &byte, 1));
    }
  close(gate[1]);
  int ended = 0, status;
  while (wait(&status) > 0) ended += status == 0;
  printf("%d\n", ended);
}
"""


def test_many_processes_show_files(rubato_chip: Path, tmp_path: Path) -> None:
    """Each has its own mapping of the libraries."""
    (tmp_path / "many.c").write_text(MANY)
    linking = [f"-Wl,--dynamic-linker={LOADER},--disable-new-dtags,-rpath,{LIBRARIES}"]
    subprocess.run(["riscv64-linux-gnu-gcc", "-w", "many.c", *linking, "-o", "many"], cwd=tmp_path, check=True)
    assert run(rubato_chip, "--quiet", "--cores", "2", tmp_path / "many") == "70\n"
