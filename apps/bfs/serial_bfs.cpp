// SPDX-License-Identifier: MIT
// The queue is the list of vertices in the order of their visits.
#include "apps/bfs/serial_bfs.hpp"

namespace rubato::apps {

std::vector<std::uint64_t> serial_bfs(const Graph& graph, std::uint32_t source) {
  std::vector<std::uint64_t> level(graph.vertices(), kUnreached);
  std::vector<std::uint32_t> visits{source};
  level[source] = 0;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const std::uint32_t v = visits[i];
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      const std::uint32_t head = graph.arcs[a].head;
      if (level[head] != kUnreached) continue;
      level[head] = level[v] + 1;
      visits.push_back(head);
    }
  }
  return level;
}

}  // namespace rubato::apps
