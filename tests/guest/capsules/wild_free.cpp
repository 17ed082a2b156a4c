// Speculative tasks that see what they cannot have seen call capalloc's own capsules: with a block that is in
// use, and with anything. None of it may be seen. (That they may call them is in docs/capsules.md.)
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

const char* capalloc_check() __asm__("capalloc_check");
std::uint64_t capalloc_take(std::uint64_t) __asm__("capalloc_take");
std::uint64_t capalloc_take_aligned(std::uint64_t, std::uint64_t) __asm__("capalloc_take_aligned");

namespace {

using rubato::spec;

constexpr std::uint64_t kRounds = 32, kReaders = 8;
struct alignas(64) Flag {
  volatile std::uint64_t is_set = 0;
};
Flag flags[kRounds];
void* blocks[kRounds];

void set(std::uint64_t round) {
  for (volatile unsigned i = 0; i < 300; i = i + 1) {
  }
  flags[round].is_set = 1;
}

void look(std::uint64_t round, std::uint64_t reader) {
  if (flags[round].is_set != 0) return;  // as in every serial execution
  const auto block = reinterpret_cast<std::uint64_t>(blocks[round]);
  for (std::uint64_t i = 0; i < 4; ++i) {
    capalloc_take((round * 977 + i * 131) % 5000);
    if (reader % 2 == 0) std::free(reinterpret_cast<void*>(block + reader / 4 * 16));
    if (reader % 4 == 1) capalloc_take_aligned(100, std::uint64_t{16} << i);
    if (reader % 4 == 3) capalloc_take_aligned(100, reader * 1000 + i);
  }
  while (flags[round].is_set == 0) {
  }
}

}  // namespace

int main() {
  for (void*& block : blocks) block = std::malloc(48);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    rubato::create<spec>(set, {.at = round * 2}, round);
    for (std::uint64_t reader = 0; reader < kReaders; ++reader)
      rubato::create<spec>(look, {.at = round * 2 + 1}, round, reader);
  }
  rubato::run();
  for (void* block : blocks) std::free(block);
  const char* const wrong = capalloc_check();
  std::printf("check: %s\n", wrong == nullptr ? "passed" : wrong);
  return wrong == nullptr ? 0 : 1;
}
