// Chains of tasks, and lists by priority (R5); the plain list is in rubato/engine/native_task.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "rubato/annotations.hpp"
#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

using engine::Task;
using engine::TaskList;

inline Task* next_of(const Task* task) { return task->next.load(std::memory_order_relaxed); }
inline void link(Task* task, Task* next) { task->next.store(next, std::memory_order_relaxed); }

/// A chain with both ends. The last task's next is not defined.
struct Chain {
  Task* first = nullptr;
  Task* last = nullptr;
  std::uint64_t size = 0;

  bool is_empty() const { return first == nullptr; }
  void append(Task* task) {
    if (first == nullptr) {
      first = task;
    } else {
      link(last, task);
    }
    last = task;
    ++size;
  }
  void append(const Chain& chain) {
    if (chain.is_empty()) return;
    if (first == nullptr) {
      first = chain.first;
    } else {
      link(last, chain.first);
    }
    last = chain.last;
    size += chain.size;
  }
  Task* take() {
    Task* const task = first;
    first = --size == 0 ? nullptr : next_of(task);
    return task;
  }
};

inline void append(TaskList& list, const Chain& chain) {
  if (!chain.is_empty()) list.append(chain.first, chain.last);
}
inline void prepend(TaskList& list, const Chain& chain) {
  if (!chain.is_empty()) list.prepend(chain.first, chain.last);
}
/// Up to `count` from the front.
inline Chain take(TaskList& list, std::uint64_t count) {
  Chain chain;
  while (chain.size < count && !list.is_empty()) chain.append(list.take());
  return chain;
}
/// Counts no further than `limit`.
inline std::uint64_t size_up_to(const TaskList& list, std::uint64_t limit) {
  std::uint64_t size = 0;
  for (const Task* t = list.first(); t != nullptr && size < limit; t = next_of(t)) ++size;
  return size;
}

inline bool is_fair(const Task* task) {
  return (task->handle & engine::handle::kPriorityMask) == engine::handle::kFair;
}
/// The rank of its priority; 0 is first.
inline unsigned rank_of(const Task* task) {
  static_assert(Priority::normal == Priority{0} && Priority::low == Priority{1} &&
                Priority::high == Priority{2});
  constexpr unsigned kRanks[] = {1, 2, 0, 1};  // the last: kFair
  return kRanks[(task->handle & engine::handle::kPriorityMask) >> engine::handle::kPriorityShift];
}
inline constexpr unsigned kNormalRank = 1;

/// A list a priority.
struct Lanes {
  TaskList lanes[3];

  bool is_empty() const { return lanes[0].is_empty() && lanes[1].is_empty() && lanes[2].is_empty(); }
  bool is_empty(unsigned rank) const { return lanes[rank].is_empty(); }
  bool has_only_normal() const { return lanes[0].is_empty() && lanes[2].is_empty(); }
  TaskList& normal() { return lanes[kNormalRank]; }
  void append(Task* task) { lanes[rank_of(task)].append(task); }
};

}  // namespace rubato::inline v0::native
