// Wrong: "a spec task is atomic, so it may touch what mayspec tasks of its timestamp touch."
// Right: spec tasks are atomic with respect to each other. A mayspec task that does not speculate reads and
// writes as a nonspec one does, and a spec task may commit between its read and its write. Make all of them
// spec, or give all of them one locale, or let their timestamps differ.
// Happens: 400 where a spec task has no other task beside it (serial and native engine, one core), else 400
// or less.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::mayspec, rubato::spec;

rubato::tracked<int> counter;

void count() { ++counter; }

void count_slowly() {
  const int before = counter;
  for (int i = 0; i < 1'000; ++i) asm volatile("" : : : "memory");  // work
  counter = before + 1;
}

int main() {
  for (int i = 0; i < 200; ++i) {
    create<spec>(count, {.at = 7});
    create<mayspec>(count_slowly, {.at = 7, .on = 0});  // should be spec, too
  }
  rubato::run();
  std::printf("expected: 400\nhappened: %d\n", counter.get());
}
