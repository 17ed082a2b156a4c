// Choices of work for a free core, as the task unit finds them.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/task/dispatch_rule.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

struct Choice {
  enum { none, guest, spill, refill, handler, resumed } kind = none;
  Task* task = nullptr;                     ///< a guest, a refill, or a handler whose record is to be read
  RunMode mode = RunMode::non_speculative;  ///< of a guest task
  bool operator==(const Choice&) const = default;
};

/// Tasks that may run, among the idle guest tasks whose locales are free.
struct Candidates {
  Choice first;                    ///< the earliest, or the promoted one
  const Task* earliest = nullptr;  ///< that has a timestamp
  TileView view{};                 ///< with which they were found
};

}  // namespace rubato::chip
