// A map of square fields: walls, and what each other field costs to enter.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"

namespace rubato::workloads::path {

/// A field, and what the search that visited it last knows of it: 8 bytes, so that a map of 1024 x 1024 takes
/// 8 MB.
struct Field {
  std::uint32_t distance;  ///< from the start, of search `search`
  std::uint16_t search;
  std::uint8_t cost;  ///< to enter it, 1 to 9; 0: a wall
  std::uint8_t state;
};
static_assert(sizeof(Field) == 8);

class Map {
 public:
  /// `side`: at least 4. The border is wall, so no step leaves the map.
  Map(unsigned side, std::uint64_t seed);
  unsigned side() const { return side_; }
  std::size_t fields() const { return fields_.size(); }
  Field& operator[](std::size_t i) { return fields_[i]; }
  const Field& operator[](std::size_t i) const { return fields_[i]; }

 private:
  unsigned side_;
  std::vector<Field> fields_;
};

/// From where to where.
struct Journey {
  std::size_t start, goal;
};
/// Two fields that are no walls, at most `span` apart in each direction.
Journey draw_journey(const Map& map, unsigned span, Rng& rng);

}  // namespace rubato::workloads::path
