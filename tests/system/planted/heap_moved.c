// A block grows beyond the one behind it and moves; all threads use it there.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long* word;

__attribute__((noinline)) static void* grow(void* block) {
  void* const moved = realloc(block, 3000);
  if (moved == block) abort();
  return moved;
}
static void* work(void* argument) {
  for (long i = 0; i < 10000; ++i) __atomic_fetch_add(&word[100], 1, __ATOMIC_RELAXED);
  return argument;
}
int main(int argc, char** argv) {
  void* const small = malloc(100);
  void* const behind = malloc(100);
  if (small == NULL || behind == NULL) abort();
  word = grow(small);
  run_threads(argc, argv, work);
  free(behind);
}
