// The entries of a tile's task queue: how many are in use, by what, and which task may have another. C9, C13.
// TaskQueue knows the tasks that have them.
//
// Invariants:
// - entries() == idle guest tasks + promised entries + tasks being spilled + refill tasks held here + held
//   tasks + speculative tasks that were dispatched and have not committed (active).
// - uncommitted() counts the idle, held and active tasks among them whose parents are uncommitted, and the
//   entries promised to such tasks. They get no more than their share of the entries (C13), so that tasks
//   that can be spilled always find room.
// - used() counts the entry kept for refill tasks as one even if there is none.
// - used() <= capacity(), where the last entry is only given to tasks with the earliest timestamp.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.hpp"

namespace rubato::chip {

class QueueEntries {
 public:
  /// @param capacity entries, at least 4; 0: unlimited.
  /// @param uncommitted_share of the entries that children of uncommitted parents may take, 0 to 1.
  QueueEntries(std::uint32_t capacity, double uncommitted_share)
      : capacity_(capacity), uncommitted_limit_(static_cast<std::uint32_t>(uncommitted_share * capacity)) {
    // Entries besides any share: for refills, for the earliest task, and for one other task that can be
    // spilled.
    const std::uint32_t others = max_refills(capacity) + 2;
    uncommitted_limit_ =
        std::max(1u, std::min(uncommitted_limit_, capacity > others ? capacity - others : 1));
  }

  /// Refill tasks that a queue of `capacity` entries holds at most; others wait in memory.
  static std::uint32_t max_refills(std::uint32_t capacity) { return std::max(1u, capacity / 8); }

  std::uint32_t capacity() const { return capacity_; }
  bool unlimited() const { return capacity_ == 0; }
  std::uint32_t entries() const { return guests_ + promised_ + spilling_ + held_ + active_ + refills_; }
  std::uint32_t used() const { return entries() - refills_ + std::max(refills_, 1u); }
  /// Room for a guest task; `earliest`: its timestamp is the GVT's, so the last entry is for it;
  /// `uncommitted`: its parent is, so others may need that entry to let it commit.
  bool has_room(bool earliest, bool uncommitted) const {
    if (unlimited()) return true;
    if (uncommitted) return used() < capacity_ - 1 && has_uncommitted_share();
    return used() < (earliest ? capacity_ : capacity_ - 1);
  }
  /// Children of uncommitted parents have not used up their share: more get in once there is room.
  bool has_uncommitted_share() const { return uncommitted_ < uncommitted_limit_; }
  /// Keeps an entry for a task that was refused before; whether its parent was uncommitted then is to be said
  /// again when it is redeemed.
  void promise(bool uncommitted) { ++promised_, uncommitted_ += uncommitted ? 1 : 0, check(); }
  void redeem(bool uncommitted) { --promised_, uncommitted_ -= uncommitted ? 1 : 0; }
  std::uint32_t guests() const { return guests_; }
  std::uint32_t spilling() const { return spilling_; }
  void release_spilling() { --spilling_; }
  std::uint32_t refills() const { return refills_; }
  void add_refill() { ++refills_, check(); }
  void remove_refill() { --refills_; }
  std::uint32_t uncommitted() const { return uncommitted_; }
  std::uint32_t active() const { return active_; }
  std::uint32_t held() const { return held_; }

 protected:
  /// `by`: 1 or, to count one less, ~0.
  void count_guest(std::uint32_t by) { guests_ += by; }
  void count_uncommitted(std::uint32_t by) { uncommitted_ += by; }
  void count_active(std::uint32_t by) { active_ += by; }
  void count_held(std::uint32_t by) { held_ += by; }
  void count_spilling(std::uint32_t tasks) { spilling_ += tasks; }
  void check() const {
    RUBATO_CHECK(capacity_ == 0 || used() <= capacity_, "a task queue holds more than it has");
  }

 private:
  std::uint32_t capacity_, uncommitted_limit_;
  std::uint32_t guests_ = 0, promised_ = 0, spilling_ = 0, refills_ = 0, active_ = 0, held_ = 0,
                uncommitted_ = 0;
};

}  // namespace rubato::chip
