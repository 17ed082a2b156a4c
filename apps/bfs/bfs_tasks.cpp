// SPDX-License-Identifier: MIT
// A visit writes only the level of its own vertex, which is its locale and a cache line.
#include "apps/bfs/bfs_tasks.hpp"

#include "apps/bfs/serial_bfs.hpp"
#include "apps/common/task_type.hpp"
#include "apps/common/vertex_lines.hpp"

namespace rubato::apps {
namespace {

using Vertex = VertexLine;  // the state is the level

// The graph, as the tasks see it: arguments carry only the vertex.
Vertex* vertices = nullptr;
const Arc* arcs = nullptr;

template <TaskType type>
void visit(Vertex* v) {
  const std::uint64_t level = timestamp();
  if (v->state != kUnreached) return;
  v->state = level;
  const Arc* const first = v->first_of(arcs);
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
  std::vector<Vertex> storage = vertex_lines(graph, kUnreached);
  vertices = storage.data();
  arcs = graph.arcs.data();
  with_type(type, [&]<TaskType chosen> { search<chosen>(source); });
  std::vector<std::uint64_t> levels(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) levels[v] = storage[v].state;
  return levels;
}

}  // namespace rubato::apps
