// The sizes of small blocks, alike in the simulator's ideal allocator and in the guests' capalloc, so that
// the two differ in nothing but how they work: 16, 32, multiples of a line up to 512, then four sizes a
// doubling up to 16 KiB. Blocks of a line and more share no line.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace rubato {

inline constexpr unsigned kSizeClasses = 30;
inline constexpr std::uint32_t kLargestSmallBlock = 16 << 10;

inline constexpr std::array<std::uint32_t, kSizeClasses> kClassBytes = [] {
  std::array<std::uint32_t, kSizeClasses> sizes{16, 32};
  unsigned n = 2;
  std::uint32_t bytes = 64;
  for (; bytes <= 512; bytes += 64) sizes[n++] = bytes;
  for (bytes = 512; bytes < kLargestSmallBlock;) {
    for (std::uint32_t step = bytes / 4, i = 0; i < 4; ++i) sizes[n++] = bytes += step;
  }
  return sizes;
}();
static_assert(kClassBytes.back() == kLargestSmallBlock);

/// The class of the smallest block that has 16 * i bytes.
inline constexpr std::array<std::uint8_t, kLargestSmallBlock / 16 + 1> kClassOfUnits = [] {
  std::array<std::uint8_t, kLargestSmallBlock / 16 + 1> classes{};
  for (unsigned i = 0, c = 0; i < classes.size(); ++i) {
    while (kClassBytes[c] < i * 16) ++c;
    classes[i] = static_cast<std::uint8_t>(c);
  }
  return classes;
}();

/// The class of the smallest block that has `bytes`, at most kLargestSmallBlock.
constexpr unsigned size_class_of(std::uint64_t bytes) { return kClassOfUnits[(bytes + 15) / 16]; }

}  // namespace rubato
