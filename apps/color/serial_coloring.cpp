// SPDX-License-Identifier: MIT
// Looks back at neighbours, where the tasks tell them: a mistake in one is not repeated in the other.
#include "apps/color/serial_coloring.hpp"

#include <limits>

namespace rubato::apps {

std::vector<std::uint32_t> serial_coloring(const Adjacency& graph, const PriorityOrder& priorities) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> color(graph.vertices(), kNone);
  std::vector<std::uint32_t> taken_for(std::size_t{graph.vertices()} + 1, kNone);  // by colour: the vertex
  for (const std::uint32_t v : priorities.order) {
    for (const std::uint32_t other : graph.of(v)) {
      if (color[other] != kNone) taken_for[color[other]] = v;
    }
    std::uint32_t least = 0;
    while (taken_for[least] == v) ++least;
    color[v] = least;
  }
  return color;
}

}  // namespace rubato::apps
