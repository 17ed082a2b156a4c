// Waiting a little before something is given up, by the clock; and lagging of workers: the waiting before one
// that has found nothing sleeps, whose cost C is measured from the call that wakes a sleeper until it runs,
// and that call. A45 to A49.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/perturbation.hpp"
#include "native/lag/lagging.hpp"

namespace rubato::inline v0::native::lag {

/// A48: the median of the last wake-ups, in ticks.
class ParkCost {
 public:
  /// @param ticks  of a microsecond
  /// @param given  microseconds; 0: to be measured
  explicit ParkCost(double ticks, double given = 0) : ticks_(ticks), given_(given) {}
  void note(std::uint64_t ticks) { last_[noted_++ % kWindow] = ticks; }
  std::uint64_t ticks() const {
    if (given_ != 0) return of(given_);
    if (noted_ < kFewest) return of(kUnknown);
    std::array<std::uint64_t, kWindow> sorted = last_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(noted_, kWindow));
    const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
    std::nth_element(sorted.begin(), middle, end);
    return std::clamp(*middle, of(kLeast), of(kMost));
  }

 private:
  static constexpr std::uint64_t kWindow = 16, kFewest = 8;
  static constexpr double kUnknown = 20, kLeast = 2, kMost = 100;  // microseconds
  std::uint64_t of(double microseconds) const { return static_cast<std::uint64_t>(microseconds * ticks_); }

  double ticks_, given_;
  std::array<std::uint64_t, kWindow> last_{};
  std::uint64_t noted_ = 0;
};

/// A49: a thread that was away from its CPU in the middle of a wait shares it with others. It does not lag
/// for a while.
class Preemptions {
 public:
  explicit Preemptions(double ticks) : ticks_(ticks) {}
  /// Whether so long a time between two looks means that the CPU was away.
  bool note(std::uint64_t gap, std::uint64_t now) {
    if (gap <= of(kGap)) return false;
    const bool repeats = count_ != 0 && now - until_ < of(kMost);
    rest_ = repeats ? std::min(2 * rest_, kMost) : threshold(kFirst, 0.0);
    until_ = now + of(rest_);
    ++count_;
    return true;
  }
  bool must_rest(std::uint64_t now) const {
    return count_ != 0 && static_cast<std::int64_t>(until_ - now) > 0;
  }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr double kGap = 50, kFirst = 10'000, kMost = 1'000'000;  // microseconds
  std::uint64_t of(double microseconds) const { return static_cast<std::uint64_t>(microseconds * ticks_); }

  double ticks_, rest_ = 0;
  std::uint64_t until_ = 0, count_ = 0;
};

enum class Look : std::uint8_t { nothing, work, end };  ///< end: waiting makes no sense any more

/// Successive waits of a thread.
/// @tparam Clock  static now(), in ticks, and pause(), between two looks
template <class Clock>
class Waits {
 public:
  /// @param ticks  of a microsecond
  explicit Waits(double ticks) : preemptions_(ticks) {}

  bool may_wait() const { return preemptions_.count() == 0 || !preemptions_.must_rest(Clock::now()); }
  /// Waits for `delays` of `step` ticks, or until `look` says that there is something.
  /// @returns at which delay there was work, from 1; 0: there was none
  unsigned wait(unsigned delays, std::uint64_t step, auto& look, Look& seen) {
    const std::uint64_t begin = Clock::now();
    std::uint64_t last = begin, now = begin;
    do {
      Clock::pause();
      seen = look();
      now = Clock::now();
      if (preemptions_.note(now - last, now) && seen == Look::nothing) seen = Look::end;
      last = now;
    } while (seen == Look::nothing && now - begin < delays * step);
    waited_ += now - begin;
    if (seen != Look::work) return 0;
    const std::uint64_t found_at = (now - begin + step - 1) / step;
    return static_cast<unsigned>(std::clamp<std::uint64_t>(found_at, 1, delays));
  }

  std::uint64_t waited() const { return waited_; }  ///< in ticks
  std::uint64_t preempted() const { return preemptions_.count(); }

 private:
  Preemptions preemptions_;
  std::uint64_t waited_ = 0;
};

template <class Clock, class Random>
class Waiting {
 public:
  /// @param ticks  of a microsecond
  /// @param switch_microseconds  C; 0: to be measured
  Waiting(const Rules& rules, Random random, double ticks, double switch_microseconds)
      : lagging_(rules, random), cost_(ticks, switch_microseconds), waits_(ticks), delays_(rules.delays) {}

  bool may_lag() const { return waits_.may_wait(); }
  /// Waits as lagging decides. @param look  Look ()
  Look give_up(auto&& look) {
    Look seen = Look::nothing;
    lagging_.give_up([&](unsigned delays) {
      return waits_.wait(delays, std::max<std::uint64_t>(cost_.ticks() / delays_, 1), look, seen);
    });
    return seen;
  }
  void note_wake_up(std::uint64_t ticks) { cost_.note(ticks); }

  const Events& events() const { return lagging_.events(); }
  std::uint64_t waited() const { return waits_.waited(); }  ///< in ticks
  std::uint64_t preempted() const { return waits_.preempted(); }
  std::uint64_t switch_ticks() const { return cost_.ticks(); }

 private:
  Lagging<Random> lagging_;
  ParkCost cost_;
  Waits<Clock> waits_;
  unsigned delays_;
};

}  // namespace rubato::inline v0::native::lag
