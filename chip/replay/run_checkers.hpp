// The checkers of a run while it goes on: a serial replay (run.check_replay), ties (run.check_ties) and
// capsules (run.check_capsules), each only where it is asked for. The chip tells this of what no observer
// sees: regions, system calls, heap calls, and attempts that become non-speculative.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chip/alloc/heap_calls.hpp"
#include "chip/core/execution_observer.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/replay/capsule_lint.hpp"
#include "chip/replay/replay_checker.hpp"
#include "chip/replay/tie_checker.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct RunCheckers {
  std::unique_ptr<ReplayChecker> replay;  // null: the run is not replayed
  std::unique_ptr<TieChecker> ties;       // null: ties are not looked for
  std::optional<CapsuleLint> capsules;

  using Stacks = std::vector<std::pair<Addr, Addr>>;
  /// Whether begin_region() does anything.
  bool watches_regions() const { return replay != nullptr || ties != nullptr; }
  void begin_region(const Stacks& stacks, const std::map<Addr, std::int32_t>& heap_functions) {
    if (replay) replay->begin_region(stacks, heap_functions);
    if (ties) ties->begin_region(stacks);
  }
  void end_region() {
    if (replay) replay->end_region();
  }
  void become_nonspeculative(CoreId core) {
    if (replay) replay->become_nonspeculative(core);
    if (ties) ties->become_nonspeculative(core);
  }
  void become_nonspeculative_suspended(std::uint64_t id) {
    if (replay) replay->become_nonspeculative_suspended(id);
    if (ties) ties->become_nonspeculative_suspended(id);
  }
  void enter_kernel(std::uint64_t task, bool at_once = false) {
    if (replay) replay->enter_kernel(task, at_once);
  }
  void leave_kernel() {
    if (replay) replay->leave_kernel();
  }
  void enter_heap(std::uint64_t task, const HartState& hart) {
    if (replay) replay->enter_heap(task, hart);
  }
  void leave_heap(CoreId core, const HartState& hart, HeapCalls::Outcome outcome, const HeapCalls& heap) {
    if (ties) ties->on_heap_call(core);
    if (!replay) return;
    const bool is_served = outcome == HeapCalls::Outcome::returned || outcome == HeapCalls::Outcome::jumped;
    replay->leave_heap(core, hart, is_served, heap.taken(), heap.freed());
  }
};

}  // namespace rubato::chip
