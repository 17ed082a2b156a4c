// The order in which the ways of each set were last used: true LRU without stamps. Up to 16 ways are a word
// of 4-bit way numbers, the most recently used lowest. A use is then a dozen instructions and the victim a
// shift. More ways are a list of bytes. Invariant: each set's order is a permutation of its ways.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "base/prefetch.hpp"

namespace rubato::chip {

class UseOrder {
 public:
  /// Host memory a set takes, in bytes.
  static constexpr std::size_t host_bytes(std::uint32_t ways) { return ways <= kWordWays ? 8 : ways; }

  /// ways: 1 to 64. `memory` must outlive the order.
  UseOrder(std::uint64_t sets, std::uint32_t ways, std::pmr::memory_resource* memory)
      : ways_(ways),
        words_(ways <= kWordWays ? sets : 0, kIdentity, memory),
        bytes_(ways <= kWordWays ? 0 : sets * ways, memory) {
    for (auto at = bytes_.begin(); at != bytes_.end(); at += ways) std::iota(at, at + ways, std::uint8_t{0});
  }

  void use(std::uint64_t set, std::uint32_t way) {
    if (ways_ > kWordWays) return to_front(&bytes_[set * ways_], way);
    std::uint64_t& word = words_[set];
    const unsigned place = place_of(word, way);
    const std::uint64_t before = word & ((std::uint64_t{1} << place) - 1);
    word = (word & above(place)) | before << 4 | way;
  }
  /// The way counts as the longest unused: it is empty now.
  void retire(std::uint64_t set, std::uint32_t way) {
    if (ways_ > kWordWays) return to_back(&bytes_[set * ways_], way);
    std::uint64_t& word = words_[set];
    const unsigned place = place_of(word, way), last = (ways_ - 1) * 4;
    const std::uint64_t before = word & ((std::uint64_t{1} << place) - 1);
    const std::uint64_t behind = word & above(place) & ~above(last);
    word = (word & above(last)) | std::uint64_t{way} << last | behind >> 4 | before;
  }
  std::uint32_t least_recent(std::uint64_t set) const {
    if (ways_ > kWordWays) return bytes_[set * ways_ + ways_ - 1];
    return static_cast<std::uint32_t>(words_[set] >> (ways_ - 1) * 4 & 15);
  }
  void prefetch(std::uint64_t set) const {
    if (ways_ <= kWordWays) rubato::prefetch(&words_[set]);
  }

 private:
  static constexpr std::uint32_t kWordWays = 16;
  static constexpr std::uint64_t kIdentity = 0xfedcba9876543210;
  static constexpr std::uint64_t kOnes = 0x1111111111111111;

  /// Bit position of `way` in `word`: the lowest zero digit of their difference.
  static unsigned place_of(std::uint64_t word, std::uint32_t way) {
    const std::uint64_t difference = word ^ way * kOnes;
    const std::uint64_t zero = (difference - kOnes) & ~difference & kOnes << 3;
    return static_cast<unsigned>(std::countr_zero(zero)) & ~3U;
  }
  /// The digits behind the one at bit `place`.
  static std::uint64_t above(unsigned place) { return ~std::uint64_t{15} << place; }

  void to_front(std::uint8_t* order, std::uint32_t way) const {
    std::uint8_t* const at = std::find(order, order + ways_, static_cast<std::uint8_t>(way));
    std::rotate(order, at, at + 1);
  }
  void to_back(std::uint8_t* order, std::uint32_t way) const {
    std::uint8_t* const at = std::find(order, order + ways_, static_cast<std::uint8_t>(way));
    std::rotate(at, at + 1, order + ways_);
  }

  std::uint32_t ways_;
  std::pmr::vector<std::uint64_t> words_;
  std::pmr::vector<std::uint8_t> bytes_;
};

}  // namespace rubato::chip
