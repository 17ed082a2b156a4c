"""A guest program for litmus tests: each thread's code as it is in the file, many rounds with other distances in time.

The threads meet before each round, wait a little, each its own while, and execute their code on fresh locations, of
which some are in their caches already. In the end the program prints what each test observed, and how often. Tests
with the same number of threads share a program: compiling and starting it takes longer than the rounds of a test.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from litmus_file import REGISTERS, Instruction, LitmusError, LitmusTest, Outcome, Place
from rvwmo import Model, signed

COMPILER = "riscv64-linux-gnu-gcc"
_KEPT = {1, 8, 9, *range(18, 28)}  # ra, s0 to s11
_MOST_LOCATIONS = 32  # their addresses are immediates
_LINE_BYTES = 64
_OUT = 11  # a1
_LOCATIONS = 10  # a0

_HARNESS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
  _Alignas(64) uint64_t value;
};
struct initial {  // of a location: the number, or the address of location `address_of` if that is not negative
  int address_of;
  uint64_t number;
};
struct observed {  // a location and its bits, or a register, which the thread's code stores: -1
  int location, bits;
};
typedef void code(struct line* locations, int64_t* out);
struct test {
  int locations, values;
  const struct initial* initial;
  const struct observed* observed;
  code* const* threads;
};
%(tables)s
enum { kThreads = %(threads)d, kTests = %(tests)d, kLocations = %(locations)d, kValues = %(values)d };
static const struct test tests[kTests] = {
%(rows)s
};

static struct line* memory;      // a line for each location, of each round
static int64_t (*seen)[kValues]; // what each round of each test observed
static long rounds;
static _Alignas(64) atomic_long arrived;

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

static void initialize(const struct test* t) {
  for (long i = 0; i < rounds; ++i) {
    struct line* const at = memory + i * t->locations;
    for (int n = 0; n < t->locations; ++n) {
      const struct initial from = t->initial[n];
      at[n].value = from.address_of < 0 ? from.number : (uint64_t)&at[from.address_of];
    }
  }
}

// Some locations come into this core's cache: it reads them, or writes what is there.
static void warm(const struct test* t, struct line* at, uint64_t* state) {
  for (int n = 0; n < t->locations; ++n) {
    const uint64_t how = draw(state) %% 6;
    if (how == 0) (void)*(volatile uint64_t*)&at[n].value;
    if (how == 1) __atomic_fetch_or(&at[n].value, 0, __ATOMIC_RELAXED);
  }
}

// The last values of locations, which no thread writes any longer.
static void observe(const struct test* t, const struct line* at, int64_t* out) {
  for (int v = 0; v < t->values; ++v) {
    if (t->observed[v].location < 0) continue;
    const uint64_t value = at[t->observed[v].location].value;
    out[v] = t->observed[v].bits == 32 ? (int32_t)value : (int64_t)value;
  }
}

static void run_rounds(const struct test* t, long me, uint64_t* state, long* phase, int64_t (*out)[kValues]) {
  for (long i = 0; i < rounds; ++i) {
    struct line* const at = memory + i * t->locations;
    warm(t, at, state);
    const uint64_t reach = UINT64_C(1) << draw(state) %% 7;
    meet(phase);
    for (volatile uint64_t wait = draw(state) %% reach; wait != 0; --wait) {
    }
    t->threads[me](at, out[i]);
    meet(phase);
    if (me == 0) observe(t, at, out[i]);
  }
}

static void* thread(void* argument) {
  const long me = (long)argument;
  uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(me + 1 + %(seed)d * 16);
  long phase = 0;
  for (long n = 0; n < kTests; ++n) {
    if (me == 0) initialize(&tests[n]);
    meet(&phase);
    run_rounds(&tests[n], me, &state, &phase, seen + n * rounds);
  }
  return NULL;
}

// Addresses become numbers that no test uses, so that rounds can be compared.
static void name_locations(const struct test* t, const struct line* at, int64_t* row) {
  for (int v = 0; v < t->values; ++v)
    for (int n = 0; n < t->locations; ++n)
      if (row[v] == (int64_t)&at[n]) row[v] = INT64_MIN + n;
}

static void print_row(const struct test* t, const int64_t* row) {
  for (int v = 0; v < t->values; ++v)
    if (row[v] < INT64_MIN + kLocations)
      printf(" @%%d", (int)(row[v] - INT64_MIN));
    else
      printf(" %%lld", (long long)row[v]);
  printf("\n");
}

// Each outcome once, behind the test's number and that of the rounds that had it. A location is @N.
static void print(long number) {
  const struct test* const t = &tests[number];
  int64_t(*const rows)[kValues] = seen + number * rounds;
  long* const counts = calloc((size_t)rounds, sizeof *counts);
  for (long i = 0; i < rounds; ++i) {
    name_locations(t, memory + i * t->locations, rows[i]);
    long same = 0;
    while (same < i && (counts[same] == 0 || memcmp(rows[same], rows[i], (size_t)t->values * 8) != 0)) ++same;
    ++counts[same];
  }
  for (long i = 0; i < rounds; ++i) {
    if (counts[i] == 0) continue;
    printf("%%ld %%ld", number, counts[i]);
    print_row(t, rows[i]);
  }
  free(counts);
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 100;
  memory = aligned_alloc(64, (size_t)rounds * kLocations * sizeof *memory);
  seen = calloc((size_t)(rounds * kTests), sizeof *seen);
  pthread_t threads[kThreads];
  for (long t = 1; t < kThreads; ++t) pthread_create(&threads[t], NULL, thread, (void*)t);
  thread(NULL);
  for (long t = 1; t < kThreads; ++t) pthread_join(threads[t], NULL);
  for (long n = 0; n < kTests; ++n) print(n);
}
"""


def _registers_of(code: list[Instruction]) -> set[int]:
    words = (word for ins in code for operand in ins.operands for word in re.findall(r"[a-z]\w*", operand))
    return {REGISTERS[word] for word in words if word in REGISTERS} - {0}


def _written(ins: Instruction, prefix: str) -> str:
    is_branch = re.match(r"(beqz?|bnez?|blt|bge|bltu|bgeu|j)$", ins.name) is not None
    operands = list(ins.operands)
    if is_branch:
        operands[-1] = prefix + operands[-1]
    return f"{ins.name} {','.join(operands)}"


class _Code:
    """The function of a test's thread: it sets the registers, executes the thread, and stores what is observed."""

    def __init__(self, test: LitmusTest, number: int, thread: int) -> None:
        self.name = f"code_{number}_{thread}"
        self.test = test
        self.thread = thread
        self.observed = [(i, p[1]) for i, p in enumerate(test.observed) if not isinstance(p, str) and p[0] == thread]
        given = {r: v for (t, r), v in test.registers.items() if t == thread}
        used = _registers_of(test.threads[thread]) | set(given) | {r for _, r in self.observed}
        self.values: dict[int, int | str] = {r: given.get(r, 0) for r in sorted(used)}

    def text(self) -> str:
        kept = sorted(self.values.keys() & _KEPT)
        out, first_kept = 0, 8
        first_observed = first_kept + 8 * len(kept)
        bytes_ = -(-(first_observed + 8 * len(self.observed)) // 16) * 16
        lines = [f"  .globl {self.name}", f"{self.name}:", f"  addi sp, sp, -{bytes_}", f"  sd x{_OUT}, {out}(sp)"]
        lines += [f"  sd x{n}, {first_kept + 8 * i}(sp)" for i, n in enumerate(kept)]
        lines += self._begin()
        prefix = f".L{self.name}_"
        for ins in self.test.threads[self.thread]:
            lines += [f"{prefix}{label}:" for label in ins.labels]
            lines.append(f"  {_written(ins, prefix)}")
        lines += [f"  sd x{r}, {first_observed + 8 * i}(sp)" for i, (_, r) in enumerate(self.observed)]
        lines.append(f"  ld x{_OUT}, {out}(sp)")
        for i, (value, _) in enumerate(self.observed):
            lines += [f"  ld x{_LOCATIONS}, {first_observed + 8 * i}(sp)", f"  sd x{_LOCATIONS}, {8 * value}(x{_OUT})"]
        lines += [f"  ld x{n}, {first_kept + 8 * i}(sp)" for i, n in enumerate(kept)]
        return "\n".join([*lines, f"  addi sp, sp, {bytes_}", "  ret", ""])

    def _begin(self) -> list[str]:
        """Registers get their first values; the one with the locations' address is the last."""
        index = {name: i for i, name in enumerate(sorted(self.test.memory))}
        lines = []
        for r, value in sorted(self.values.items(), key=lambda item: item[0] == _LOCATIONS):
            if isinstance(value, str):
                lines.append(f"  addi x{r}, x{_LOCATIONS}, {_LINE_BYTES * index[value]}")
            else:
                lines.append(f"  li x{r}, {signed(value)}")
        return lines


class _Tables:
    """The harness's constants about one test."""

    def __init__(self, model: Model, number: int) -> None:
        self.test, self.bits, self.number = model.test, model.bits, number
        self.names = sorted(self.test.memory)
        if len(self.names) > _MOST_LOCATIONS:
            raise LitmusError(f"the test has {len(self.names)} locations, of {_MOST_LOCATIONS} that the runner takes")

    def _initial(self, value: int | str) -> str:
        if isinstance(value, str):
            return f"{{{self.names.index(value)}, 0}}"
        return f"{{-1, UINT64_C({value & (1 << 64) - 1:#x})}}"

    def _observed(self, place: Place) -> str:
        return f"{{{self.names.index(place)}, {self.bits.get(place, 64)}}}" if isinstance(place, str) else "{-1, 64}"

    def text(self) -> str:
        n, threads = self.number, [f"code_{self.number}_{t}" for t in range(len(self.test.threads))]
        initial = ", ".join(self._initial(self.test.memory[name]) for name in self.names) or "{-1, 0}"
        observed = ", ".join(map(self._observed, self.test.observed)) or "{-1, 64}"
        return "\n".join(
            [
                f"code {', '.join(threads)};",
                f"static const struct initial initial_{n}[] = {{{initial}}};",
                f"static const struct observed observed_{n}[] = {{{observed}}};",
                f"static code* const threads_{n}[] = {{{', '.join(threads)}}};",
            ]
        )

    def row(self) -> str:
        n = self.number
        sizes = f"{len(self.names)}, {len(self.test.observed)}"
        return f"  {{{sizes}, initial_{n}, observed_{n}, threads_{n}}},"


def _source(models: Sequence[Model], seed: int) -> str:
    tables = [_Tables(model, n) for n, model in enumerate(models)]
    return _HARNESS % {
        "tables": "\n".join(t.text() for t in tables),
        "rows": "\n".join(t.row() for t in tables),
        "threads": len(models[0].test.threads),
        "tests": len(models),
        "locations": max(1, *(len(m.test.memory) for m in models)),
        "values": max(1, *(len(m.test.observed) for m in models)),
        "seed": seed,
    }


def build(models: Sequence[Model], folder: Path, seed: int) -> Path:
    """Compiles the program of tests whose outcomes the models have found, and that have as many threads each.

    @raises LitmusError if the compiler refuses an instruction, or is missing."""
    assert len({len(m.test.threads) for m in models}) == 1
    source, assembly, program = folder / "harness.c", folder / "threads.s", folder / "litmus"
    source.write_text(_source(models, seed))
    codes = [_Code(m.test, n, t) for n, m in enumerate(models) for t in range(len(m.test.threads))]
    assembly.write_text("\n".join(["  .text", "  .option norelax", *(code.text() for code in codes)]))
    command = [COMPILER, "-O1", "-static", "-pthread", "-w", str(source), str(assembly), "-o", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LitmusError(f"{COMPILER} is not installed (tools/bootstrap)") from None
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr.strip())
        raise LitmusError(f"the test does not compile: {said}")
    return program


def histograms(models: Sequence[Model], printed: str, rounds: int) -> list[list[tuple[Outcome, int]]]:
    """The outcomes of each test with their numbers, from what the program printed after so many rounds."""
    found: list[list[tuple[Outcome, int]]] = [[] for _ in models]
    for line in printed.splitlines():
        number, count, *words = line.split()
        test = models[int(number)].test
        if len(words) != len(test.observed):
            raise LitmusError(f"the program printed '{line}', which is no outcome")
        names = sorted(test.memory)
        outcome: dict[Place, int | str] = {}
        for p, word in zip(test.observed, words, strict=True):
            outcome[p] = names[int(word[1:])] if word.startswith("@") else signed(int(word))
        found[int(number)].append((outcome, int(count)))
    for model, outcomes in zip(models, found, strict=True):
        seen = sum(count for _, count in outcomes)
        if seen != rounds:
            raise LitmusError(f"the program printed {seen} outcomes of {rounds} of the test {model.test.name}")
    return found
