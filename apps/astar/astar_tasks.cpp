// SPDX-License-Identifier: MIT
// What tasks write (16 bytes a vertex, four a line) lies apart from the coordinates, which the creators of a
// visit read: to estimate touches no line that a task writes.
#include "apps/astar/astar_tasks.hpp"

#include <cstddef>

#include "apps/astar/search.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kLineBytes = 64;

struct Vertex {
  tracked<std::uint64_t> distance = kNotSettled;
  std::uint32_t first_arc = 0;
  std::uint32_t arc_count = 0;
};
static_assert(sizeof(Vertex) == 16);

struct alignas(kLineBytes) VertexLine {
  Vertex vertices[kLineBytes / sizeof(Vertex)];
};

/// The only word that all tasks share: written once, by the target's visit. Tasks of its own timestamp go on
/// whether they see it or not, later ones all see it.
struct alignas(kLineBytes) End {
  tracked<std::uint64_t> timestamp = kNotSettled;
};

// Where tasks find the graph: arguments carry only the vertex and the length of its path.
Vertex* vertices = nullptr;
const Arc* arcs = nullptr;
const Vertex* target_vertex = nullptr;
Heuristic heuristic;
End end_of_search;

Locale locale_of(const Vertex* v) { return static_cast<std::uint64_t>(v - vertices); }

template <TaskType type>
void visit(Vertex* v, std::uint64_t length) {
  const Timestamp now = timestamp();
  if (now > end_of_search.timestamp || v->distance != kNotSettled) return;
  v->distance = length;
  if (v == target_vertex) {
    end_of_search.timestamp = std::uint64_t{now};
    return;
  }
  const Arc* const first = arcs + v->first_arc;
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
  constexpr std::size_t kPerLine = kLineBytes / sizeof(Vertex);
  std::vector<VertexLine> storage((graph.vertices() + kPerLine - 1) / kPerLine);
  vertices = storage.front().vertices;
  arcs = graph.arcs.data();
  heuristic = estimate;
  target_vertex = vertices + target;
  end_of_search.timestamp = kNotSettled;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    vertices[v].first_arc = graph.first_arc[v];
    vertices[v].arc_count = graph.first_arc[v + 1] - graph.first_arc[v];
  }

  switch (type) {
    case TaskType::spec:
      create_first<TaskType::spec>(source);
      break;
    case TaskType::nonspec:
      create_first<TaskType::nonspec>(source);
      break;
    case TaskType::mayspec:
      create_first<TaskType::mayspec>(source);
      break;
  }
  run();

  std::vector<std::uint64_t> distances(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) distances[v] = vertices[v].distance;
  return distances;
}

}  // namespace rubato::apps
