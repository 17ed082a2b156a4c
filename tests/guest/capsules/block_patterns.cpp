// Tasks that do little but take and free blocks, to compare allocators: block_patterns
// aligned|pages|fragments.
//   aligned    4000 tasks take four blocks each, aligned to 16 bytes to 4 KiB, and free them
//   pages      the same, to 512 KiB: nearly half of the blocks are whole pages
//   fragments  five rounds of tasks fill 4096 places with blocks, larger ones each round, and free every
//   other
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rubato/rubato.hpp"

using namespace rubato;

extern "C" const char* capalloc_check();

namespace {

constexpr std::uint64_t kTasks = 4000, kPlaces = 4096, kEach = 8, kRounds = 5;
std::uint64_t alignments = 9;  // 16 bytes and its doubles
tracked<std::uint64_t> faults;
tracked<unsigned char*> places[kPlaces];

void take_four(std::uint64_t task) {
  unsigned char* blocks[4];
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t drawn = (task * 4 + i) * 0x9e3779b97f4a7c15;
    const std::uint64_t alignment = std::uint64_t{16} << (drawn >> 40) % alignments;
    const std::uint64_t bytes = 16 + (drawn >> 20) % 1000;
    blocks[i] = static_cast<unsigned char*>(std::aligned_alloc(alignment, bytes));
    if (reinterpret_cast<std::uintptr_t>(blocks[i]) % alignment != 0) faults += 1;
    blocks[i][0] = blocks[i][bytes - 1] = static_cast<unsigned char>(i);
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    if (blocks[i][0] != i) faults += 1;
    std::free(blocks[i]);
  }
}

void fill(std::uint64_t first, std::uint64_t round) {
  for (std::uint64_t i = first; i < first + kEach; ++i) {
    if (places[i] != nullptr) continue;
    auto* const block = static_cast<unsigned char*>(std::malloc((24u << round) + i % 8 * 16));
    block[0] = static_cast<unsigned char>(i);
    places[i] = block;
  }
}

void drop(std::uint64_t first, std::uint64_t round) {
  for (std::uint64_t i = first; i < first + kEach; ++i) {
    if ((i + round) % 2 != 0) continue;
    if (places[i][0] != static_cast<unsigned char>(i)) faults += 1;
    std::free(places[i]);
    places[i] = nullptr;
  }
}

void create_round(std::uint64_t round) {
  create_all<mayspec>(
      std::uint64_t{0}, kPlaces / kEach,
      [](std::uint64_t i, std::uint64_t r) {
        create<mayspec>(r % 2 == 0 ? fill : drop, {.at = r, .on = i}, i * kEach, r / 2);
      },
      round);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const pattern = argc > 1 ? argv[1] : "aligned";
  if (std::strcmp(pattern, "fragments") == 0) {
    for (std::uint64_t r = 0; r < 2 * kRounds; ++r) create<mayspec>(create_round, {.at = r}, r);
  } else {
    if (std::strcmp(pattern, "pages") == 0) alignments = 16;
    create<mayspec>(
        [] {
          create_all<mayspec>(std::uint64_t{0}, kTasks,
                              [](std::uint64_t t) { create<mayspec>(take_four, {.at = t}, t); });
        },
        {.at = 0});
  }
  run();
  const char* const fault = capalloc_check();
  if (fault != nullptr) std::printf("%s\n", fault);
  const bool passed = faults == 0u && fault == nullptr;
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
