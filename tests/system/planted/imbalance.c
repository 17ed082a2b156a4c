// The last of sixteen threads has most of the work; no thread waits for another but main, for their ends.
// SPDX-License-Identifier: MIT
#include "planted.h"

static void* work(void* argument) {
  spend((long)argument == 15 ? 60000 : 1000);
  return argument;
}
int main(void) {
  pthread_t threads[kMost];
  start(threads, 16, work);
  join(threads, 16);
}
