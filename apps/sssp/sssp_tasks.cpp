// SPDX-License-Identifier: MIT
// The vertex array holds what tasks write next to what they need to go on: 16 bytes, four vertices a line.
#include "apps/sssp/sssp_tasks.hpp"

#include <cstddef>
#include <memory>
#include <new>

#include "apps/sssp/dijkstra.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kLineBytes = 64;

struct Vertex {
  tracked<std::uint64_t> distance = kUnset;
  std::uint32_t first_arc = 0;
  std::uint32_t arc_count = 0;
};
static_assert(sizeof(Vertex) == 16);

struct alignas(kLineBytes) VertexLine {
  Vertex vertices[kLineBytes / sizeof(Vertex)];
};

// Where tasks find the graph: arguments carry only the vertex.
Vertex* vertices = nullptr;
const Arc* arcs = nullptr;

template <LocaleChoice choice>
Locale locale_of(const Vertex* v) {
  if constexpr (choice == LocaleChoice::vertex) return static_cast<std::uint64_t>(v - vertices);
  return reinterpret_cast<std::uintptr_t>(v) / kLineBytes;
}

template <TaskType type, LocaleChoice choice>
void visit(Vertex* v) {
  const Timestamp distance = timestamp();
  if (v->distance != kUnset) return;
  v->distance = distance;
  const Arc* const first = arcs + v->first_arc;
  create_all<type>(
      first, first + v->arc_count,
      [](const Arc* arc, std::uint64_t d) {
        Vertex* const head = vertices + arc->head;
        create<type>(visit<type, choice>, {.at = d + arc->length, .on = locale_of<choice>(head)}, head);
      },
      std::uint64_t{distance});
}

template <TaskType type>
void create_first(Vertex* source, LocaleChoice choice) {
  if (choice == LocaleChoice::vertex) {
    create<type>(visit<type, LocaleChoice::vertex>, {.at = 0, .on = locale_of<LocaleChoice::vertex>(source)},
                 source);
  } else {
    create<type>(visit<type, LocaleChoice::line>, {.at = 0, .on = locale_of<LocaleChoice::line>(source)},
                 source);
  }
}

}  // namespace

std::vector<std::uint64_t> sssp(const Graph& graph, std::uint32_t source, TaskType type,
                                LocaleChoice locale) {
  constexpr std::size_t kPerLine = kLineBytes / sizeof(Vertex);
  std::vector<VertexLine> storage((graph.vertices() + kPerLine - 1) / kPerLine);
  vertices = storage.front().vertices;
  arcs = graph.arcs.data();
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    vertices[v].first_arc = graph.first_arc[v];
    vertices[v].arc_count = graph.first_arc[v + 1] - graph.first_arc[v];
  }

  switch (type) {
    case TaskType::spec:
      create_first<TaskType::spec>(vertices + source, locale);
      break;
    case TaskType::nonspec:
      create_first<TaskType::nonspec>(vertices + source, locale);
      break;
    case TaskType::mayspec:
      create_first<TaskType::mayspec>(vertices + source, locale);
      break;
  }
  run();

  std::vector<std::uint64_t> distances(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) distances[v] = vertices[v].distance;
  return distances;
}

}  // namespace rubato::apps
