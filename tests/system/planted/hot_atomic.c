// All threads add to one counter by an atomic.
// SPDX-License-Identifier: MIT
#include "planted.h"

static long hits __attribute__((aligned(64)));

static void* work(void* argument) {
  for (long i = 0; i < 10000; ++i) __atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, work); }
