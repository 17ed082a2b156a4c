// SPDX-License-Identifier: MIT
// A task writes only the count of the vertex that is its locale, in a cache line of its own: what other tasks
// read never changes, so that only the precision of a speculative task's sets can make it conflict.
#include "apps/triangle/triangle_tasks.hpp"

#include <cstddef>

#include "apps/common/task_type.hpp"
#include "apps/triangle/common_numbers.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Count {
  tracked<std::uint64_t> value = 0;
};

// The graph, as the tasks see it: arguments carry only the vertex.
const Adjacency* later = nullptr;  // the neighbours whose turn comes later, ascending by number
Count* counts = nullptr;

void count_at(std::uint32_t v) { counts[v].value = triangles_at(*later, v); }

template <TaskType type>
void count_all(std::uint32_t vertices) {
  create_all<type>(std::uint32_t{0}, vertices, [](std::uint32_t v) { create<type>(count_at, {.on = v}, v); });
}

template <TaskType type>
void run_all(std::uint32_t vertices) {
  create<type>(count_all<type>, {}, vertices);
  run();
}

}  // namespace

std::vector<std::uint64_t> triangles(const Adjacency& graph, const PriorityOrder& priorities, TaskType type) {
  const Adjacency lists = later_neighbours(graph, priorities);
  std::vector<Count> storage(graph.vertices());
  later = &lists;
  counts = storage.data();
  with_type(type, [&]<TaskType chosen> { run_all<chosen>(graph.vertices()); });
  std::vector<std::uint64_t> result;
  result.reserve(storage.size());
  for (const Count& count : storage) result.push_back(count.value);
  return result;
}

}  // namespace rubato::apps
