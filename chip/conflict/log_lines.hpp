// The lines of simulated memory that a core's undo logs use (C14): the lowest numbered ones come first, and
// those given back last are used first, so that they are likely to be in the core's L1.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LogLines {
 public:
  /// The lines from `base` on, `count` of them, all free. They are used by address only.
  LogLines(LineAddr base, std::uint64_t count) : base_(base), next_(base), end_(base.value + count) {}

  bool empty() const { return free_.empty() && next_ == end_; }
  /// The line that take() would take. Precondition: !empty().
  LineAddr front() const { return free_.empty() ? next_ : free_.back(); }
  void take() {
    if (free_.empty()) {
      ++next_.value;
    } else {
      free_.pop_back();
    }
  }
  /// Gives back the lines of a log that is not needed any longer, and empties `lines`.
  void give_back(std::vector<LineAddr>& lines) {
    if (lines.empty()) return;
    RUBATO_CHECK(lines.front().value >= base_.value && lines.front().value < end_.value,
                 "a core is given a line of another core's undo logs");
    free_.insert(free_.end(), lines.rbegin(), lines.rend());
    lines.clear();
  }

 private:
  std::vector<LineAddr> free_;  // the last one goes first
  LineAddr base_;
  LineAddr next_, end_;  // never used so far
};

}  // namespace rubato::chip
