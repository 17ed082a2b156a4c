// How often an actor may be made again, and how soon (A14).
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace rubato::inline v0 {

/// Limits of Directive::restart. One restart more escalates.
struct Restarts {
  unsigned most = 5;                                ///< within that time
  std::chrono::nanoseconds within{10'000'000'000};  ///< from the first of them on
  std::chrono::nanoseconds delay{0};  ///< before the first; each further one waits twice as long
  std::chrono::nanoseconds most_delay{60'000'000'000};  ///< no longer than that
  /// Whether all are the same.
  bool operator==(const Restarts&) const = default;
};

}  // namespace rubato::inline v0
