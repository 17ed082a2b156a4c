// An OpenMP program that reads its input alone: the team begins when nine tenths of the time are over.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long sum;
__attribute__((noinline)) static void read_graph(void) {
  for (long i = 0; i < 60000; ++i) sum += i;
}
int main(void) {
  read_graph();
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 64; ++i) spend(20);
  }
}
