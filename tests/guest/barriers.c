// Threads that meet at barriers, and read a line that one of them has just written: what a protocol costs
// them.
//   barriers THREADS   prints the cycles of a barrier, and of the last reader of the line
// A barrier is one counter that all add to and one word that all spin on.
// no-qemu: it prints cycles.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 256, kBarriers = 20, kRounds = 3, kRest = 30000 };

static _Alignas(64) _Atomic int arrived;
static _Alignas(64) _Atomic int phase;
static _Alignas(64) volatile long line[8];
static _Alignas(64) volatile uint64_t start;
static _Alignas(64) uint64_t read_after[kMost];
static int threads;

static uint64_t now(void) {
  uint64_t cycle;
  asm volatile("fence rw,rw; rdcycle %0" : "=r"(cycle)::"memory");
  return cycle;
}

static void meet(void) {
  const int before = atomic_load(&phase);
  if (atomic_fetch_add(&arrived, 1) == threads - 1) {
    atomic_store(&arrived, 0);
    atomic_store(&phase, before + 1);
  } else {
    while (atomic_load(&phase) == before) {
    }
  }
}

static void* work(void* number) {
  const long self = (long)number;
  meet();
  const uint64_t begin = now();
  for (int i = 0; i < kBarriers; ++i) meet();
  if (self == 0)
    printf("%d threads, a barrier: %lu cycles\n", threads, (unsigned long)(now() - begin) / kBarriers);
  for (int round = 1; round <= kRounds; ++round) {
    if (self == 0) {
      line[0] = round;
      start = now() + kRest * (uint64_t)(threads > 16 ? threads / 16 : 1);
    }
    meet();
    const uint64_t from = start;
    while (now() < from) {
    }
    if (line[0] != round) puts("a reader sees an old value");
    read_after[self] = now() - from;
    meet();
  }
  return NULL;
}

int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 16;
  if (threads < 1 || threads > kMost) return 1;
  pthread_t others[kMost];
  for (long i = 1; i < threads; ++i)
    if (pthread_create(&others[i], NULL, work, (void*)i) != 0) return 1;
  work(NULL);
  for (long i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  uint64_t last = 0;
  for (int i = 0; i < threads; ++i)
    if (read_after[i] > last) last = read_after[i];
  printf("%d readers of a line: %lu cycles\n", threads, (unsigned long)last);
}
