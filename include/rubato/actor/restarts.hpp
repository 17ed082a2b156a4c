// How often an actor may be made again, and how soon (A14).
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "rubato/duration.hpp"

namespace rubato::inline v0 {

/// Limits of Directive::restart. One restart more escalates.
struct Restarts {
  unsigned most = 5;                              ///< within that time
  AnyDuration within = std::chrono::seconds(10);  ///< from the first of them on
  AnyDuration delay{};                            ///< before the first; each further one waits twice as long
  AnyDuration most_delay = std::chrono::seconds(60);  ///< no longer than that
  /// Whether all are the same.
  bool operator==(const Restarts&) const = default;
};

}  // namespace rubato::inline v0
