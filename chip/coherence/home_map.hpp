// Home and memory controller of each line (C20): hashes of the line's address. With llc.interleave=low, the
// lowest bits of the line give the home (K22). A line that only one tile uses has its home in that tile.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "chip/config/config.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class HomeMap {
 public:
  explicit HomeMap(const Config& config) : tiles_(config.tiles()), is_low_(config.llc.interleave == "low") {
    for (std::uint32_t m = 0; m < config.mem.controllers; ++m)
      controller_tiles_.push_back(
          controller_tile(config.chip.mesh_width, config.chip.mesh_height, m, config.mem.controllers));
  }
  TileId home_of(LineAddr line) const {
    if (const std::uint64_t i = line.value - private_first_; i < private_lines_)
      return TileId{static_cast<std::uint32_t>(i / private_per_tile_)};
    if (is_low_) return TileId{static_cast<std::uint32_t>(line.value & (tiles_ - 1))};
    return TileId{interleave(mix64(line.value) >> 32, tiles_)};
  }
  /// See MemoryHierarchy.
  void set_private_lines(LineAddr first, std::uint64_t lines) {
    private_first_ = first.value;
    private_per_tile_ = lines;
    private_lines_ = lines * tiles_;
  }
  std::uint32_t controller_of(LineAddr line) const {
    return interleave(mix64(line.value), static_cast<std::uint32_t>(controller_tiles_.size()));
  }
  TileId controller_tile_of(LineAddr line) const { return controller_tiles_[controller_of(line)]; }

 private:
  static std::uint32_t interleave(std::uint64_t hash32, std::uint32_t over) {
    return static_cast<std::uint32_t>((hash32 & 0xffffffff) * over >> 32);
  }

  std::uint32_t tiles_;
  bool is_low_;  // then tiles are a power of two
  std::uint64_t private_first_ = 0, private_lines_ = 0, private_per_tile_ = 1;
  std::vector<TileId> controller_tiles_;
};

}  // namespace rubato::chip
