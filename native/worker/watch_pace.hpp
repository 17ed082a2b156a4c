// The time until the watch looks again (watch.hpp): short where a long handler may have sent something,
// longer and longer where there is nothing to hand over.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>

#include "native/policy.hpp"

namespace rubato::inline v0::native {

class WatchPace {
 public:
  using Duration = std::chrono::microseconds;

  Duration period() const { return period_; }
  /// The next looks come soon.
  void hurry() {
    left_ = policy::kHurriedLooks;
    period_ = kHurried;
  }
  /// A look has found that no worker is busy.
  void note_idle() {
    left_ = 0;
    period_ = kShortest;
  }
  /// A look at busy workers. `is_quiet`: there was nothing to hand over, and it will be so for a while.
  void note_look(bool is_quiet) {
    if (left_ != 0) {
      period_ = --left_ != 0 ? kHurried : kShortest;
    } else {
      period_ = is_quiet ? std::min(period_ + kShortest / 8, kLongest) : kShortest;
    }
  }

 private:
  static constexpr Duration kHurried{policy::kHurriedMicroseconds};
  static constexpr Duration kShortest{policy::kWatchMicroseconds};
  static constexpr Duration kLongest{policy::kLongestWatchMicroseconds};
  unsigned left_ = 0;  // hurried looks
  Duration period_{0};
};

}  // namespace rubato::inline v0::native
