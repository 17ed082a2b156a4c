// Two threads, whatever the cores.
// SPDX-License-Identifier: MIT
#include "planted.h"

static void* work(void* argument) {
  spend(40000);
  return argument;
}
int main(void) {
  pthread_t threads[kMost];
  start(threads, 2, work);
  join(threads, 2);
}
