// All threads update one word of pages that the program has mapped, by a pointer to mmap.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include "planted.h"

static void* (*volatile map_pages)(void*, size_t, int, int, int, off_t) = mmap;
static volatile long* word;

__attribute__((noinline)) static void map_words(void) {
  word = map_pages(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (word == MAP_FAILED) abort();
}
static void* work(void* argument) {
  for (long i = 0; i < 10000; ++i) __atomic_fetch_add(&word[1000], 1, __ATOMIC_RELAXED);
  return argument;
}
int main(int argc, char** argv) {
  map_words();
  run_threads(argc, argv, work);
}
