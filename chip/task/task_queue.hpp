// The tile's task queue: idle guest tasks in dispatch order, same-locale tasks serialized, and the count of
// entries in use. When a task may run at all is the dispatch rule's business. Espresso, Sec. V-A; C9, C10,
// C13.
//
// Invariants:
//   - an idle guest task is in exactly one of: the ready heap of its lane; the waiters of the running task
//   with its
//     locale; the followers of a ready task with its locale, which is not later than they are;
//   - hence the earliest idle task of a lane is the top of its ready heap or of the waiters of a core;
//   - entries() == idle guest tasks + promised entries + tasks being spilled + refill tasks held here;
//   - used() counts the entry kept for refill tasks as one even if there is none; used() <= capacity(), where
//   the
//     last entry is only given to tasks with the earliest timestamp.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

inline constexpr std::uint32_t kMaxCoresPerTile = 8;

class TaskQueue {
 public:
  /// @param capacity entries, at least 4; 0: unlimited.
  explicit TaskQueue(std::uint32_t capacity);

  // Entries.
  std::uint32_t capacity() const { return capacity_; }
  bool unlimited() const { return capacity_ == 0; }
  std::uint32_t entries() const { return guests() + promised_ + spilling_ + refills_; }
  std::uint32_t used() const { return guests() + promised_ + spilling_ + std::max(refills_, 1u); }
  /// Room for a guest task; `earliest`: its timestamp is the GVT's, so the last entry is for it.
  bool has_room(bool earliest) const {
    return unlimited() || used() < (earliest ? capacity_ : capacity_ - 1);
  }
  void promise() { ++promised_, check(); }  ///< keeps an entry for a task that was refused before
  void redeem() { --promised_; }
  std::uint32_t promised() const { return promised_; }
  std::uint32_t guests() const { return static_cast<std::uint32_t>(idle_[0].size() + idle_[1].size()); }
  std::uint32_t idle(Lane lane) const { return static_cast<std::uint32_t>(idle_[index(lane)].size()); }
  std::uint32_t spilling() const { return spilling_; }
  void release_spilling() { --spilling_; }
  std::uint32_t refills() const { return refills_; }
  void add_refill() { ++refills_, check(); }
  void remove_refill() { --refills_; }

  // Idle guest tasks.
  /// Accepts `task`, whose order and tie are set. Its entry must be free.
  void insert(Task* task);
  /// The earliest task of `lane` whose locale is free; null if there is none. Hangs those it meets whose
  /// locale is busy on the task that holds it.
  Task* earliest_free(Lane lane);
  /// The earliest of `lane`, whatever its locale; null if there is none.
  const Task* earliest(Lane lane) const;
  /// Takes what earliest_free() returned: its entry is free, its locale busy until finish(slot).
  void dispatch(Task* task, std::uint32_t slot);
  /// The task on `slot` ended: its locale is free again.
  void finish(std::uint32_t slot);

  /// Moves the latest `count` tasks of `lane` into `out`, earliest first; they keep their entries as
  /// spilling.
  void take_latest(Lane lane, std::uint32_t count, std::vector<Task*>& out);

  /// How many idle tasks wait for the locale of the task on `slot` (for reports; linear).
  std::uint32_t waiting_for(std::uint32_t slot) const;
  Locale locale_of(std::uint32_t slot) const { return slots_[slot].locale; }
  bool holds_locale(std::uint32_t slot) const { return slots_[slot].busy; }

 private:
  /// An idle task beside its place in the order, so that choosing what to spill reads no task.
  struct Idle {
    Timestamp order;
    std::uint64_t tie;
    Task* task;
    bool before(const Idle& other) const {
      return order != other.order ? order < other.order : tie < other.tie;
    }
  };
  struct Slot {
    bool busy = false;  ///< a task with a locale runs here
    Locale locale = 0;
    std::array<TaskHeap, kLanes> waiters;
  };
  static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }
  Slot* holder_of(const Task& task);
  void lead(TaskHeap& waiting, Lane lane);
  void forget_idle(Task* task);
  void check() const {
    RUBATO_CHECK(capacity_ == 0 || used() <= capacity_, "a task queue holds more than it has");
  }

  std::uint32_t capacity_;
  std::uint32_t promised_ = 0, spilling_ = 0, refills_ = 0;
  std::array<TaskHeap, kLanes> ready_;
  std::array<Slot, kMaxCoresPerTile> slots_;
  std::array<std::vector<Idle>, kLanes> idle_;
  std::vector<Idle> latest_;  // scratch: what is spilled next
};

}  // namespace rubato::chip
