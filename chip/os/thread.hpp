// A guest thread: registers and why it does or does not run. Owned by Process; placed on cores by whoever
// runs it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/hart_state.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

enum class ThreadState : std::uint8_t { runnable, blocked, exited };

struct Thread {
  int tid = 0;
  HartState regs;  ///< valid while the thread is not on a core
  ThreadState state = ThreadState::runnable;
  bool is_worker = false;  ///< serves the task region (C7): never placed by the thread scheduler

  // Of Process only.
  Addr clear_child_tid = 0, robust_list = 0;
  Addr stack_low = 0, stack_high = 0;  ///< where known
  std::uint64_t signal_mask = 0;
  std::uint64_t instructions = 0;  ///< executed in fast-forward
};

}  // namespace rubato::chip
