// The time until the watch looks again (watch.hpp): short where a handler may be long that has sent
// something, longer and longer where there is nothing to hand over. Short looks are saved while there is
// nothing to look for, and spent beside actors' turns; a handler that is found to be long gives all of them
// back. Where long handlers follow each other at a distance, the savings last twice as far as from one to the
// next: so all but the first two are found by short looks.
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
    saved_ = most_;
    hurry();
  }
  /// A look has found one whose messages waited. Others like it may follow, at the same distance.
  void note_long_handler(Duration now) {
    const Duration apart = now - found_at_;
    found_at_ = now;
    most_ = std::max(most_ - most_ / 8, policy::kSavedLooks);
    if (apart <= kHurried * policy::kMostSavedLooks)
      most_ = std::clamp(static_cast<unsigned>(2 * apart / kHurried), most_, policy::kMostSavedLooks);
    saved_ = most_;
  }
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
      if (--saved_ == 0) most_ = std::max(most_ / 2, policy::kSavedLooks);
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
  void save() { saved_ = std::min(saved_ + 1, most_); }

  unsigned left_ = 0;                     // hurried looks, whatever runs
  unsigned saved_ = policy::kSavedLooks;  // hurried looks beside turns
  unsigned most_ = policy::kSavedLooks;   // that are saved
  Duration found_at_{0};                  // the last long handler
  Duration period_{0};
};

}  // namespace rubato::inline v0::native
