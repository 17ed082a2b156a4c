// The estimate of A*: straight distance to the target, scaled so that no arc is shorter than the estimate it
// bridges. Then it is consistent (h(tail) <= length + h(head)), hence never above the real distance, and f =
// g
// + h never falls along a path: f can be a timestamp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

class Heuristic {
 public:
  /// Without coordinates, and where some arc of length 0 leads elsewhere: 0 everywhere, Dijkstra's algorithm.
  Heuristic() = default;
  /// `points` outlives this; one for each vertex, or none.
  Heuristic(const Graph& graph, const std::vector<Point>& points, std::uint32_t target);

  /// Lower bound of the distance from v to the target. The same on every machine: whole numbers up to the
  /// root, and no sum of products that one machine rounds once and another twice.
  std::uint64_t operator()(std::uint32_t v) const {
    if (points_ == nullptr) return 0;
    return static_cast<std::uint64_t>(scale_ * distance(points_[v], target_));
  }
  double scale() const { return scale_; }
  /// Whether the heuristic is consistent on all arcs.
  bool is_consistent(const Graph& graph) const;

  static double distance(Point a, Point b) {
    const std::int64_t dx = std::int64_t{a.x} - b.x, dy = std::int64_t{a.y} - b.y;
    return std::sqrt(
        static_cast<double>(static_cast<std::uint64_t>(dx * dx) + static_cast<std::uint64_t>(dy * dy)));
  }

 private:
  const Point* points_ = nullptr;
  Point target_{0, 0};
  double scale_ = 0;
};

}  // namespace rubato::apps
