// The time until the watch looks again (watch.hpp): short where a handler may be long that has sent
// something, longer and longer where there is nothing to hand over. Short looks are saved while there is
// nothing to look for, and spent beside actors' turns; a handler that is found to be long gives all of them
// back.
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
  /// After a pause without looks.
  void begin() {
    note_long_handler();
    hurry();
  }
  /// Others like it may follow.
  void note_long_handler() { saved_ = policy::kSavedLooks; }
  /// A look has found that no worker is busy.
  void note_idle() {
    left_ = 0;
    save();
    period_ = kShortest;
  }
  /// A look at busy workers. `is_quiet`: there was nothing to hand over, and it will be so for a while.
  /// `has_turns`: actors have been active since the last one, or may be in a long handler.
  void note_look(bool is_quiet, bool has_turns) {
    if (left_ != 0 && --left_ != 0) {
      period_ = kHurried;
    } else if (is_quiet) {
      save();
      period_ = std::clamp(period_ + kShortest / 8, kShortest, kLongest);
    } else if (has_turns && saved_ != 0) {
      --saved_;
      period_ = kHurried;
    } else {
      period_ = kShortest;
    }
  }
  /// Whether a handler that becomes long now is found late.
  static bool is_unhurried(Duration period) { return period > kHurried; }
  static bool is_slow(Duration period) { return period > kShortest; }

 private:
  static constexpr Duration kHurried{policy::kHurriedMicroseconds};
  static constexpr Duration kShortest{policy::kWatchMicroseconds};
  static constexpr Duration kLongest{policy::kLongestWatchMicroseconds};
  void save() { saved_ = std::min(saved_ + 1, policy::kSavedLooks); }

  unsigned left_ = 0;                     // hurried looks, whatever runs
  unsigned saved_ = policy::kSavedLooks;  // hurried looks beside turns
  Duration period_{0};
};

}  // namespace rubato::inline v0::native
