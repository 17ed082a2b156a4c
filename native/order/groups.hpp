// Tasks that wait for a TaskGroup (.after). A task that must wait, and the end of a group for which one
// waits, take a latch for a few instructions; nothing else does. No memory: waiting tasks are linked through
// themselves. R5 ("group").
//
// The group's word: members created and not finished, and two bits. `kWaited`: tasks wait in its list.
// `kReleasing`: the last member has left, and the thread that removed it is about to release(). While it is
// set no other thread releases, and tasks that wait are kept, so that the group cannot end before release()
// has let go of it.
//
//   call                    from                        to
//   add_member()            n                           n + 1
//   remove_member()         n, not the last waited for  n - 1
//                           1, kWaited                  0, kReleasing: the caller must release()
//   block()                 n > 0                       n, kWaited
//   release()               0, kReleasing               0
//                           n > 0, kReleasing           n, kWaited: members came in
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "native/pool/atomics.hpp"
#include "native/pool/task_list.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

class Groups {
 public:
  static void add_member(TaskGroup& group) {
    __atomic_fetch_add(&engine::GroupState::pending(group), 1, __ATOMIC_RELAXED);
  }
  /// The task is a member from here on. In a GuardedGroup it asks that before it runs: Worker::run_guarded().
  static void join(Task* task) {
    TaskGroup* const group = engine::group_of(task);
    if (group == nullptr) return;
    add_member(*group);
    if (engine::GroupState::guard(group) != nullptr) guard(task);
  }
  /// Its own primitive goes to where run_guarded() finds it.
  static void guard(Task* task) {
    constexpr std::uint64_t kMask = engine::handle::kPrimitiveMask;
    engine::extension_of(task)->primitive =
        static_cast<std::uint32_t>((task->handle & kMask) >> engine::handle::kPrimitiveShift);
    task->handle |= kMask;
  }
  static bool is_guarded(const Task* task) {
    return (task->handle & engine::handle::kPrimitiveMask) == engine::handle::kPrimitiveMask;
  }
  /// @returns true if that was the last member and tasks wait: call release(). Else the group may be gone.
  [[nodiscard]] static bool remove_member(TaskGroup& group) {
    std::uint64_t& word = engine::GroupState::pending(group);
    std::uint64_t seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
    for (;;) {
      const bool releases = seen == (kWaited | 1);
      if (__atomic_compare_exchange_n(&word, &seen, releases ? kReleasing : seen - 1, true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED))
        return releases;
    }
  }

  /// False: the group is complete, the task may run. True: release() will return the task, which has a second
  /// line.
  [[nodiscard]] bool block(Task* task, TaskGroup& group);
  /// The tasks that waited for the group, in the order in which they came, if it is still complete.
  Chain release(TaskGroup& group);

  std::uint64_t blocked();
  /// The earliest blocked task, or null.
  const Task* first();
  /// All blocked tasks, unrun; forgets them.
  Chain clear();

 private:
  static constexpr std::uint64_t kWaited = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kReleasing = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kMembers = kReleasing - 1;

  /// A part of the groups, by address: its latch, and the tasks that wait for one of them.
  struct alignas(64) Part {
    Atomic<bool> is_locked{false};
    Task* blocked = nullptr;  // linked by TaskExtension::blocked_*
  };
  class Lock;
  Part& part_of(const TaskGroup& group) {
    const std::uint64_t place = reinterpret_cast<std::uintptr_t>(&group) >> kPlaceBits;
    return parts_[place * 0x9e3779b97f4a7c15u >> (64 - kPartBits)];
  }
  static void note(Part& part, Task* task);
  static void forget(Part& part, Task* task);
  template <class Each>
  void each_blocked(Each each);

  static constexpr unsigned kPartBits = 8;
  /// Groups within so many bytes (a power of two) have one part. What a worker allocates lies together, so
  /// the latch and the neighbours are mostly in its cache. Row: fib-onetbb.
  static constexpr unsigned kPlaceBits = 10;
  std::array<Part, 1u << kPartBits> parts_;
};

}  // namespace rubato::inline v0::native
