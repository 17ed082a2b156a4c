// Shortest paths on a Map by A* (Hart, Nilsson, Raphael, 1968).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/path/map.hpp"

namespace rubato::workloads::path {

/// One search after another on a map of its own.
class Search {
 public:
  Search(unsigned side, std::uint64_t seed) : map_(side, seed) {}
  /// @returns the length of the shortest path: the costs of its fields but the first; none if there is no
  /// path.
  std::optional<std::uint32_t> length(const Journey& journey);
  /// The fields of the path that length() has just found, from its goal to its start.
  std::vector<std::size_t> path(const Journey& journey) const;
  const Map& map() const { return map_; }

 private:
  /// A field to visit: `estimate` is what a path over it costs at least.
  struct Open {
    std::uint32_t estimate, distance, field;
    bool operator<(const Open& other) const;
  };
  void begin();
  void reach(std::size_t field, std::uint32_t distance, unsigned direction, const Journey& journey);
  std::uint32_t at_least(std::size_t from, std::size_t to) const;

  Map map_;
  std::vector<Open> open_;  ///< a heap; a field is in it once for each time that a shorter way was found
  std::uint16_t search_ = 0;
};

/// The same length by Dijkstra's algorithm on arrays of its own, or none.
std::optional<std::uint32_t> plain_length(const Map& map, const Journey& journey);

}  // namespace rubato::workloads::path
