"""A guest program for a litmus test: each thread's code as it is in the file, many rounds with other distances in time.

The threads meet before each round, wait a little, each its own while, and execute their code on fresh locations, of
which some are in their caches already. Each round prints the values of what the test observes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from litmus_file import RESERVED, Instruction, LitmusError, LitmusTest, Outcome, Place
from rvwmo import Model, signed

COMPILER = "riscv64-linux-gnu-gcc"
_KEPT = [1, 8, 9, *range(18, 28)]  # ra, s0 to s11
_ALL = [n for n in range(1, 32) if n not in RESERVED]

_HARNESS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = %(threads)d, kLocations = %(locations)d, kValues = %(values)d };
struct line {
  _Alignas(64) uint64_t value;
};
static struct line* memory;  // a line for each location, of each round
static int64_t* seen;        // what each round observed
static long rounds;
static _Alignas(64) atomic_long arrived;

typedef struct {
  int64_t before[32], after[32];
} registers;
%(prototypes)s

static uint64_t draw(uint64_t* state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

static void meet(long* phase) {
  *phase += kThreads;
  atomic_fetch_add(&arrived, 1);
  while (atomic_load_explicit(&arrived, memory_order_acquire) < *phase) {
  }
}

static void* thread(void* argument) {
  const long me = (long)argument;
  uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(me + 1 + %(seed)d * 16);
  long phase = 0;
  registers r;
  for (long i = 0; i < rounds; ++i) {
    struct line* const at = memory + i * kLocations;
    for (int n = 0; n < 32; ++n) r.before[n] = 0;
    switch (me) {
%(setups)s
    }
    // Some locations are in this core's cache, as it read or wrote them.
    for (int n = 0; n < kLocations; ++n) {
      const uint64_t how = draw(&state) %% 4;
      if (how == 0) (void)*(volatile uint64_t*)&at[n].value;
    }
    meet(&phase);
    for (volatile uint64_t wait = draw(&state) %% 24; wait != 0; --wait) {
    }
    switch (me) {
%(calls)s
    }
    meet(&phase);
    int64_t* const out = seen + i * kValues;
    switch (me) {
%(results)s
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 100;
  memory = aligned_alloc(64, (size_t)rounds * kLocations * sizeof *memory);
  seen = calloc((size_t)rounds * kValues, sizeof *seen);
  for (long i = 0; i < rounds; ++i) {
    struct line* const at = memory + i * kLocations;
    (void)at;
%(initial)s
  }
  pthread_t threads[kThreads];
  for (long t = 1; t < kThreads; ++t) pthread_create(&threads[t], NULL, thread, (void*)t);
  thread(NULL);
  for (long t = 1; t < kThreads; ++t) pthread_join(threads[t], NULL);
  for (long i = 0; i < rounds; ++i) {
    struct line* const at = memory + i * kLocations;
    (void)at;
    for (int v = 0; v < kValues; ++v) {
      const int64_t value = seen[i * kValues + v];
      int location = -1;
      for (int n = 0; n < kLocations; ++n)
        if (value == (int64_t)&at[n]) location = n;
      if (location >= 0)
        printf("@%%d ", location);
      else
        printf("%%lld ", (long long)value);
    }
    printf("\n");
  }
}
"""


def _assembly(test: LitmusTest, thread: int) -> str:
    """A function that takes the registers from memory, executes the thread, and leaves the registers in memory."""
    lines = ["  .text", "  .option norelax", f"  .globl code_{thread}", f"code_{thread}:", "  addi sp, sp, -128"]
    lines += [f"  sd x{n}, {8 * i + 16}(sp)" for i, n in enumerate(_KEPT)]
    lines.append("  sd a0, 0(sp)")
    lines += [f"  ld x{n}, {8 * n}(a0)" for n in _ALL if n != 10]
    lines.append("  ld x10, 80(x10)")
    for ins in test.threads[thread]:
        lines += [f".Lt{thread}_{label}:" for label in ins.labels]
        lines.append(f"  {_written(ins, thread)}")
    lines += ["  sd x31, 8(sp)", "  ld x31, 0(sp)"]
    lines += [f"  sd x{n}, {256 + 8 * n}(x31)" for n in _ALL if n != 31]
    lines += ["  ld x5, 8(sp)", f"  sd x5, {256 + 8 * 31}(x31)"]
    lines += [f"  ld x{n}, {8 * i + 16}(sp)" for i, n in enumerate(_KEPT)]
    lines += ["  addi sp, sp, 128", "  ret", ""]
    return "\n".join(lines)


def _written(ins: Instruction, thread: int) -> str:
    is_branch = re.match(r"(beqz?|bnez?|blt|bge|bltu|bgeu|j)$", ins.name) is not None
    operands = list(ins.operands)
    if is_branch:
        operands[-1] = f".Lt{thread}_{operands[-1]}"
    return f"{ins.name} {','.join(operands)}"


def _source(test: LitmusTest, seed: int) -> str:
    names = sorted(test.memory)
    index = {name: i for i, name in enumerate(names)}

    def value(v: int | str) -> str:
        return f"(int64_t)&at[{index[v]}]" if isinstance(v, str) else f"(int64_t){v & (1 << 64) - 1:#x}u"

    bits = _sizes(test)
    setups, calls, results, prototypes = [], [], [], []
    for t in range(len(test.threads)):
        given = " ".join(f"r.before[{r}] = {value(v)};" for (of, r), v in test.registers.items() if of == t)
        setups.append(f"      case {t}: {given} break;")
        calls.append(f"      case {t}: code_{t}(&r); break;")
        prototypes.append(f"void code_{t}(registers*);")
        kept = []
        for i, p in enumerate(test.observed):
            if not isinstance(p, str) and p[0] == t:
                kept.append(f"out[{i}] = r.after[{p[1]}];")
            if isinstance(p, str) and t == 0:
                shown = f"(int32_t)at[{index[p]}].value" if bits.get(p) == 32 else f"(int64_t)at[{index[p]}].value"
                kept.append(f"out[{i}] = {shown};")
        results.append(f"      case {t}: {' '.join(kept)} break;")
    initial = [f"    at[{index[n]}].value = (uint64_t){value(test.memory[n])};" for n in names]
    return _HARNESS % {
        "threads": len(test.threads),
        "locations": max(1, len(names)),
        "values": len(test.observed),
        "prototypes": "\n".join(prototypes),
        "setups": "\n".join(setups),
        "calls": "\n".join(calls),
        "results": "\n".join(results),
        "initial": "\n".join(initial),
        "seed": seed,
    }


def _sizes(test: LitmusTest) -> dict[str, int]:
    """Bits of each location, which the model finds out."""
    model = Model(test)
    model.outcomes()
    return model.bits


def build(test: LitmusTest, folder: Path, seed: int) -> Path:
    """Compiles the program. @raises LitmusError if the compiler refuses an instruction, or is missing."""
    source, assembly, program = folder / "harness.c", folder / "threads.s", folder / "litmus"
    source.write_text(_source(test, seed))
    assembly.write_text("\n".join(_assembly(test, t) for t in range(len(test.threads))))
    command = [COMPILER, "-O1", "-static", "-pthread", "-w", str(source), str(assembly), "-o", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LitmusError(f"{COMPILER} is not installed (tools/bootstrap)") from None
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr.strip())
        raise LitmusError(f"the test does not compile: {said}")
    return program


def outcomes(test: LitmusTest, printed: str) -> list[Outcome]:
    """Of each round, from what the program printed."""
    names = sorted(test.memory)
    found: list[Outcome] = []
    for line in printed.splitlines():
        words = line.split()
        if len(words) != len(test.observed):
            raise LitmusError(f"the program printed '{line}', which is no outcome")
        outcome: dict[Place, int | str] = {}
        for p, word in zip(test.observed, words, strict=True):
            outcome[p] = names[int(word[1:])] if word.startswith("@") else signed(int(word))
        found.append(outcome)
    return found
