// Bugs to put into a chip on purpose, so that tests can show that the checks of a run would find them: each
// is what a slip in one line of the model would do. Not part of any configuration.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/conflict/conflict_detector.hpp"
#include "chip/task/abort_cascade.hpp"
#include "chip/task/task_fault.hpp"

namespace rubato::chip {

struct Faults {
  ConflictDetector::Fault conflicts = ConflictDetector::Fault::none;
  AbortCascade::Fault aborts = AbortCascade::Fault::none;
  TaskFault tasks = TaskFault::none;
};

}  // namespace rubato::chip
