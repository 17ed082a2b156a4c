// A guest thread: registers and why it does or does not run. Owned by Process; placed on cores by
// fast-forward or the thread scheduler.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "chip/isa/hart_state.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

enum class ThreadState : std::uint8_t { runnable, blocked, exited };

struct GuestSpace;  // chip/os/guest_space.hpp

struct Thread {
  int tid = 0;
  HartState regs;  ///< valid while the thread is not on a core
  ThreadState state = ThreadState::runnable;
  bool is_worker = false;  ///< serves the task region (C7): never placed by the thread scheduler

  static constexpr std::uint32_t kNoCore = ~std::uint32_t{0};
  std::uint32_t core = kNoCore;         ///< on which it is in detail, or was last
  std::vector<std::uint64_t> affinity;  ///< a bit for each core that it may run on; empty: all
  bool may_run_on(CoreId id) const {
    if (affinity.empty()) return true;
    const std::size_t word = id.value / 64;
    return word < affinity.size() && (affinity[word] >> id.value % 64 & 1) != 0;
  }

  GuestSpace* space = nullptr;  ///< of its process; null: the program's own memory

  // Members for Process only.
  Addr clear_child_tid = 0, robust_list = 0;
  Addr stack_low = 0, stack_high = 0;  ///< where known
  std::uint64_t signal_mask = 0;
  std::uint64_t instructions = 0;  ///< executed in fast-forward

  // Members for the cores, for CPU-time clocks.
  std::uint64_t core_cycles = 0;   ///< that it has had a core, until it last left one
  std::optional<Cycle> seated_at;  ///< since when it has the core that it is on
  void sit(Cycle at) { seated_at = at; }
  void stand(Cycle at) {
    core_cycles += cycles_until(at);
    seated_at.reset();
  }
  /// The cycles of its stay on its present core. `at` may be a clock that is behind the core's.
  std::uint64_t cycles_until(Cycle at) const {
    return seated_at && at > *seated_at ? at.value - seated_at->value : 0;
  }
};

}  // namespace rubato::chip
