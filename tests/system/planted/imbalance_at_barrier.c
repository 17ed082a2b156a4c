// The first of sixteen threads has most of the work of each round; the others wait for it at a barrier.
// SPDX-License-Identifier: MIT
#include "planted.h"

static pthread_barrier_t line;

static void* work(void* argument) {
  for (int round = 0; round < 4; ++round) {
    spend((long)argument == 0 ? 20000 : 500);
    pthread_barrier_wait(&line);
  }
  return argument;
}
int main(void) {
  pthread_t threads[kMost];
  pthread_barrier_init(&line, NULL, 16);
  start(threads, 16, work);
  join(threads, 16);
}
