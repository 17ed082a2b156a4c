// Each thread has an object of its own, which the heap puts beside that of the next thread.
// SPDX-License-Identifier: MIT
#include <vector>

#include "planted.h"

namespace {

struct Counter {
  volatile long hits = 0;
};
std::vector<Counter*> counters;

[[gnu::noinline]] void make_objects() {
  counters.reserve(kMost);
  for (int i = 0; i < kMost; ++i) counters.push_back(new Counter);
}
void* work(void* argument) {
  Counter& mine = *counters[reinterpret_cast<long>(argument)];
  for (long i = 0; i < 20000; ++i) mine.hits = mine.hits + (i & 3);
  return argument;
}

}  // namespace

int main(int argc, char** argv) {
  make_objects();
  run_threads(argc, argv, work);
}
