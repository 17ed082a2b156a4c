// Dispatch of a window core: executes instructions in the order of the program, on registers and memory as
// they then are, and gives each its entry, or lets it pass without one. An instruction that goes alone waits
// until all before it have committed, and is made here.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/core/window/window_commit.hpp"
#include "chip/core/window/window_loads.hpp"
#include "chip/core/window/window_parts.hpp"
#include "chip/core/window/window_stores.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowDispatch {
 public:
  /// All outlive this.
  WindowDispatch(WindowParts& window, WindowLoads& loads, WindowStores& stores, WindowCommit& commit)
      : w_(window), loads_(loads), stores_(stores), commit_(commit) {}

  /// Dispatches until the point's limit, or until it stalls or stops. @returns `resume` in the former cases.
  PipelineStop run();

 private:
  std::uint64_t read_counter(unsigned number) const;
  /// All before has committed (and with `stores` is in memory) at the cycle of dispatch, which may have
  /// moved, and the clock is there. False: stalled, or not yet.
  bool is_alone(bool stores);
  bool fetch(LineAddr line);
  /// The memory system, or the load-store unit, has refused the present instruction.
  PipelineStop left();
  WindowEntry& add(const isa::Insn& insn, Addr pc, std::uint64_t old_value);
  void finish_store(WindowEntry& e, Addr address, std::uint64_t value);
  /// The instruction went alone, and the slot says when it is complete.
  void finish_alone(WindowEntry& e, const IssueSlot& slot);
  /// No instruction is dispatched behind a mispredicted jump until the misprediction is known.
  void finish_jump(const WindowEntry& e);

  WindowParts& w_;
  WindowLoads& loads_;
  WindowStores& stores_;
  WindowCommit& commit_;
  std::uint64_t stamp_ = 0;  // of the last entry
};

}  // namespace rubato::chip
