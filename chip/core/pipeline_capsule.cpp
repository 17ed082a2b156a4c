// The pipeline's part in capsules: calls, returns, and what an access may touch (P27, P29 to P37). Apart from
// pipeline.cpp since all of it is off the fast paths.
// SPDX-License-Identifier: MIT
#include "chip/capsule/vector.hpp"
#include "chip/core/pipeline.hpp"

namespace rubato::chip {

void Pipeline::begin_marks() {
  state_.ports.l1d.begin_marks();
  for (std::uint32_t slot = 0; slot < state_.ports.l1d.slots(); ++slot) {
    const LineAddr line = state_.ports.l1d.line_at(slot);
    if (state_.ports.l1d.state_at(slot) != LineState::invalid && state_.rights.is_untracked(line))
      mark_unchecked(line);
  }
}

void Pipeline::mark_unchecked(LineAddr line) {
  // What is no guest memory, as logs and spilled tasks, no guest can touch.
  if (state_.rights.is_in_untracked_page(addr_of(line)) && !state_.rights.is_own_stack(line)) {
    state_.ports.l1d.mark_untracked(line);
  } else {
    state_.ports.l1d.mark_private(line);
  }
}

void Pipeline::update_rights() { state_.ports.l1d.set_rights(state_.rights.has_untracked()); }

bool Pipeline::refuse(FaultKind kind, Addr address) {
  if (state_.rights.forgives(address)) return skips_ = true;
  return leave_with_fault(kind, address);
}

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
  if (hits(line_of(entry), false)) {
    issue += l1_latency_;
    state_.stalls.charge(CyclePart::l1, l1_latency_);
  } else {
    const AccessResult result = access_memory(line_of(entry), AccessKind::untracked_load, issue);
    if (!result.done) {
      update_rights();
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
  if (state_.ports.l1d.hit(line, true)) return true;
  return access_memory(line, AccessKind::untracked_line_store, state_.cycle.value).done;
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
    update_rights();
  count_instruction();
  forget_resume();
  fetch_line_ = LineAddr{~std::uint64_t{0}};
}

}  // namespace rubato::chip
