// Each thread counts in a word of its own, but eight of the words share a line.
// SPDX-License-Identifier: MIT
#include "planted.h"

static struct {
  volatile long hits;
} counters[kMost] __attribute__((aligned(64)));

static void* work(void* argument) {
  const long me = (long)argument;
  for (long i = 0; i < 10000; ++i) counters[me].hits += i & 3;
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, work); }
