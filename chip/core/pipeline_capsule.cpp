// The pipeline's part in capsules: calls and returns (P27, P37). Apart from pipeline.cpp since all of it is
// off the fast paths.
// SPDX-License-Identifier: MIT
#include "chip/capsule/vector.hpp"
#include "chip/core/pipeline.hpp"

namespace rubato::chip {

void Pipeline::doom() {
  stop_task();
  parts_.state.task.is_doomed = true;
  forget_resume();
}

// The entry comes through the L1D, and the jump waits for it.
bool Pipeline::enter_capsule(const CapsuleVector& vector, Latency cycles) {
  const Addr entry = parts_.state.hart.x[reg::a7];
  std::uint64_t issue = parts_.state.cycle.value;
  parts_.state.ports.l1d.set_rights(true);
  if (parts_.lsu.port().hits(line_of(entry), false)) {
    issue += parts_.state.l1_latency;
    parts_.state.stalls.charge(CyclePart::l1, parts_.state.l1_latency);
  } else {
    const AccessResult result = parts_.lsu.port().access(line_of(entry), AccessKind::untracked_load, issue);
    if (!result.done) {
      parts_.lsu.port().update_rights();
      return false;
    }
    parts_.state.stalls.wait(issue, result.cycle.value, result.parts);
  }
  parts_.state.cycle = Cycle{issue} + cycles;
  const bool links = parts_.stopped_at.rd == reg::ra;
  if (links) parts_.predictor.call(parts_.state.hart.pc + 4);
  vector.enter(parts_.state.hart, links);
  change_context();
  return true;
}

bool Pipeline::store_record(LineAddr line) {
  if (parts_.lsu.port().hits(line, true)) return true;
  return parts_.lsu.port().access(line, AccessKind::untracked_line_store, parts_.state.cycle.value).done;
}

void Pipeline::leave_capsule() {
  parts_.state.cycle = parts_.state.cycle + 1;
  ++parts_.counters.branches;
  if (!parts_.predictor.ret(parts_.state.hart.x[reg::ra])) {
    ++parts_.counters.mispredicts;
    parts_.state.cycle = parts_.state.cycle + parts_.mispredict;
  }
  CapsuleVector::leave(parts_.state.hart);
  change_context();
}

void Pipeline::change_context() {
  if (parts_.state.task.injected != CapsuleFault::rights_kept_after_return ||
      parts_.state.hart.capsule_depth != 0)
    parts_.lsu.port().update_rights();
  count_instruction();
  forget_resume();
  parts_.fetch_line = kNoLine;
}

}  // namespace rubato::chip
