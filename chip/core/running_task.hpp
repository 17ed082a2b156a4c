// The running task, as far as a core needs it to execute instructions.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/capsule/capsule_fault.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct RunningTask {
  Timestamp timestamp = 0;
  Attempt* attempt = nullptr;                  ///< of a speculative task
  bool is_task = false;                        ///< else it is a thread outside tasks, or nothing
  bool is_doomed = false;                      ///< runs on in a capsule for nothing (P37)
  CapsuleFault injected = CapsuleFault::none;  ///< by tests
};

}  // namespace rubato::chip
