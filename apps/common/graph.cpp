// SPDX-License-Identifier: MIT
// Counting sort of edges into compressed sparse rows.
#include "apps/common/graph.hpp"

namespace rubato::apps {

Graph make_graph(std::uint32_t vertices, const std::vector<Edge>& edges, std::uint32_t first_id) {
  Graph graph;
  graph.first_id = first_id;
  graph.first_arc.assign(std::size_t{vertices} + 1, 0);
  for (const Edge& e : edges) ++graph.first_arc[std::size_t{e.tail} + 1];
  for (std::size_t v = 0; v < vertices; ++v) graph.first_arc[v + 1] += graph.first_arc[v];
  graph.arcs.resize(edges.size());
  std::vector<std::uint32_t> next(graph.first_arc.begin(), graph.first_arc.end() - 1);
  for (const Edge& e : edges) graph.arcs[next[e.tail]++] = {e.head, e.length};
  return graph;
}

}  // namespace rubato::apps
