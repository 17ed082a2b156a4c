// SPDX-License-Identifier: MIT
// A task reads and writes only the colour and the words of the vertex that is its locale. Both are on cache
// lines of the vertex, so that tasks of different vertices never conflict; lists and turns never change.
// Reports keep the timestamp of the vertex that was coloured, which is not after that of the neighbour they
// reach.
#include "apps/color/color_tasks.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "apps/common/task_type.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::uint32_t kWordBits = 64;

using Word = tracked<std::uint64_t>;

struct alignas(kLineBytes) WordLine {
  Word words[kLineBytes / sizeof(Word)];
};

// The graph, as the tasks see it: arguments carry only the vertex.
struct Vertex;
Vertex* vertices = nullptr;
const std::uint32_t* later = nullptr;

/// A vertex with k earlier neighbours takes one of the colours 0 to k: bit c of its words says that an
/// earlier neighbour has colour c < k; colours from k on need not be known.
struct alignas(kLineBytes) Vertex {
  static constexpr std::uint32_t kOwnLater = 5;
  static constexpr std::uint32_t kOwnWords = 2;

  tracked<std::uint32_t> color =
      0;                   // of ColorOrder::degrees, before it is coloured: reports that are missing
  std::uint32_t time = 0;  // its turn, or the class of its degree
  std::uint32_t earlier_count = 0;
  std::uint32_t later_count = 0;
  std::uint32_t first_later = 0;  // in `later`, of a vertex with more than kOwnLater
  std::uint32_t own_later[kOwnLater] = {};
  Word* taken = nullptr;  // own_taken, or lines of their own where more words are needed
  Word own_taken[kOwnWords];

  const std::uint32_t* later_neighbours() const {
    return later_count <= kOwnLater ? own_later : later + first_later;
  }
};
static_assert(sizeof(Vertex) == kLineBytes);

std::uint32_t words_of(std::uint32_t earlier_count) { return (earlier_count + kWordBits - 1) / kWordBits; }

/// Besides the vertex's own words.
std::size_t lines_of_words(std::uint32_t earlier_count) {
  constexpr std::uint32_t kBits = kLineBytes / sizeof(Word) * kWordBits;
  return earlier_count <= Vertex::kOwnWords * kWordBits ? 0 : (earlier_count + kBits - 1) / kBits;
}

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

template <TaskType type, ColorOrder order>
void choose(Vertex* v);

/// The last report has the vertex coloured.
template <TaskType type>
void report(Vertex* v, std::uint32_t color) {
  forbid(v, color);
  const std::uint32_t missing = v->color - 1;
  v->color = missing;
  if (missing != 0) return;
  create<type>(choose<type, ColorOrder::degrees>, {.at = v->time, .on = v - vertices}, v);
}

template <TaskType type, ColorOrder order>
void choose(Vertex* v) {
  const std::uint32_t color = least_free(v);
  v->color = color;
  const std::uint32_t* const first = v->later_neighbours();
  create_all<type>(
      first, first + v->later_count,
      [](const std::uint32_t* neighbour, std::uint32_t taken) {
        constexpr auto kTell = order == ColorOrder::turns ? forbid : report<type>;
        create<type>(kTell, {.at = timestamp(), .on = *neighbour}, vertices + *neighbour, taken);
      },
      color);
}

/// In the order of the turns, so that the first to be coloured are created first.
template <TaskType type, ColorOrder order>
void choose_all(const std::uint32_t* first, const std::uint32_t* last) {
  create_all<type>(first, last, [](const std::uint32_t* v) {
    Vertex* const vertex = vertices + *v;
    if (order == ColorOrder::degrees && vertex->earlier_count != 0) return;  // its last report does it
    create<type>(choose<type, order>, {.at = vertex->time, .on = *v}, vertex);
  });
}

template <TaskType type, ColorOrder order>
void run_all(const PriorityOrder& priorities) {
  const std::uint32_t* const first = priorities.order.data();
  create<type>(choose_all<type, order>, {.at = 0}, first, first + priorities.order.size());
  run();
}

/// For each vertex how many larger degrees there are.
std::vector<std::uint32_t> degree_classes(const Adjacency& graph, const PriorityOrder& priorities) {
  std::vector<std::uint32_t> classes(graph.vertices());
  for (std::size_t i = 1; i < priorities.order.size(); ++i) {
    const std::uint32_t before = priorities.order[i - 1], v = priorities.order[i];
    classes[v] = classes[before] + (graph.of(v).size() == graph.of(before).size() ? 0 : 1);
  }
  return classes;
}

}  // namespace

std::vector<std::uint32_t> color(const Adjacency& graph, const PriorityOrder& priorities, TaskType type,
                                 ColorOrder order) {
  const std::vector<std::uint32_t> times =
      order == ColorOrder::turns ? priorities.turn : degree_classes(graph, priorities);
  const Adjacency lists = later_neighbours(graph, priorities);
  std::vector<Vertex> storage(graph.vertices());
  vertices = storage.data();
  later = lists.neighbours.data();
  std::size_t word_lines = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    Vertex& vertex = vertices[v];
    const auto neighbours = lists.of(v);
    vertex.time = times[v];
    vertex.first_later = lists.first[v];
    vertex.later_count = static_cast<std::uint32_t>(neighbours.size());
    vertex.earlier_count = static_cast<std::uint32_t>(graph.of(v).size()) - vertex.later_count;
    if (order == ColorOrder::degrees) vertex.color = vertex.earlier_count;
    if (vertex.later_count <= Vertex::kOwnLater)
      std::copy(neighbours.begin(), neighbours.end(), vertex.own_later);
    word_lines += lines_of_words(vertex.earlier_count);
  }
  std::vector<WordLine> taken(word_lines);
  word_lines = 0;
  for (Vertex& vertex : storage) {
    const std::size_t lines = lines_of_words(vertex.earlier_count);
    vertex.taken = lines == 0 ? vertex.own_taken : taken[word_lines].words;
    word_lines += lines;
  }
  with_type(type, [&]<TaskType chosen> {
    if (order == ColorOrder::turns) {
      run_all<chosen, ColorOrder::turns>(priorities);
    } else {
      run_all<chosen, ColorOrder::degrees>(priorities);
    }
  });
  std::vector<std::uint32_t> colors(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) colors[v] = vertices[v].color;
  return colors;
}

}  // namespace rubato::apps
