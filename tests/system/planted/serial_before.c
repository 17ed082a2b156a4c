// main builds something alone before any thread begins.
// SPDX-License-Identifier: MIT
#include "planted.h"

static volatile long sum;
__attribute__((noinline)) static void build_index(void) {
  for (long i = 0; i < 50000; ++i) sum += i;
}
static void* work(void* argument) {
  spend(1000);
  return argument;
}
int main(void) {
  pthread_t threads[kMost];
  build_index();
  start(threads, 16, work);
  join(threads, 16);
}
