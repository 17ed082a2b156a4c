// The pipeline's part in capsules: calls, returns, and what an access may touch (P27, P29 to P37). Apart from
// pipeline.cpp since all of it is off the fast paths.
// SPDX-License-Identifier: MIT
#include "chip/capsule/vector.hpp"
#include "chip/core/pipeline.hpp"

namespace rubato::chip {

void Pipeline::begin_marks() {
  ports_.l1d.begin_marks();
  for (std::uint32_t slot = 0; slot < ports_.l1d.slots(); ++slot) {
    const LineAddr line = ports_.l1d.line_at(slot);
    if (ports_.l1d.state_at(slot) != LineState::invalid && is_untracked(line)) mark_unchecked(line);
  }
}

void Pipeline::mark_unchecked(LineAddr line) {
  // What is no guest memory, as logs and spilled tasks, no guest can touch.
  if (is_in_untracked_page(addr_of(line)) && !is_own_stack(line)) {
    ports_.l1d.mark_untracked(line);
  } else {
    ports_.l1d.mark_private(line);
  }
}

void Pipeline::update_rights() {
  ports_.l1d.set_rights(attempt_ == nullptr || hart_.capsule_depth != 0 ||
                        capsule_fault_ == CapsuleFault::untracked_hit_without_rights);
}

bool Pipeline::is_forbidden(Addr address, unsigned bytes) const {
  const Addr last = address + bytes - 1;
  return (is_in_untracked_page(address) && !is_own_stack(line_of(address))) ||
         (is_in_untracked_page(last) && !is_own_stack(line_of(last)));
}

// Tracked memory may be anything to a doomed run. In untracked memory, and before, it is the capsule's error.
bool Pipeline::refuse(FaultKind kind, Addr address) {
  if (is_doomed_ && !is_in_untracked_page(address)) return skips_ = true;
  return leave_with_fault(kind, address);
}

void Pipeline::doom() {
  stop_task();
  is_doomed_ = true;
  forget_resume();
}

// The entry comes through the L1D, and the jump waits for it.
bool Pipeline::enter_capsule(const CapsuleVector& vector, Latency cycles) {
  const Addr entry = hart_.x[reg::a7];
  std::uint64_t issue = cycle_.value;
  ports_.l1d.set_rights(true);
  if (hits(line_of(entry), false)) {
    issue += l1_latency_;
    stalls_.charge(CyclePart::l1, l1_latency_);
  } else {
    const AccessResult result = access_memory(line_of(entry), AccessKind::untracked_load, issue);
    if (!result.done) {
      update_rights();
      return false;
    }
    stalls_.wait(issue, result.cycle.value, result.parts);
  }
  cycle_ = Cycle{issue} + cycles;
  const bool links = stopped_at_.rd == reg::ra;
  if (links) predictor_.call(hart_.pc + 4);
  vector.enter(hart_, links);
  change_context();
  return true;
}

bool Pipeline::store_record(LineAddr line) {
  if (ports_.l1d.hit(line, true)) return true;
  return access_memory(line, AccessKind::untracked_line_store, cycle_.value).done;
}

void Pipeline::leave_capsule() {
  cycle_ = cycle_ + 1;
  ++counters_.branches;
  if (!predictor_.ret(hart_.x[reg::ra])) {
    ++counters_.mispredicts;
    cycle_ = cycle_ + mispredict_;
  }
  CapsuleVector::leave(hart_);
  change_context();
}

void Pipeline::change_context() {
  if (capsule_fault_ != CapsuleFault::rights_kept_after_return || hart_.capsule_depth != 0) update_rights();
  count_instruction();
  forget_resume();
  fetch_line_ = LineAddr{~std::uint64_t{0}};
}

}  // namespace rubato::chip
