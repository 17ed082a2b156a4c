// 600 speculative tasks allocate a block of the size that is given, meet in three counters and free it.
// Prints how many tasks ended, and how many KB the blocks of those that committed span: what capalloc's heap
// grew to while handlers of aborted attempts had still to give blocks back.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

namespace {

using rubato::create, rubato::spec;

constexpr std::uint64_t kTasks = 600;
rubato::tracked<std::uint64_t> ended, lowest = ~std::uint64_t{0}, highest;

void use_block(std::uint64_t bytes) {
  auto* const block = static_cast<std::uint64_t*>(std::malloc(bytes));
  *block = rubato::timestamp();
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (address < lowest) lowest = address;
  if (address + bytes > highest) highest = address + bytes;
  ended += 1;
  std::free(block);
}

}  // namespace

int main(int, char** argv) {
  const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10);
  create<spec>(
      [](std::uint64_t size) {
        rubato::create_all<spec>(
            std::uint64_t{0}, kTasks,
            [](std::uint64_t at, std::uint64_t each) { create<spec>(use_block, {.at = at}, each); }, size);
      },
      {.at = 0}, bytes);
  rubato::run();
  std::printf("ended %llu\nspan %llu\n", static_cast<unsigned long long>(ended),
              static_cast<unsigned long long>((highest - lowest) / 1024));
}
