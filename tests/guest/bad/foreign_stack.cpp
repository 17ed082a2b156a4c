// A task publishes the address of its own local variable; tasks on other cores read it (C7: an exception).
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

namespace {
volatile long* leaked;
volatile long sum;

void reader() { sum = sum + *leaked; }
void writer() {
  volatile long local = 7;
  leaked = &local;
  for (unsigned i = 0; i < 64; ++i)
    rubato::create<rubato::nonspec>(reader, {.at = rubato::timestamp() + 1, .on = i});
}
}  // namespace

int main() {
  rubato::create<rubato::nonspec>(writer, {.at = 1, .on = 0});
  rubato::run();
  std::puts("not refused");
}
