// SPDX-License-Identifier: MIT
// A visit writes only the distance of its own vertex, which is its locale and a cache line. The coordinates,
// which the creators of a visit read, lie apart: to estimate touches no line that a task writes.
#include "apps/astar/astar_tasks.hpp"

#include "apps/astar/search.hpp"
#include "apps/common/task_type.hpp"
#include "apps/common/vertex_lines.hpp"

namespace rubato::apps {
namespace {

using Vertex = VertexLine;  // the state is the distance

/// The only word that all tasks share: written once, by the target's visit. Tasks of its own timestamp go on
/// whether they see it or not, later ones all see it.
struct alignas(kLineBytes) End {
  tracked<std::uint64_t> timestamp = kNotSettled;
};

// The graph, as the tasks see it: arguments carry only the vertex and the length of its path.
Vertex* vertices = nullptr;
const Arc* arcs = nullptr;
const Vertex* target_vertex = nullptr;
Heuristic heuristic;
End end_of_search;

Locale locale_of(const Vertex* v) { return static_cast<std::uint64_t>(v - vertices); }

template <TaskType type>
void visit(Vertex* v, std::uint64_t length) {
  const Timestamp now = timestamp();
  if (now > end_of_search.timestamp || v->state != kNotSettled) return;
  v->state = length;
  if (v == target_vertex) {
    end_of_search.timestamp = std::uint64_t{now};
    return;
  }
  const Arc* const first = v->first_of(arcs);
  create_all<type>(
      first, first + v->arc_count,
      [](const Arc* arc, std::uint64_t g) {
        Vertex* const head = vertices + arc->head;
        const std::uint64_t through = g + arc->length;
        create<type>(visit<type>, {.at = through + heuristic(arc->head), .on = locale_of(head)}, head,
                     through);
      },
      length);
}

template <TaskType type>
void create_first(std::uint32_t source) {
  Vertex* const v = vertices + source;
  create<type>(visit<type>, {.at = heuristic(source), .on = locale_of(v)}, v, std::uint64_t{0});
}

}  // namespace

std::vector<std::uint64_t> astar(const Graph& graph, const Heuristic& estimate, std::uint32_t source,
                                 std::uint32_t target, TaskType type) {
  std::vector<Vertex> storage = vertex_lines(graph, kNotSettled);
  vertices = storage.data();
  arcs = graph.arcs.data();
  heuristic = estimate;
  target_vertex = vertices + target;
  end_of_search.timestamp = kNotSettled;
  with_type(type, [&]<TaskType chosen> { create_first<chosen>(source); });
  run();

  std::vector<std::uint64_t> distances(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) distances[v] = storage[v].state;
  return distances;
}

}  // namespace rubato::apps
