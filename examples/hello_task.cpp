// The smallest program: three tasks in timestamp order, each created by the one before.
// Prints "hello from timestamp 0", 1 and 2; on every engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

void hello(std::uint64_t remaining) {
  const std::uint64_t now = rubato::timestamp();
  std::printf("hello from timestamp %llu\n", static_cast<unsigned long long>(now));
  if (remaining > 0) rubato::create<rubato::nonspec>(hello, {.at = now + 1}, remaining - 1);
}

int main() {
  rubato::create<rubato::nonspec>(hello, {.at = 0}, 2);
  rubato::run();
}
