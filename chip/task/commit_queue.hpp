// The tile's commit queue: attempts whose bodies ended, in no particular order, until they commit or abort
// (C9, C17). Virtual times stand in a list of their own. So a search for the latest one, or for those before
// the GVT, reads no attempt. Each attempt read would be a miss in the host's nearest cache. Invariants:
// times()[i] is the virtual time of attempts()[i]; attempts neither become exceptioned nor cease to be while
// they are here.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

class CommitQueue {
 public:
  /// @param capacity entries; 0: unlimited.
  explicit CommitQueue(std::uint32_t capacity) : capacity_(capacity) {
    entries_.reserve(capacity);
    times_.reserve(capacity);
  }

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  bool full() const { return capacity_ != 0 && size() >= capacity_; }
  const std::vector<Attempt*>& attempts() const { return entries_; }
  const std::vector<VirtualTime>& times() const { return times_; }
  /// Attempts before `time`, the last of attempts() first, in `out`. Branch-free: which ones these are is
  /// unpredictable.
  std::span<Attempt* const> before(VirtualTime time, std::vector<Attempt*>& out) const {
    out.resize(std::max(out.size(), entries_.size()));
    std::size_t count = 0;
    for (std::size_t i = entries_.size(); i-- > 0;) {
      out[count] = entries_[i];
      count += times_[i] < time ? 1 : 0;
    }
    return {out.data(), count};
  }
  bool has_exceptioned() const { return exceptioned_ != 0; }
  /// Calls `visit(Attempt*)` for each exceptioned attempt, in the order of attempts(). `visit` leaves the
  /// queue as it is. Without one, which is nearly always, no attempt is read.
  template <class Visit>
  void for_each_exceptioned(Visit visit) const {
    if (!has_exceptioned()) return;
    for (Attempt* attempt : entries_)
      if (is_exceptioned(*attempt)) visit(attempt);
  }

  void add(Attempt* attempt) {
    RUBATO_CHECK(!full(), "a commit queue holds more than it has");
    attempt->queue_index = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(attempt);
    times_.push_back(attempt->virtual_time);
    exceptioned_ += is_exceptioned(*attempt) ? 1 : 0;
    attempt->is_queued = true;
  }
  void remove(Attempt* attempt) {
    const std::uint32_t index = attempt->queue_index;
    RUBATO_CHECK(entries_[index] == attempt, "an attempt left a commit queue twice");
    entries_[index] = entries_.back();
    entries_[index]->queue_index = index;
    entries_.pop_back();
    times_[index] = times_.back();
    times_.pop_back();
    exceptioned_ -= is_exceptioned(*attempt) ? 1 : 0;
    attempt->is_queued = false;
  }

 private:
  static bool is_exceptioned(const Attempt& attempt) { return attempt.state == Attempt::State::exceptioned; }

  std::uint32_t capacity_;
  std::uint32_t exceptioned_ = 0;
  std::vector<Attempt*> entries_;
  std::vector<VirtualTime> times_;
};

}  // namespace rubato::chip
