// TaskGroup: tasks that others can wait for without blocking (.group and .after of Annotations; M3's
// remedy for nested run()).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0 {

namespace engine {
struct GroupState;
class Guard;
}

/// A set of tasks. It is complete while no unfinished task belongs to it; a task created with `.after =
/// &group` does not run before that. Membership is not inherited: children join by their own annotation.
///   - Create all members before run(), or by create() from one task that belongs to the group itself:
///     otherwise the group may be complete for a moment between two creations, and `.after` tasks start. So
///     it may with create_all(), in a task too: those that split a long range are no members.
///   - A timestamped task may wait only for tasks that may run before it: members of its own or an earlier
///     timestamp or of none; and groups must not wait for each other in a circle. Otherwise a time comes when
///     no task can run: a TaskError, on the chip the end of the run with exit code 4.
///   - The group must outlive its tasks and those that wait for it. It can be used again once complete.
class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// No unfinished task belongs to it now.
  bool is_complete() const { return __atomic_load_n(&pending_, __ATOMIC_ACQUIRE) == 0; }

 private:
  friend struct engine::GroupState;
  std::uint64_t pending_ = 0;              // members created and not finished
  [[maybe_unused]] void* held_ = nullptr;  // tasks that wait, a list; serial: unused
#if defined(__riscv)
  static engine::Guard* guard() { return nullptr; }
  static void set_guard(engine::Guard*) {}
#else
  friend class GuardedGroup;
  engine::Guard* guard() const { return guard_; }
  void set_guard(engine::Guard* guard) { guard_ = guard; }
  engine::Guard* guard_ = nullptr;  // of a GuardedGroup
#endif
};

}  // namespace rubato::inline v0
