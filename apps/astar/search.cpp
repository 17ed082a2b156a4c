// SPDX-License-Identifier: MIT
// Outdated heap entries are skipped instead of being decreased.
#include "apps/astar/search.hpp"

#include <functional>
#include <queue>
#include <tuple>

namespace rubato::apps {

std::vector<std::uint64_t> serial_search(const Graph& graph, const Heuristic& estimate, std::uint32_t source,
                                         std::uint32_t target) {
  using Visit = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  // f, g, vertex
  std::vector<std::uint64_t> distance(graph.vertices(), kNotSettled);
  std::priority_queue<Visit, std::vector<Visit>, std::greater<>> queue;
  std::uint64_t last = kNotSettled;
  queue.emplace(estimate(source), 0, source);
  while (!queue.empty() && std::get<0>(queue.top()) <= last) {
    const auto [f, g, v] = queue.top();
    queue.pop();
    if (distance[v] != kNotSettled) continue;
    distance[v] = g;
    if (v == target) {
      last = f;
      continue;
    }
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      const Arc& arc = graph.arcs[a];
      if (distance[arc.head] != kNotSettled) continue;
      queue.emplace(g + arc.length + estimate(arc.head), g + arc.length, arc.head);
    }
  }
  return distance;
}

Graph reversed(const Graph& graph) {
  std::vector<Edge> edges;
  edges.reserve(graph.arcs.size());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      edges.push_back({graph.arcs[a].head, v, graph.arcs[a].length});
    }
  }
  return make_graph(graph.vertices(), edges, graph.first_id);
}

}  // namespace rubato::apps
