// All threads add to one element of a vector, whose storage has moved before.
// SPDX-License-Identifier: MIT
#include <vector>

#include "planted.h"

namespace {

std::vector<long> sums;

[[gnu::noinline]] void fill() {
  for (long i = 0; i < 100; ++i) sums.push_back(i);
}
void* work(void* argument) {
  for (long i = 0; i < 10000; ++i) __atomic_fetch_add(&sums[50], 1, __ATOMIC_RELAXED);
  return argument;
}

}  // namespace

int main(int argc, char** argv) {
  fill();
  run_threads(argc, argv, work);
}
