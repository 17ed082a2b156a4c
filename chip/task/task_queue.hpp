// The tile's task queue: idle guest tasks in dispatch order, same-locale tasks serialized. When a task may
// run at all is the dispatch rule's business; how many entries are in use is that of its base. Espresso, Sec.
// V-A; C9, C10.
//
// Invariants:
//   - an idle guest task is in exactly one of: the ready heap of its lane; the waiters of the running task
//   with its
//     locale; the followers of a ready task with its locale, which is not later than they are; those set
//     aside;
//   - hence the earliest idle task of a lane that is not set aside is the top of its ready heap or of the
//   waiters of a
//     core.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "chip/task/queue_entries.hpp"
#include "chip/task/ready_heap.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

inline constexpr std::uint32_t kMaxCoresPerTile = 8;
inline constexpr std::uint32_t kMaxSpareWorkers = 16;
/// Tasks of a tile that may be suspended: they hold their workers.
inline constexpr std::uint32_t kMaxSuspended = kMaxCoresPerTile + kMaxSpareWorkers;
/// Possible holders of locales: the cores' tasks, by slot, and behind them the suspended ones.
inline constexpr std::uint32_t kMaxHolders = kMaxCoresPerTile + kMaxSuspended;

/// The task queue: its entries, and the order of their tasks. It inherits the entries, because a user of one
/// mostly needs the other.
class TaskQueue : public QueueEntries {
 public:
  TaskQueue(std::uint32_t capacity, double uncommitted_share);

  std::uint32_t idle(Lane lane) const { return static_cast<std::uint32_t>(idle_[index(lane)].size()); }

  // Speculation.
  const std::vector<Task*>& held_tasks() const { return held_; }
  /// Keeps a NONSPEC child of an uncommitted parent; it has an entry until unhold().
  void hold(Task* task);
  void unhold(Task* task);
  /// The parent of a task with an entry here, state idle, held or active, committed.
  void parent_committed(const Task& task);
  /// Idle tasks that may be written to memory.
  std::uint32_t spillable() const { return guests() - uncommitted_idle_; }
  std::uint32_t spillable(Lane lane) const { return idle(lane) - uncommitted_idle_of_[index(lane)]; }
  /// A spillable task; there is one.
  const Task* a_spillable() const;
  /// Puts an idle MAYSPEC task, which may not speculate yet, into the lane of NONSPEC ones, where it hides
  /// none that may.
  void throttle(Task* task);
  /// Idle tasks that were throttled.
  std::uint32_t throttled() const { return throttled_; }
  /// Drops an idle task: its parent was aborted.
  void discard(Task* task);
  /// An active task is idle again after its rollback, or frees its entry (committed, discarded, or
  /// non-speculative from now on).
  void reinsert(Task* task);
  void release_active(const Task& task);

  /// A bug, for tests: from now on tasks of one locale run at once.
  void ignore_locales() { ignores_locales_ = true, is_known_ = 0; }

  // Idle guest tasks.
  /// Accepts `task`, whose order and tie are set. Its entry must be free.
  void insert(Task* task);
  /// The earliest task of `lane` whose locale is free; null if there is none. Hangs those it meets whose
  /// locale is busy on the task that holds it.
  Task* earliest_free(Lane lane) {
    if (ready_[index(lane)].empty()) return nullptr;
    if (!is_known(lane)) find_earliest_free(lane);
    return earliest_free_[index(lane)];
  }
  /// The order of the task that earliest_free(lane) has just returned, which is not null.
  Timestamp earliest_free_order(Lane lane) const { return ready_[index(lane)].front().order; }
  /// Sets aside a task that earliest_free() of the untimestamped lane returned and that may not run yet for a
  /// reason of its own. It no longer hides those behind it, until recall().
  void set_aside(Task* task);
  void recall() {
    if (aside_.empty()) return;
    ready_[index(Lane::untimestamped)].take(aside_);
    forget_earliest(Lane::untimestamped);
  }
  /// The earliest of those set aside; null if there is none.
  const Task* earliest_aside() const { return aside_.top(); }
  /// Calls `visit(const Task&)` for each idle task of `lane`, in no particular order, until that is true.
  template <class Visit>
  bool any_idle(Lane lane, Visit visit) const {
    const auto& list = idle_[index(lane)];
    return std::any_of(list.begin(), list.end(), [&](const OrderedTask& idle) { return visit(*idle.task); });
  }
  /// The earliest of `lane` that is not set aside, whatever its locale; null if there is none.
  const Task* earliest(Lane lane) const;
  /// The earliest task of `lane` that waits for the locale of the task on `slot`; null if there is none.
  Task* waiter(std::uint32_t slot, Lane lane) const { return waiters_[slot][index(lane)].top(); }
  /// A core asks soon: software prefetch of the host memory that choosing and dispatching its task will read.
  void prefetch_dispatch() const {
    constexpr auto lane = static_cast<std::size_t>(Lane::timestamped);
    ready_[lane].prefetch_pop();
    if (earliest_free_[lane] != nullptr) prefetch<sizeof(Task)>(earliest_free_[lane]);  // it may still be so
  }
  /// Takes what earliest_free() returned: its locale is busy until finish(slot). Its entry is free, or active
  /// if it runs speculatively.
  void dispatch(Task* task, std::uint32_t slot, bool speculative);
  /// Takes the locale of a task that is dispatched again without having been idle (promoted); it must be
  /// free.
  void occupy(const Task& task, std::uint32_t slot);
  bool is_locale_free(const Task& task) { return holder_of(task, task.descriptor.locale) == kNobody; }
  /// The task on slot `from` goes to slot `to`, where none is, and takes its locale along.
  void move_holder(std::uint32_t from, std::uint32_t to);
  /// The task on `slot` ended: its locale is free again.
  void finish(std::uint32_t slot);

  /// Moves the latest `count` spillable tasks of `lane` into `out`, earliest first; they keep their entries
  /// as spilling.
  void take_latest(Lane lane, std::uint32_t count, std::vector<Task*>& out);

  /// How many idle tasks wait for the locale of the task on `slot` (for reports; linear).
  std::uint32_t waiting_for(std::uint32_t slot) const;
  /// Slots whose task has a locale; slots for whose locale tasks may be waiting. A bit each.
  std::uint32_t busy_slots() const { return busy_; }
  std::uint32_t waited_slots() const { return waited_; }
  Locale locale_of(std::uint32_t slot) const { return locales_[slot]; }
  bool holds_locale(std::uint32_t slot) const { return (busy_ >> slot & 1) != 0; }

 private:
  static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }
  static constexpr std::uint32_t kNobody = ~0U;
  /// The slot whose task has the task's locale, or kNobody; `locale`: the descriptor's, that of a task
  /// without one included. Mostly that says all, and the record is not read.
  std::uint32_t holder_of(const Task& task, Locale locale) const;
  void find_earliest_free(Lane lane);
  bool is_known(Lane lane) const { return (is_known_ >> index(lane) & 1) != 0; }
  void forget_earliest(Lane lane) { is_known_ &= ~(1U << index(lane)); }
  void lead(TaskHeap& waiting, Lane lane);
  void enter_idle(Task* task);
  void forget_idle(Task* task);
  /// Out of whichever heap holds it; those that follow it do so no longer.
  void take_out(Task* task);
  void count_idle(const Task& task, std::uint32_t by);

  std::uint32_t uncommitted_idle_ = 0;
  std::uint32_t throttled_ = 0;
  std::array<std::uint32_t, kLanes> uncommitted_idle_of_{};
  std::vector<Task*> held_;  // a task's index is its place
  std::array<ReadyHeap, kLanes> ready_;
  TaskHeap aside_;
  // The last result of earliest_free(), by lane, and (a bit a lane) whether it still holds.
  std::array<Task*, kLanes> earliest_free_{};
  std::uint32_t is_known_ = 0;
  std::uint32_t busy_ = 0;    // bit of each slot whose task has a locale: no other slot has waiters
  std::uint32_t waited_ = 0;  // bit of each slot that has or had waiters since it became busy
  std::array<std::vector<OrderedTask>, kLanes> idle_;
  std::array<Locale, kMaxHolders>
      locales_{};  // by slot, of the task that runs there, if its bit of busy_ is set
  std::array<std::array<TaskHeap, kLanes>, kMaxHolders> waiters_;  // by slot
  std::vector<OrderedTask> latest_;                                // scratch: what is spilled next
  bool ignores_locales_ = false;
};

}  // namespace rubato::chip
