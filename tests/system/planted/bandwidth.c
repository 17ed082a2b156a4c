// All threads read arrays that no cache holds, one line after the other: independent misses, more than memory
// can serve at a time.
// SPDX-License-Identifier: MIT
#include "planted.h"

enum { kLines = 1500, kLine = 8 };
static volatile long data[kMost][kLines * kLine];

static void* stream(void* argument) {
  long sum = 0;
  for (long i = 0; i < kLines; ++i) sum += data[(long)argument][i * kLine];
  return (void*)sum;
}
int main(int argc, char** argv) { run_threads(argc, argv, stream); }
