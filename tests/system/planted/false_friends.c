// Functions of the program whose names begin as those of libraries do, or are those of their insides.
// SPDX-License-Identifier: MIT
#include "planted.h"

static pthread_mutex_t latch = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

__attribute__((noinline)) static void free_block(long i) {
  pthread_mutex_lock(&latch);
  for (int k = 0; k < 60; ++k) sum += k & i;
  pthread_mutex_unlock(&latch);
  __asm__ volatile("");
}
__attribute__((noinline)) static void unrelated(long i) {
  free_block(i);
  __asm__ volatile("");
}
static void* reader(void* argument) {
  for (long i = 0; i < 100; ++i) unrelated(i);
  return argument;
}
int main(void) {
  pthread_t threads[kMost];
  start(threads, 8, reader);
  join(threads, 8);
}
