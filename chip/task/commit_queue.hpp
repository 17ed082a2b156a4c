// The tile's commit queue: attempts whose bodies ended, in no particular order, until they commit or abort
// (C9, C17).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "chip/conflict/attempt.hpp"

namespace rubato::chip {

class CommitQueue {
 public:
  /// @param capacity entries; 0: unlimited.
  explicit CommitQueue(std::uint32_t capacity) : capacity_(capacity) { entries_.reserve(capacity); }

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  bool full() const { return capacity_ != 0 && size() >= capacity_; }
  const std::vector<Attempt*>& attempts() const { return entries_; }

  void add(Attempt* attempt) {
    RUBATO_CHECK(!full(), "a commit queue holds more than it has");
    attempt->queue_index = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(attempt);
    attempt->is_queued = true;
  }
  void remove(Attempt* attempt) {
    RUBATO_CHECK(entries_[attempt->queue_index] == attempt, "an attempt left a commit queue twice");
    entries_[attempt->queue_index] = entries_.back();
    entries_[attempt->queue_index]->queue_index = attempt->queue_index;
    entries_.pop_back();
    attempt->is_queued = false;
  }

 private:
  std::uint32_t capacity_;
  std::vector<Attempt*> entries_;
};

}  // namespace rubato::chip
