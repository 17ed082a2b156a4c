// Type of delays, periods and time limits: of actors, delayed tasks and coroutines.
//
//   actor.ask(Question{}, {.timeout = 5s}), create_later<nonspec>(2min, give_up, {})
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace rubato::inline v0 {

/// Type of delays, periods and time limits.
using Duration = std::chrono::nanoseconds;
/// No time limit.
inline constexpr Duration kForever = Duration::max();

/// A Duration that is given as any exact duration. A longer time than nanoseconds can say, such as
/// std::chrono::hours::max(), becomes kForever; std::chrono's own conversion would wrap around.
struct AnyDuration : Duration {
  /// No time.
  constexpr AnyDuration() : Duration(0) {}
  /// Takes each duration that std::chrono converts to nanoseconds without a cast.
  template <class Rep, class Period>
    requires std::is_convertible_v<std::chrono::duration<Rep, Period>, Duration>
  constexpr AnyDuration(const std::chrono::duration<Rep, Period>& time) : Duration(limited(time)) {}

 private:
  template <class Rep, class Period>
  static constexpr Duration limited(const std::chrono::duration<Rep, Period>& time) {
    using Units = std::chrono::duration<std::intmax_t, Period>;
    constexpr std::intmax_t most = std::chrono::duration_cast<Units>(kForever).count();
    if (std::cmp_greater(time.count(), most)) return kForever;
    if (std::cmp_less(time.count(), -most)) return Duration::min();
    return time;
  }
};

}  // namespace rubato::inline v0
