// SPDX-License-Identifier: MIT
// A task reads and writes only the state of the vertex that is its locale; lists and turns never change.
// Exclusions keep the timestamp of the vertex that joined, which is before the turn of whom they exclude.
#include "apps/mis/mis_tasks.hpp"

#include "apps/common/line_array.hpp"

namespace rubato::apps {
namespace {

enum class State : std::uint32_t { undecided, member, excluded };

struct Vertex {
  tracked<State> state = State::undecided;
  std::uint32_t turn = 0;
  std::uint32_t first_later = 0;
  std::uint32_t later_count = 0;
};

// Where tasks find the graph: arguments carry only the vertex.
Vertex* vertices = nullptr;
const std::uint32_t* later = nullptr;

void exclude(Vertex* v) { v->state = State::excluded; }

template <TaskType type>
void decide(Vertex* v) {
  if (v->state == State::excluded) return;
  v->state = State::member;
  const std::uint32_t* const first = later + v->first_later;
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
  LineArray<Vertex> storage(graph.vertices());
  vertices = storage.data();
  later = lists.neighbours.data();
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    vertices[v].turn = priorities.turn[v];
    vertices[v].first_later = lists.first[v];
    vertices[v].later_count = lists.first[v + 1] - lists.first[v];
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
  std::vector<std::uint8_t> is_member(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    is_member[v] = vertices[v].state == State::member ? 1 : 0;
  }
  return is_member;
}

}  // namespace rubato::apps
