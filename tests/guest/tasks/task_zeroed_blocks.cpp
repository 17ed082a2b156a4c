// Speculative tasks that zero whole cache blocks (cbo.zero) which all others read: each sums a block up,
// zeroes it and writes the sum and one into a word of its own. An attempt that is undone must give all eight
// words back.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kTasks = 400, kBlocks = 4;
struct alignas(64) Block {
  std::uint64_t words[8];
};
Block blocks[kBlocks];

void count(std::uint64_t i) {
  std::uint64_t* const words = blocks[i % kBlocks].words;
  std::uint64_t sum = 0;
  for (int k = 0; k < 8; ++k) sum += static_cast<volatile std::uint64_t*>(words)[k];
  asm volatile(".insn i 0x0f, 2, x0, %0, 4" : : "r"(words) : "memory");
  static_cast<volatile std::uint64_t*>(words)[i / kBlocks % 8] = sum + 1;
}

}  // namespace

int main() {
  for (std::uint64_t i = 0; i < kTasks; ++i) create<spec>(count, {.at = i}, i);
  run();
  bool passed = true;
  for (std::uint64_t b = 0; b < kBlocks; ++b)
    for (std::uint64_t k = 0; k < 8; ++k)
      passed = passed && blocks[b].words[k] == (k == (kTasks / kBlocks - 1) % 8 ? kTasks / kBlocks : 0);
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
