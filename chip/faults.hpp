// Bugs to put into a chip on purpose, so that tests can show that the checks of a run would find them: each
// is what a slip in one line of the model would do. Not part of any configuration.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/capsule/capsule_fault.hpp"
#include "chip/core/order_fault.hpp"
#include "chip/core/window/window_fault.hpp"
#include "chip/speculation/conflict_fault.hpp"
#include "chip/task/task_fault.hpp"

namespace rubato::chip {

struct Faults {
  ConflictFault conflicts = ConflictFault::none;
  AbortFault aborts = AbortFault::none;
  TaskFault tasks = TaskFault::none;
  CapsuleFault capsules = CapsuleFault::none;
  WindowFault windows = WindowFault::none;
  OrderFault orders = OrderFault::none;
  DoomPlan* dooms = nullptr;  ///< null: no abort is planned
};

}  // namespace rubato::chip
