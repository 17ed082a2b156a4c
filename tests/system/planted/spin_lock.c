// All threads work under one spin lock of the program's own, which waits by loads.
// SPDX-License-Identifier: MIT
#include "planted.h"

static int gate __attribute__((aligned(64)));
static volatile long sum __attribute__((aligned(64)));

static void* work(void* argument) {
  for (long i = 0; i < 150; ++i) {
    while (__atomic_exchange_n(&gate, 1, __ATOMIC_ACQUIRE) != 0)
      while (__atomic_load_n(&gate, __ATOMIC_RELAXED) != 0) {
      }
    spend(50);
    sum = sum + i;
    __atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
    spend(20);
  }
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, work); }
