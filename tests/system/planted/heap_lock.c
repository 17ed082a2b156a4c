// Threads spin for a lock that lies in a block of the heap, which a wrapper around malloc has given.
// SPDX-License-Identifier: MIT
#include "planted.h"

struct guarded {
  long value[4];
  int lock;
};
static struct guarded* shared;

__attribute__((noinline)) static void* xmalloc(size_t bytes) {
  void* const block = malloc(bytes);
  if (block == NULL) abort();
  return block;
}
__attribute__((noinline)) static void make_guarded(void) {
  shared = xmalloc(sizeof *shared);
  shared->lock = 0;
  shared->value[0] = 0;
}
static void* work(void* argument) {
  for (long i = 0; i < 300; ++i) {
    while (__atomic_exchange_n(&shared->lock, 1, __ATOMIC_ACQUIRE) != 0)
      while (__atomic_load_n(&shared->lock, __ATOMIC_RELAXED) != 0) {
      }
    shared->value[0] += spend(40) & 1;
    __atomic_store_n(&shared->lock, 0, __ATOMIC_RELEASE);
  }
  return argument;
}
int main(int argc, char** argv) {
  make_guarded();
  run_threads(argc, argv, work);
}
