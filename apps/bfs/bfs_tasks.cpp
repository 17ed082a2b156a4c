// SPDX-License-Identifier: MIT
// A visit writes only the level of its own vertex, which is its locale; the arcs never change.
#include "apps/bfs/bfs_tasks.hpp"

#include <cstddef>

#include "apps/bfs/serial_bfs.hpp"
#include "apps/common/line_array.hpp"

namespace rubato::apps {
namespace {

struct Vertex {
  tracked<std::uint64_t> level = kUnreached;
  std::uint32_t first_arc = 0;
  std::uint32_t arc_count = 0;
};

// Where tasks find the graph: arguments carry only the vertex.
Vertex* vertices = nullptr;
const Arc* arcs = nullptr;

template <TaskType type>
void visit(Vertex* v) {
  const std::uint64_t level = timestamp();
  if (v->level != kUnreached) return;
  v->level = level;
  const Arc* const first = arcs + v->first_arc;
  create_all<type>(
      first, first + v->arc_count,
      [](const Arc* arc, std::uint64_t next) {
        create<type>(visit<type>, {.at = next, .on = arc->head}, vertices + arc->head);
      },
      level + 1);
}

template <TaskType type>
void search(std::uint32_t source) {
  create<type>(visit<type>, {.at = 0, .on = source}, vertices + source);
  run();
}

}  // namespace

std::vector<std::uint64_t> bfs(const Graph& graph, std::uint32_t source, TaskType type) {
  LineArray<Vertex> storage(graph.vertices());
  vertices = storage.data();
  arcs = graph.arcs.data();
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    vertices[v].first_arc = graph.first_arc[v];
    vertices[v].arc_count = graph.first_arc[v + 1] - graph.first_arc[v];
  }
  switch (type) {
    case TaskType::spec:
      search<TaskType::spec>(source);
      break;
    case TaskType::nonspec:
      search<TaskType::nonspec>(source);
      break;
    case TaskType::mayspec:
      search<TaskType::mayspec>(source);
      break;
  }
  std::vector<std::uint64_t> levels(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) levels[v] = vertices[v].level;
  return levels;
}

}  // namespace rubato::apps
