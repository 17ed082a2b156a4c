// H3 hashing (Carter, Wegman, 1979): each way multiplies the line's address with its own random matrix over
// GF(2). The matrices are the same on every chip and for every seed, so collisions are a property of the
// filter, not of the run. Table look-ups by byte; a line's zero high bytes cost nothing, because the hash is
// linear.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

inline constexpr std::uint32_t kMaxBloomWays = 16;

/// A line's row in each way's bank of a filter, numbered through: way * rows a way + row.
struct BloomRows {
  std::uint32_t at[kMaxBloomWays];
};

class H3 {
 public:
  /// ways: 1 to kMaxBloomWays; rows a way: 1 to 65536, a power of two or not.
  H3(std::uint32_t ways, std::uint32_t rows)
      : ways_(ways),
        rows_(rows),
        lane_bits_(rows <= 256 && std::has_single_bit(rows) ? 8 : 16),
        words_((ways * lane_bits_ + 63) / 64),
        tables_(std::size_t{8} * 256 * words_) {
    Rng rng(0x4833);
    for (std::uint32_t byte = 0; byte < 8; ++byte)
      for (std::uint32_t bit = 0; bit < 8; ++bit)
        for (std::uint32_t w = 0; w < words_; ++w) {
          const std::uint64_t column = rng();
          for (std::uint32_t value = 0; value < 256; ++value)
            if ((value >> bit & 1) != 0) tables_[(byte * 256 + value) * words_ + w] ^= column;
        }
  }

  std::uint32_t ways() const { return ways_; }
  std::uint32_t rows() const { return rows_; }

  /// True if a row of each way takes a byte of hash(), which then has all of them: up to 8 ways of 256 rows.
  bool is_in_bytes() const { return rows_ == 256 && ways_ <= 8; }

  /// A line's row of way w in byte w; 0 of filters that are not in bytes.
  std::uint64_t hash(LineAddr line) const {
    if (!is_in_bytes()) return 0;
    // Four bytes are all there is of nearly every line; how many of them are zero is not worth a guess.
    const std::uint64_t* table = tables_.data();
    const std::uint64_t v = line.value;
    std::uint64_t word = table[v & 0xff] ^ table[256 + (v >> 8 & 0xff)] ^ table[512 + (v >> 16 & 0xff)] ^
                         table[768 + (v >> 24 & 0xff)];
    for (std::uint64_t rest = v >> 32; rest != 0; rest >>= 8, table += 256)
      word ^= table[1024 + (rest & 0xff)];
    return word;
  }

  /// The rows of filters of any shape.
  BloomRows rows(LineAddr line) const {
    std::uint64_t words[kMaxBloomWays * 16 / 64] = {};
    const std::uint64_t* table = tables_.data();
    for (std::uint64_t rest = line.value; rest != 0; rest >>= 8, table += std::size_t{256} * words_)
      for (std::uint32_t w = 0; w < words_; ++w) words[w] ^= table[(rest & 0xff) * words_ + w];
    BloomRows result;
    const std::uint64_t mask = (std::uint64_t{1} << lane_bits_) - 1;
    for (std::uint32_t way = 0, bit = 0; way < ways_; ++way, bit += lane_bits_) {
      const std::uint64_t lane = words[bit / 64] >> bit % 64 & mask;
      result.at[way] = way * rows_ + static_cast<std::uint32_t>(lane * rows_ >> lane_bits_);
    }
    return result;
  }

 private:
  std::uint32_t ways_, rows_, lane_bits_, words_;
  std::vector<std::uint64_t> tables_;  // by byte, its value, word
};

}  // namespace rubato::chip
