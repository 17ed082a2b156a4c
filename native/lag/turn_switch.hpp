// The cost of giving up a turn, C: from the last message of a turn to the first of the next one, cache misses
// included. Now and then one switch is timed, and the median of the last counts. A46 and A47.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace rubato::inline v0::native::lag {

class TurnSwitch {
 public:
  /// @param given  ticks; 0: to be measured
  explicit TurnSwitch(std::uint64_t given = 0) : is_given_(given != 0), ticks_(given) {}

  /// A turn is about to be given up. @returns whether to time the switch.
  bool is_due() {
    if (is_given_ || --until_next_ != 0) return false;
    until_next_ = noted_ < kWindow ? kOftenAtFirst : kSeldom;
    return true;
  }
  /// The caller counts the giving-ups up to the next whose switch is to be timed, and calls is_due() then.
  /// @returns how many these are
  std::uint64_t skip() { return is_given_ ? ~std::uint64_t{0} : std::exchange(until_next_, 1); }
  void note(std::uint64_t ticks) {
    last_[noted_++ % kWindow] = ticks;
    if (noted_ < kWindow) return;
    std::array<std::uint64_t, kWindow> sorted = last_;
    std::nth_element(sorted.begin(), sorted.begin() + kWindow / 2, sorted.end());
    ticks_ = sorted[kWindow / 2];
  }
  /// 0: not known yet.
  std::uint64_t ticks() const { return ticks_; }
  /// Whether so many looks fit into it that a wait can be shorter than a switch. Not while it is unknown.
  bool is_worth_lagging(std::uint64_t ticks_of_a_look) const {
    return ticks_ != 0 && ticks_ >= kFewestLooks * ticks_of_a_look;
  }

  static constexpr unsigned kWindow = 33;        ///< switches
  static constexpr unsigned kOftenAtFirst = 32;  ///< giving-ups, until there is a window full
  static constexpr unsigned kSeldom = 1024;      ///< giving-ups: a clock read costs about as much as a switch
  static constexpr std::uint64_t kFewestLooks = 4;

 private:
  bool is_given_;
  std::uint64_t ticks_;
  unsigned until_next_ = kOftenAtFirst;
  std::array<std::uint64_t, kWindow> last_{};
  std::uint64_t noted_ = 0;
};

}  // namespace rubato::inline v0::native::lag
