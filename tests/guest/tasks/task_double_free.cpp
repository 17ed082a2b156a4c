// Two tasks free the same block: the second one is wrong, whichever of them runs first.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

namespace {
void release(void* block) {
  free(block);
  asm volatile("");  // no tail call: the report is to name this function
}
void work(unsigned long turns) {
  for (volatile unsigned long i = 0; i < turns; i = i + 1) {
  }
}
}  // namespace

int main() {
  void* block = malloc(100);
  for (unsigned i = 0; i < 8; ++i) rubato::create<rubato::spec>(work, {.at = i}, 200 - 10 * i);
  rubato::create<rubato::spec>(release, {.at = 10}, block);
  rubato::create<rubato::spec>(release, {.at = 20}, block);
  rubato::run();
  std::puts("not noticed");
}
