// Observer of the actions of tasks that others, or a serial replay, cannot foresee: the values they load,
// their reads of the machine's state, and their registers behind system calls (C19). A task that runs ahead
// of the clock is seen when it acts, not when the clock gets there: the values are those it got. Null by
// default, at no cost.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/hart_state.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Contract: each instruction that took effect is shown once, in the order of the core's program.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  /// The guest task last dispatched to the core begins with these registers.
  virtual void on_begin(CoreId core, const HartState& hart) = 0;
  /// `value` as loaded, zero-extended.
  virtual void on_load(CoreId core, Addr address, unsigned bytes, std::uint64_t value) = 0;
  virtual void on_store(CoreId core, Addr address, unsigned bytes) = 0;
  virtual void on_atomic(CoreId core, Addr address, unsigned bytes, std::uint64_t old_value) = 0;
  virtual void on_store_conditional(CoreId core, Addr address, unsigned bytes, bool stored) = 0;
  /// csrr of a counter.
  virtual void on_counter(CoreId core, std::uint64_t value) = 0;
  /// task.read; `selector` as in isa::ReadSelector.
  virtual void on_task_read(CoreId core, unsigned selector, std::uint64_t value) = 0;
  /// capsule.on_abort, with effect or without: `handler` is what would run.
  virtual void on_handler(CoreId core, const TaskDescriptor& handler) = 0;
  /// A system call, or a fault that a signal handler takes, is done: the task goes on with these registers.
  virtual void on_kernel_exit(CoreId core, const HartState& hart) = 0;
};

}  // namespace rubato::chip
