// SPDX-License-Identifier: MIT
// Walks whole lists of neighbours and compares turns, where the tasks merge lists of later ones: a mistake in
// one is not repeated in the other.
#include "apps/triangle/serial_triangles.hpp"

namespace rubato::apps {

std::vector<std::uint64_t> serial_triangles(const Adjacency& graph, const PriorityOrder& priorities) {
  const std::vector<std::uint32_t>& turn = priorities.turn;
  std::vector<std::uint64_t> counts(graph.vertices(), 0);
  std::vector<std::uint8_t> is_neighbour(graph.vertices(), 0);
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (const std::uint32_t other : graph.of(v)) is_neighbour[other] = 1;
    for (const std::uint32_t second : graph.of(v)) {
      if (turn[second] < turn[v]) continue;
      for (const std::uint32_t third : graph.of(second)) {
        if (turn[third] > turn[second]) counts[v] += is_neighbour[third];
      }
    }
    for (const std::uint32_t other : graph.of(v)) is_neighbour[other] = 0;
  }
  return counts;
}

}  // namespace rubato::apps
