// Tasks that wait for a TaskGroup (.after). A task that must wait, and the end of a group for which one
// waits, take a latch for a few instructions; nothing else does. No memory: waiting tasks are linked through
// themselves. R5 ("group").
//
// The group's word: members created and not finished, and a bit. `kWaited`: tasks wait in its list. The last
// member that is waited for leaves under the latch, and empties the list first: from then on the group may be
// gone.
//
//   call            from                        to
//   add_member()    n                           n + 1
//   leave()         n, not the last waited for  n - 1
//                   1, kWaited                  0, under the latch: what waited goes on
//   block()         n > 0                       n, kWaited, under the latch
//
// A task that waits often takes its creator's place: both are members of one group, and the creator has ended
// before the task is handed on (Worker::created_task()). Then neither joins nor leaves.
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
  /// The task is a member from here on; `inherits`: in place of another. In a GuardedGroup it asks that
  /// before it runs: Worker::run_guarded().
  static void join(Task* task, bool inherits = false) {
    TaskGroup* const group = engine::group_of(task);
    if (group == nullptr) return;
    if (!inherits) add_member(*group);
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
  /// A member is none any more. @returns the tasks that waited, in the order in which they came, if it was
  /// the last one. The group may be gone then.
  [[nodiscard]] Chain leave(TaskGroup& group) {
    std::uint64_t& word = engine::GroupState::pending(group);
    std::uint64_t seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
    for (;;) {
      if (seen == (kWaited | 1)) {
        if (Chain released = release(group, seen); !released.is_empty()) return released;
      } else if (__atomic_compare_exchange_n(&word, &seen, seen - 1, true, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED)) {
        return {};
      }
    }
  }
  /// The same for a member that never runs, in a run that has failed: what waits is cleared.
  static void drop_member(TaskGroup& group) {
    __atomic_fetch_sub(&engine::GroupState::pending(group), 1, __ATOMIC_ACQ_REL);
  }

  /// False: the group is complete, the task may run. True: leave() will return the task, which has a second
  /// line.
  [[nodiscard]] bool block(Task* task, TaskGroup& group);

  std::uint64_t blocked();
  /// The earliest blocked task, or null.
  const Task* first();
  /// All blocked tasks, unrun; forgets them.
  Chain clear();

 private:
  static constexpr std::uint64_t kWaited = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kMembers = kWaited - 1;

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
  /// The last member, which is waited for, leaves. @returns none if `seen`, its word, has changed: it is the
  /// present one then
  Chain release(TaskGroup& group, std::uint64_t& seen);
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
