// SPDX-License-Identifier: MIT
// A task reads and writes only the colour and the words of the vertex that is its locale; lists and turns
// never change. Reports keep the timestamp of the vertex that was coloured, which is before the turn of whom
// they tell.
#include "apps/color/color_tasks.hpp"

#include <bit>
#include <cstddef>

#include "apps/common/line_array.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint32_t kWordBits = 64;

/// A vertex with k earlier neighbours takes one of the colours 0 to k: bit c of its words says that an
/// earlier neighbour has colour c < k; colours from k on need not be known.
struct Vertex {
  tracked<std::uint32_t> color = 0;
  std::uint32_t turn = 0;
  std::uint32_t earlier_count = 0;
  std::uint32_t first_later = 0;
  std::uint32_t later_count = 0;
  std::uint32_t reserved = 0;
  tracked<std::uint64_t>* taken = nullptr;
};
static_assert(sizeof(Vertex) == 32);

// Where tasks find the graph: arguments carry only the vertex.
Vertex* vertices = nullptr;
const std::uint32_t* later = nullptr;

std::uint32_t words_of(std::uint32_t earlier_count) { return (earlier_count + kWordBits - 1) / kWordBits; }

void forbid(Vertex* v, std::uint32_t color) {
  if (color < v->earlier_count) v->taken[color / kWordBits] |= std::uint64_t{1} << color % kWordBits;
}

std::uint32_t least_free(const Vertex* v) {
  const std::uint32_t words = words_of(v->earlier_count);
  for (std::uint32_t i = 0; i < words; ++i) {
    const std::uint64_t taken = v->taken[i];
    if (~taken != 0) return i * kWordBits + static_cast<std::uint32_t>(std::countr_one(taken));
  }
  return v->earlier_count;  // all the words are full: they hold no bits beyond the colours
}

template <TaskType type>
void choose(Vertex* v) {
  const std::uint32_t color = least_free(v);
  v->color = color;
  const std::uint32_t* const first = later + v->first_later;
  create_all<type>(
      first, first + v->later_count,
      [](const std::uint32_t* neighbour, std::uint32_t taken) {
        create<type>(forbid, {.at = timestamp(), .on = *neighbour}, vertices + *neighbour, taken);
      },
      color);
}

/// In the order of the turns, so that the first to be coloured are created first.
template <TaskType type>
void choose_all(const std::uint32_t* first, const std::uint32_t* last) {
  create_all<type>(first, last, [](const std::uint32_t* v) {
    create<type>(choose<type>, {.at = vertices[*v].turn, .on = *v}, vertices + *v);
  });
}

template <TaskType type>
void run_all(const PriorityOrder& priorities) {
  const std::uint32_t* const first = priorities.order.data();
  create<type>(choose_all<type>, {.at = 0}, first, first + priorities.order.size());
  run();
}

}  // namespace

std::vector<std::uint32_t> color(const Adjacency& graph, const PriorityOrder& priorities, TaskType type) {
  const Adjacency lists = later_neighbours(graph, priorities);
  LineArray<Vertex> storage(graph.vertices());
  vertices = storage.data();
  later = lists.neighbours.data();
  std::size_t words = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    Vertex& vertex = vertices[v];
    vertex.turn = priorities.turn[v];
    vertex.first_later = lists.first[v];
    vertex.later_count = lists.first[v + 1] - lists.first[v];
    vertex.earlier_count = static_cast<std::uint32_t>(graph.of(v).size()) - vertex.later_count;
    words += words_of(vertex.earlier_count);
  }
  std::vector<tracked<std::uint64_t>> taken(words + 1);
  words = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    vertices[v].taken = taken.data() + words;
    words += words_of(vertices[v].earlier_count);
  }
  switch (type) {
    case TaskType::spec:
      run_all<TaskType::spec>(priorities);
      break;
    case TaskType::nonspec:
      run_all<TaskType::nonspec>(priorities);
      break;
    case TaskType::mayspec:
      run_all<TaskType::mayspec>(priorities);
      break;
  }
  std::vector<std::uint32_t> colors(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) colors[v] = vertices[v].color;
  return colors;
}

}  // namespace rubato::apps
