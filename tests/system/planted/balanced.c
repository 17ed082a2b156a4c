// As many threads as the argument says, all of the same work: nothing is wrong.
// SPDX-License-Identifier: MIT
#include "planted.h"

static void* crunch(void* argument) {
  spend(60000);
  return argument;
}
int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 4;
  pthread_t threads[kMost];
  start(threads, n, crunch);
  join(threads, n);
}
