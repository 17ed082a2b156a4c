// A map of square fields: walls, and the cost of entering each other field.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"

namespace rubato::workloads::path {

/// A field, with the state of the search that visited it last: 16 bytes, so that a map of 704 x 704 takes 8
/// MB.
struct Field {
  std::uint32_t search;
  std::uint32_t distance;  ///< from the start
  std::uint32_t from;      ///< the field before it on the path
  std::uint8_t cost;       ///< to enter it, 1 to 9; 0: a wall. Not of a search, as those above and below.
  bool is_closed;
};
static_assert(sizeof(Field) == 16);

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
