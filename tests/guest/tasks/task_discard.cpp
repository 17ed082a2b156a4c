// A child is discarded whose stores take long to restore: what is behind its timestamp waits for that, and
// for nothing else.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kWords = 2000;

alignas(64) std::uint64_t flag = 0;
alignas(64) std::uint64_t words[kWords];
alignas(64) bool has_run = false;

void linger(int turns) {
  for (int i = 0; i < turns; ++i) asm volatile("");
}

/// When the two below have finished speculatively.
void first() {
  linger(200000);
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
}
void child() {
  for (std::uint64_t& word : words) __atomic_store_n(&word, 1, __ATOMIC_RELAXED);
}
void parent() {
  if (__atomic_load_n(&flag, __ATOMIC_RELAXED) == 0) create<spec>(child, {.at = 4});
}
void last() { has_run = true; }

}  // namespace

int main() {
  create<nonspec>(first, {.at = 0});
  create<spec>(parent, {.at = 3});
  create<nonspec>(last, {.at = 9});
  run();
  std::puts(has_run && flag == 1 && words[0] == 0 ? "check: passed" : "check: failed");
  return 0;
}
