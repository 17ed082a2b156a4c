// Bugs of task units and of aborts, for tests (chip/faults.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/faults.hpp"

namespace rubato::chip {

// clang-format off
#define RUBATO_TASK_FAULTS(X) \
  X(commit_early)   /* tiles do not report what runs: the GVT runs ahead of it */ \
  X(ignore_locales) /* tasks of one locale run at once */

// Faults of aborts.
#define RUBATO_ABORT_FAULTS(X) \
  X(forget_undo)         /* the first entry of an undo log */ \
  X(undo_in_wrong_order) /* of several victims */ \
  X(forget_child) \
  X(forget_dependent)
// clang-format on
RUBATO_DEFINE_FAULTS(TaskFault, kTaskFaultNames, RUBATO_TASK_FAULTS)
RUBATO_DEFINE_FAULTS(AbortFault, kAbortFaultNames, RUBATO_ABORT_FAULTS)

}  // namespace rubato::chip
