// The sharers of a line, as a directory entry records them: 64 bits, one a tile up to 64 tiles, one a group
// of consecutive tiles beyond (a coarse vector; 1024 tiles: 16 a bit). A coarse vector is a superset: a bit
// stays set while any tile of its group may hold the line, so tiles without a copy may be asked.
//
//   TileSet   tiles that something goes to: those that bits cover, one of them perhaps left out
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// How tiles map to the bits of every sharer vector of a chip.
class SharerGroups {
 public:
  /// `most_bits`: 1 to 64.
  explicit SharerGroups(std::uint32_t tiles, std::uint32_t most_bits = 64)
      : tiles_(tiles), per_bit_((tiles + most_bits - 1) / most_bits) {}
  bool operator==(const SharerGroups&) const = default;
  bool is_exact() const { return per_bit_ == 1; }
  std::uint32_t tiles() const { return tiles_; }
  /// The bits of all tiles.
  std::uint64_t all() const { return ~std::uint64_t{0} >> (64 - (tiles_ + per_bit_ - 1) / per_bit_); }
  /// Its bit is no other tile's.
  bool is_alone(TileId tile) const {
    const std::uint32_t first = tile.value / per_bit_ * per_bit_;
    return per_bit_ == 1 || first + 1 == tiles_;
  }
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

class TileSet {
 public:
  TileSet(SharerGroups groups, std::uint64_t bits) : groups_(groups), bits_(bits) {}
  /// But for `spared`.
  TileSet(SharerGroups groups, std::uint64_t bits, TileId spared)
      : groups_(groups),
        bits_(groups.is_alone(spared) ? bits & ~groups.bit(spared) : bits),
        spared_((bits_ & groups.bit(spared)) != 0 ? spared.value : kNoTile) {}

  bool is_empty() const { return bits_ == 0; }
  bool has(TileId tile) const { return (bits_ & groups_.bit(tile)) != 0 && tile.value != spared_; }
  std::uint32_t count() const {
    std::uint32_t tiles = static_cast<std::uint32_t>(std::popcount(bits_));
    if (!groups_.is_exact()) {
      tiles = 0;
      groups_.for_each(bits_, [&](TileId) { ++tiles; });
    }
    return tiles - (spared_ != kNoTile ? 1 : 0);
  }
  /// Calls f(TileId), in ascending order.
  template <class F>
  void for_each(F&& f) const {
    groups_.for_each(bits_, [&](TileId t) {
      if (t.value != spared_) f(t);
    });
  }

 private:
  static constexpr std::uint32_t kNoTile = ~0U;
  SharerGroups groups_;
  std::uint64_t bits_;
  std::uint32_t spared_ = kNoTile;
};

}  // namespace rubato::chip
