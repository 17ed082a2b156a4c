// Which tiles hold copies of a line, as a directory entry records it: 64 bits, one a tile up to 64 tiles, one
// a group of consecutive tiles beyond (a coarse vector; 1024 tiles: 16 a bit). A coarse vector is a superset:
// a bit stays set while any tile of its group may hold the line, so tiles without a copy may be asked.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// How tiles map to the bits of every sharer vector of a chip.
class SharerGroups {
 public:
  explicit SharerGroups(std::uint32_t tiles) : tiles_(tiles), per_bit_((tiles + 63) / 64) {}
  bool is_exact() const { return per_bit_ == 1; }
  std::uint64_t bit(TileId tile) const { return std::uint64_t{1} << (tile.value / per_bit_); }
  /// Calls f(TileId) for every tile that `bits` covers, in ascending order.
  template <class F>
  void for_each(std::uint64_t bits, F&& f) const {
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t first = static_cast<std::uint32_t>(std::countr_zero(bits)) * per_bit_;
      for (std::uint32_t t = first; t < first + per_bit_ && t < tiles_; ++t) f(TileId{t});
    }
  }

 private:
  std::uint32_t tiles_, per_bit_;
};

}  // namespace rubato::chip
