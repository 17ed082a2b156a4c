// Each thread counts in a word of its own, of one block of the heap. Eight of the words share a line.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long* counters;

__attribute__((noinline)) static void make_counters(void) {
  void* block = NULL;
  if (posix_memalign(&block, 64, kMost * sizeof(long)) != 0) abort();
  counters = block;
}
static void* work(void* argument) {
  const long me = (long)argument;
  for (long i = 0; i < 10000; ++i) counters[me] += i & 3;
  return argument;
}
int main(int argc, char** argv) {
  make_counters();
  run_threads(argc, argv, work);
}
