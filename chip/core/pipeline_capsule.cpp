// The pipeline's part in capsules: calls and returns (P27, P37). Apart from pipeline.cpp since all of it is
// off the fast paths.
// SPDX-License-Identifier: MIT
#include "chip/capsule/vector.hpp"
#include "chip/core/pipeline.hpp"

namespace rubato::chip {

void Pipeline::doom() {
  stop_task();
  state_.task.is_doomed = true;
  forget_resume();
}

// The entry comes through the L1D, and the jump waits for it.
bool Pipeline::enter_capsule(const CapsuleVector& vector, Latency cycles) {
  const Addr entry = state_.hart.x[reg::a7];
  std::uint64_t issue = state_.cycle.value;
  state_.ports.l1d.set_rights(true);
  if (lsu_.port().hits(line_of(entry), false)) {
    issue += state_.l1_latency;
    state_.stalls.charge(CyclePart::l1, state_.l1_latency);
  } else {
    const AccessResult result = lsu_.port().access(line_of(entry), AccessKind::untracked_load, issue);
    if (!result.done) {
      lsu_.port().update_rights();
      return false;
    }
    state_.stalls.wait(issue, result.cycle.value, result.parts);
  }
  state_.cycle = Cycle{issue} + cycles;
  const bool links = stopped_at_.rd == reg::ra;
  if (links) predictor_.call(state_.hart.pc + 4);
  vector.enter(state_.hart, links);
  change_context();
  return true;
}

bool Pipeline::store_record(LineAddr line) {
  if (lsu_.port().hits(line, true)) return true;
  return lsu_.port().access(line, AccessKind::untracked_line_store, state_.cycle.value).done;
}

void Pipeline::leave_capsule() {
  state_.cycle = state_.cycle + 1;
  ++counters_.branches;
  if (!predictor_.ret(state_.hart.x[reg::ra])) {
    ++counters_.mispredicts;
    state_.cycle = state_.cycle + mispredict_;
  }
  CapsuleVector::leave(state_.hart);
  change_context();
}

void Pipeline::change_context() {
  if (state_.task.injected != CapsuleFault::rights_kept_after_return || state_.hart.capsule_depth != 0)
    lsu_.port().update_rights();
  count_instruction();
  forget_resume();
  fetch_line_ = LineAddr{~std::uint64_t{0}};
}

}  // namespace rubato::chip
