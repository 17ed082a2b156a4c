// A barrier of the program's own: threads wait for a word that the last one to come changes. The first thread
// has most of the work.
// SPDX-License-Identifier: MIT
#include "planted.h"

static int arrived __attribute__((aligned(64)));
static int rounds __attribute__((aligned(64)));
static int all;

static void wait_for_all(void) {
  const int round = __atomic_load_n(&rounds, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == all) {
    __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&rounds, round + 1, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) == round) {
    }
  }
}
static void* work(void* argument) {
  for (long i = 0; i < 12; ++i) {
    spend((long)argument == 0 ? 3000 : 100);
    wait_for_all();
  }
  return argument;
}
int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 4;
  all = (int)n;
  pthread_t threads[kMost];
  start(threads, n, work);
  join(threads, n);
}
