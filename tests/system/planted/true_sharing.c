// All threads read and write one word, without order: its line goes from core to core.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long total __attribute__((aligned(64)));

static void* work(void* argument) {
  for (long i = 0; i < 10000; ++i) total = total + i;
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, work); }
