// What a free core may be given, as the task unit finds it.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/task/dispatch_rule.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

struct Choice {
  enum { none, guest, spill, refill, handler, resumed } kind = none;
  Task* task = nullptr;                     ///< a guest, a refill, or a handler whose record is to be read
  RunMode mode = RunMode::non_speculative;  ///< of a guest task
};

/// Of the idle guest tasks whose locales are free, what may run.
struct Candidates {
  Choice first;                    ///< the earliest, or the promoted one
  const Task* earliest = nullptr;  ///< that has a timestamp
  TileView view{};                 ///< with which they were found
};

}  // namespace rubato::chip
