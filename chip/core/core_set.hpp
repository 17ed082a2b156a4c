// A set of cores: a bit each.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato::chip {

class CoreSet {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  CoreSet() = default;
  /// None of the `cores` of a chip, or all of them.
  CoreSet(std::uint32_t cores, bool has_all) : words_((cores + 63) / 64) {
    for (std::uint32_t core = 0; core < cores && has_all; ++core) add(core);
  }
  bool has(std::uint32_t core) const { return (words_[core / 64] >> core % 64 & 1) != 0; }
  void add(std::uint32_t core) { words_[core / 64] |= bit(core); }
  void remove(std::uint32_t core) { words_[core / 64] &= ~bit(core); }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  /// The lowest core, or kNone.
  std::uint32_t first() const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] != 0)
        return static_cast<std::uint32_t>(64 * i) + static_cast<std::uint32_t>(std::countr_zero(words_[i]));
    return kNone;
  }

 private:
  static std::uint64_t bit(std::uint32_t core) { return std::uint64_t{1} << core % 64; }
  std::vector<std::uint64_t> words_;
};

}  // namespace rubato::chip
