// Each pair of threads hands a message over: the writer's payload and flag, and the reader's answer, are
// other words of one line. Each word is used by one and written by the other.
// SPDX-License-Identifier: MIT
#include "planted.h"

static struct {
  long payload[2];
  int full, pad[11];
} boxes[kMost / 2] __attribute__((aligned(64)));

static void* work(void* argument) {
  const long me = (long)argument;
  for (long i = 0; i < 3000; ++i) {
    if (me % 2 == 0) {
      while (__atomic_load_n(&boxes[me / 2].full, __ATOMIC_ACQUIRE) != 0) {
      }
      boxes[me / 2].payload[0] = i;
      boxes[me / 2].payload[1] = i + 1;
      __atomic_store_n(&boxes[me / 2].full, 1, __ATOMIC_RELEASE);
    } else {
      while (__atomic_load_n(&boxes[me / 2].full, __ATOMIC_ACQUIRE) == 0) {
      }
      if (boxes[me / 2].payload[1] != boxes[me / 2].payload[0] + 1) abort();
      __atomic_store_n(&boxes[me / 2].full, 0, __ATOMIC_RELEASE);
    }
  }
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, work); }
