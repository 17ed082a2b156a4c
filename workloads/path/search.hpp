// Shortest paths on a Map by A* (Hart, Nilsson, Raphael, 1968), whose open fields are in buckets (Dial,
// 1969).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/path/map.hpp"

namespace rubato::workloads::path {

/// Searches, one after another, on a map of their own.
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
  void reach(std::size_t field, std::uint32_t distance, std::size_t from, const Journey& journey);
  std::uint32_t at_least(std::size_t from, std::size_t to) const;

  Map map_;
  /// Fields to visit, by the least cost of a path over them, modulo kBuckets. A step adds less to that than
  /// there are buckets. A field is in one for each time that a shorter way to it was found.
  static constexpr unsigned kBuckets = 16;
  std::array<std::vector<std::uint32_t>, kBuckets> buckets_;
  std::size_t open_ = 0;  ///< fields in them
  std::uint32_t search_ = 0;
};

/// The same length by Dijkstra's algorithm on arrays of its own, or none.
std::optional<std::uint32_t> plain_length(const Map& map, const Journey& journey);

}  // namespace rubato::workloads::path
