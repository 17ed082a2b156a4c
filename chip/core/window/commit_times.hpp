// When a window core's instructions commit: in order, `core.width` a cycle, and not before they are complete;
// and when their entries of the reorder buffer and of the load queue are free again (K68).
//
// Invariant: the commit times of as many instructions as the buffer has entries, and of as many loads as the
// queue has, are kept in rings of powers of two: by position, and by number of the load.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/config/config.hpp"

namespace rubato::chip {

class CommitTimes {
 public:
  explicit CommitTimes(const CoreSection& core)
      : width_(core.width),
        entries_(core.rob),
        load_entries_(core.load_buffer),
        commits_(std::bit_ceil(std::size_t{core.rob})),
        load_commits_(std::bit_ceil(std::size_t{core.load_buffer})),
        mask_(commits_.size() - 1),
        load_mask_(load_commits_.size() - 1) {}

  std::uint64_t last() const { return last_; }
  /// Another context begins at `at`.
  void begin(std::uint64_t at) { last_ = std::max(last_, at); }
  /// When an instruction that is complete then commits, if it is the next one.
  std::uint64_t of(std::uint64_t complete) const {
    const std::uint64_t at = std::max(complete, last_);
    return at == last_ && in_cycle_ == width_ ? at + 1 : at;
  }
  void commit(std::uint64_t position, std::uint64_t at) {
    if (at != last_) in_cycle_ = 0;
    last_ = at;
    ++in_cycle_;
    commits_[position & mask_] = at;
  }
  /// The first cycle in which the instruction at `position` finds an entry free. The instruction that holds
  /// the entry has committed.
  std::uint64_t free_from(std::uint64_t position) const {
    return position > entries_ ? commits_[(position - entries_) & mask_] + 1 : 0;
  }

  // ---- The load queue ----

  void add_load() { ++loads_; }
  void drop_load() { --loads_; }
  /// The instruction that commit() was called for last is the oldest load.
  void commit_load() { load_commits_[loads_committed_++ & load_mask_] = last_; }
  bool has_all_loads() const { return loads_ - loads_committed_ == load_entries_; }
  /// As free_from(), for the next load; not has_all_loads().
  std::uint64_t load_free_from() const {
    return loads_ < load_entries_ ? 0 : load_commits_[(loads_ - load_entries_) & load_mask_] + 1;
  }

 private:
  std::uint32_t width_, entries_, load_entries_;
  std::uint32_t in_cycle_ = 0;  // committed at last_
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> commits_, load_commits_;
  std::uint64_t mask_, load_mask_;
  std::uint64_t loads_ = 0, loads_committed_ = 0;
};

}  // namespace rubato::chip
