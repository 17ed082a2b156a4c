// SPDX-License-Identifier: MIT
// A visit writes only the distance of its own vertex, which is its locale and a cache line.
#include "apps/sssp/sssp_tasks.hpp"

#include "apps/common/task_type.hpp"
#include "apps/sssp/dijkstra.hpp"

namespace rubato::apps {
namespace {

using Vertex = VertexLine;  // the state is the distance

// The graph, as the tasks see it: arguments carry only the vertex.
Vertex* vertices = nullptr;
const Arc* arcs = nullptr;

template <TaskType type>
void visit(Vertex* v) {
  const Timestamp distance = timestamp();
  if (v->state != kUnset) return;
  v->state = distance;
  const Arc* const first = v->first_of(arcs);
  create_all<type>(
      first, first + v->arc_count,
      [](const Arc* arc, std::uint64_t d) {
        create<type>(visit<type>, {.at = d + arc->length, .on = arc->head}, vertices + arc->head);
      },
      std::uint64_t{distance});
}

template <TaskType type>
void search(std::uint32_t source) {
  create<type>(visit<type>, {.at = 0, .on = source}, vertices + source);
  run();
}

}  // namespace

ShortestPaths::ShortestPaths(const Graph& graph) : graph_(graph), vertices_(vertex_lines(graph, kUnset)) {}

std::vector<std::uint64_t> ShortestPaths::from(std::uint32_t source, TaskType type) {
  vertices = vertices_.data();
  arcs = graph_.arcs.data();
  with_type(type, [&]<TaskType chosen> { search<chosen>(source); });
  std::vector<std::uint64_t> distances;
  distances.reserve(vertices_.size());
  for (Vertex& v : vertices_) {
    distances.push_back(v.state);
    v.state = kUnset;
  }
  return distances;
}

}  // namespace rubato::apps
