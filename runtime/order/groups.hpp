// Tasks that wait for a TaskGroup (.after). A task that must wait, and the end of a group for which somebody
// waits, take a mutex; nothing else does. Rule R5 ("group").
//
// The group's word: members created and not finished; its highest bit says that tasks wait here.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "rubato/engine/native.hpp"
#include "runtime/worker/task_list.hpp"

namespace rubato::runtime {

class Groups {
 public:
  static void add_member(TaskGroup& group) {
    __atomic_fetch_add(&engine::GroupState::pending(group), 1, __ATOMIC_RELAXED);
  }
  /// @returns true if that was the last member and tasks wait: call release().
  [[nodiscard]] static bool remove_member(TaskGroup& group) {
    return __atomic_sub_fetch(&engine::GroupState::pending(group), 1, __ATOMIC_ACQ_REL) == kWaited;
  }

  /// False: the group is complete, the task may run. True: release() will return the task.
  /// @throws std::bad_alloc, and nothing has changed.
  [[nodiscard]] bool block(Task* task, TaskGroup& group);
  /// The tasks that waited for the group, if it is still complete.
  Chain release(TaskGroup& group);

  std::uint64_t blocked();
  /// The earliest blocked task, or null.
  const Task* first();
  /// All blocked tasks, unrun; forgets them.
  Chain clear();

 private:
  static constexpr std::uint64_t kWaited = std::uint64_t{1} << 63;

  std::mutex mutex_;
  std::unordered_map<TaskGroup*, std::vector<Task*>> blocked_;
};

}  // namespace rubato::runtime
