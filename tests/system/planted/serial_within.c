// Between parallel loops the first thread prepares the next one alone; the team waits in OpenMP's barrier.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long sum;
__attribute__((noinline)) static void prepare(void) {
  for (long i = 0; i < 15000; ++i) sum += i;
}
int main(void) {
  for (int round = 0; round < 4; ++round) {
    prepare();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 64; ++i) spend(20);
  }
}
