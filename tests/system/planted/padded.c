// Each thread counts in a line of its own: nothing is contended.
// SPDX-License-Identifier: MIT
#include "planted.h"

static struct {
  volatile long hits;
  char pad[56];
} counters[kMost] __attribute__((aligned(64)));

static void* work(void* argument) {
  const long me = (long)argument;
  for (long i = 0; i < 60000; ++i) counters[me].hits += i & 3;
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, work); }
