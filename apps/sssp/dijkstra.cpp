// SPDX-License-Identifier: MIT
// E. W. Dijkstra, "A note on two problems in connexion with graphs", 1959; outdated heap entries are skipped
// instead of being decreased.
#include "apps/sssp/dijkstra.hpp"

#include <functional>
#include <queue>
#include <utility>

namespace rubato::apps {

std::vector<std::uint64_t> dijkstra(const Graph& graph, std::uint32_t source) {
  using Visit = std::pair<std::uint64_t, std::uint32_t>;  // distance, vertex
  std::vector<std::uint64_t> distance(graph.vertices(), kUnset);
  std::priority_queue<Visit, std::vector<Visit>, std::greater<>> queue;
  distance[source] = 0;
  queue.emplace(0, source);
  while (!queue.empty()) {
    const auto [d, v] = queue.top();
    queue.pop();
    if (d != distance[v]) continue;
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      const Arc& arc = graph.arcs[a];
      if (d + arc.length < distance[arc.head]) {
        distance[arc.head] = d + arc.length;
        queue.emplace(d + arc.length, arc.head);
      }
    }
  }
  return distance;
}

}  // namespace rubato::apps
