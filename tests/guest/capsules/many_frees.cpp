// A speculative task frees more blocks than task.tracked_children: its NONSPEC children do not count (P48).
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

namespace {

void* blocks[64][20];

void release(std::uint64_t row) {
  for (void* block : blocks[row]) std::free(block);
}

}  // namespace

int main() {
  for (auto& row : blocks)
    for (void*& block : row) block = std::malloc(40);
  for (std::uint64_t row = 0; row < 64; ++row) rubato::create<rubato::spec>(release, {.at = row}, row);
  rubato::run();
  std::puts("check: passed");
}
