// All threads read lines that llc.interleave=low keeps in one slice, those whose number is 3 modulo the
// tiles. They are too many for an L2.
// SPDX-License-Identifier: MIT
#include "planted.h"

enum { kLines = 1024, kLine = 8 };
static volatile long data[16 * (kLines + 1) * kLine] __attribute__((aligned(64 * 16)));
static long tiles;

static void* visit(void* argument) {
  long sum = 0;
  for (int round = 0; round < 6; ++round)
    for (long i = 0; i < kLines; ++i) sum += data[(i * tiles + 3) * kLine];
  (void)argument;
  return (void*)sum;
}
int main(int argc, char** argv) {
  tiles = argc > 1 ? atol(argv[1]) : 4;
  pthread_t threads[kMost];
  start(threads, tiles, visit);
  join(threads, tiles);
}
