// A block that threads contend for is freed, and its memory belongs to a block of another place for longer.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long* word;
static long rounds;

__attribute__((noinline)) static void first_owner(void) {
  word = malloc(200);
  rounds = 1000;
}
__attribute__((noinline)) static void second_owner(void) {
  word = malloc(199);
  rounds = 10000;
}
static void* work(void* argument) {
  for (long i = 0; i < rounds; ++i) __atomic_fetch_add(&word[8], 1, __ATOMIC_RELAXED);
  return argument;
}
int main(int argc, char** argv) {
  first_owner();
  volatile long* const old = word;
  run_threads(argc, argv, work);
  free((void*)word);
  second_owner();
  if (word != old) abort();
  run_threads(argc, argv, work);
}
