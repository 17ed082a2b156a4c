// SPDX-License-Identifier: MIT
// The scale is the least ratio of length to straight distance of all arcs, and a little less for rounding.
#include "apps/astar/heuristic.hpp"

#include <algorithm>
#include <limits>

namespace rubato::apps {

Heuristic::Heuristic(const Graph& graph, const std::vector<Point>& points, std::uint32_t target) {
  if (points.empty()) return;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      const double straight = distance(points[v], points[graph.arcs[a].head]);
      if (straight > 0) least = std::min(least, graph.arcs[a].length / straight);
    }
  }
  if (least == 0 || least == std::numeric_limits<double>::infinity()) return;
  points_ = points.data();
  target_ = points[target];
  scale_ = least;
  for (double less = 1e-9; !is_consistent(graph); less *= 10) {
    scale_ = least * (1 - less);
    if (less >= 1) scale_ = 0;  // consistent in any case
  }
}

bool Heuristic::is_consistent(const Graph& graph) const {
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const std::uint64_t estimate = (*this)(v);
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      if (estimate > graph.arcs[a].length + (*this)(graph.arcs[a].head)) return false;
    }
  }
  return true;
}

}  // namespace rubato::apps
