// Speculative tasks that see what they cannot have seen call a capsule that stores to its caller's memory:
// with a pointer to untracked memory, having written to the global offset table before, or not; with one into
// the vector, or to what capalloc knows of its blocks. Nothing of it may be seen (P14).
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

extern std::uint64_t offset_table[] __asm__("_GLOBAL_OFFSET_TABLE_");
extern char global_pointer[] __asm__("__global_pointer$");
const char* capalloc_check() __asm__("capalloc_check");

namespace {

using rubato::spec;

constexpr std::uint64_t kRounds = 24, kReaders = 4, kWords = 64;
RUBATO_UNTRACKED rubato::untracked<std::uint64_t[kWords]> guarded;
struct alignas(64) Flag {
  volatile std::uint64_t is_set = 0;
};
Flag flags[kRounds];
std::uint64_t zeros[4];

}  // namespace

RUBATO_CAPSULE(void, put, (std::uint64_t * to)) {
  const std::uint64_t value = 1;
  rubato::capsule::copy_out(to, &value, sizeof value);
}

namespace {

void set(std::uint64_t round) {
  for (volatile unsigned i = 0; i < 300; i = i + 1) {
  }
  flags[round].is_set = 1;
}

void look(std::uint64_t round, std::uint64_t reader) {
  if (flags[round].is_set != 0) return;  // as in every serial execution
  std::uint64_t* wild = &(*guarded)[round % kWords];
  if (reader == 1) {
    auto* const end =
        reinterpret_cast<std::uint64_t*>(global_pointer - 0x800);  // of the table, or of all static data
    for (std::uint64_t* slot = offset_table; slot < end; ++slot)
      *slot = reinterpret_cast<std::uint64_t>(zeros);
  } else if (reader == 2) {
    wild = reinterpret_cast<std::uint64_t*>(RUBATO_ADDRESS_OF("rubato_capsules_begin")) + round;
  } else if (reader == 3) {
    wild = reinterpret_cast<std::uint64_t*>(rubato::engine::untracked_arena().begin) + round;
  }
  put(wild);
  while (flags[round].is_set == 0) {
  }
}

}  // namespace

int main() {
  void* const block = std::malloc(48);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    rubato::create<spec>(set, {.at = round * 2}, round);
    for (std::uint64_t reader = 0; reader < kReaders; ++reader)
      rubato::create<spec>(look, {.at = round * 2 + 1}, round, reader);
  }
  rubato::run();
  std::free(block);
  for (const std::uint64_t word : *guarded) {
    if (word == 0) continue;
    std::puts("check: a wild task changed untracked memory");
    return 1;
  }
  const char* const wrong = capalloc_check();
  std::printf("check: %s\n", wrong == nullptr ? "passed" : wrong);
  return wrong == nullptr ? 0 : 1;
}
