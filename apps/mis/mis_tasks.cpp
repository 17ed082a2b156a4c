// Tasks of a maximal independent set. A task reads and writes only the state of the vertex that is its locale
// and a cache line. So tasks of different vertices never conflict; lists and turns never change. Exclusions
// keep the timestamp of the vertex that joined, which is before the turn of the excluded vertex.
// SPDX-License-Identifier: MIT
#include "apps/mis/mis_tasks.hpp"

#include <algorithm>
#include <cstddef>

#include "apps/common/task_type.hpp"

namespace rubato::apps {
namespace {

enum class State : std::uint32_t { undecided, member, excluded };

// The graph, as the tasks see it: arguments carry only the vertex.
struct Vertex;
Vertex* vertices = nullptr;
const std::uint32_t* later = nullptr;

constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Vertex {
  static constexpr std::uint32_t kOwnLater = 12;

  tracked<State> state = State::undecided;
  std::uint32_t turn = 0;
  std::uint32_t later_count = 0;
  std::uint32_t first_later = 0;  // in `later`, of a vertex with more than kOwnLater
  std::uint32_t own_later[kOwnLater] = {};

  const std::uint32_t* later_neighbours() const {
    return later_count <= kOwnLater ? own_later : later + first_later;
  }
};
static_assert(sizeof(Vertex) == kLineBytes);

void exclude(Vertex* v) { v->state = State::excluded; }

template <TaskType type>
void decide(Vertex* v) {
  if (v->state == State::excluded) return;
  v->state = State::member;
  const std::uint32_t* const first = v->later_neighbours();
  create_all<type>(first, first + v->later_count, [](const std::uint32_t* neighbour) {
    create<type>(exclude, {.at = timestamp(), .on = *neighbour}, vertices + *neighbour);
  });
}

/// In the order of the turns, so that the first to be decided are created first.
template <TaskType type>
void decide_all(const std::uint32_t* first, const std::uint32_t* last) {
  create_all<type>(first, last, [](const std::uint32_t* v) {
    create<type>(decide<type>, {.at = vertices[*v].turn, .on = *v}, vertices + *v);
  });
}

template <TaskType type>
void run_all(const PriorityOrder& priorities) {
  const std::uint32_t* const first = priorities.order.data();
  create<type>(decide_all<type>, {.at = 0}, first, first + priorities.order.size());
  run();
}

}  // namespace

std::vector<std::uint8_t> mis(const Adjacency& graph, const PriorityOrder& priorities, TaskType type) {
  const Adjacency lists = later_neighbours(graph, priorities);
  std::vector<Vertex> storage(graph.vertices());
  vertices = storage.data();
  later = lists.neighbours.data();
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    Vertex& vertex = vertices[v];
    const auto neighbours = lists.of(v);
    vertex.turn = priorities.turn[v];
    vertex.first_later = lists.first[v];
    vertex.later_count = static_cast<std::uint32_t>(neighbours.size());
    if (vertex.later_count <= Vertex::kOwnLater)
      std::copy(neighbours.begin(), neighbours.end(), vertex.own_later);
  }
  with_type(type, [&]<TaskType chosen> { run_all<chosen>(priorities); });
  std::vector<std::uint8_t> is_member(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    is_member[v] = vertices[v].state == State::member ? 1 : 0;
  }
  return is_member;
}

}  // namespace rubato::apps
