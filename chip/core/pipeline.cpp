// SPDX-License-Identifier: MIT
#include "chip/core/pipeline.hpp"

#include "base/check.hpp"

namespace rubato::chip {

void Pipeline::begin_context(Cycle at) {
  RUBATO_DCHECK(at >= parts_.state.cycle);
  parts_.state.cycle = at;
  parts_.state.scoreboard.clear(at.value);
  parts_.reservation.end();
  forget_resume();
}

void Pipeline::enter(AddressSpace& memory, isa::BlockCache& blocks, bool is_first) {
  RUBATO_DCHECK(!deferrals().any());
  PipelinePorts& ports = parts_.state.ports;
  ports.memory = &memory;
  ports.blocks = &blocks;
  parts_.state.rights.enter(memory);
  parts_.fetch_line = kNoLine;
  forget_resume();
  is_first_ = is_first;
  ports.observer = is_first && parts_.state.in_order ? &*parts_.state.in_order : nullptr;
  parts_.watch_pc = is_first ? watched_.first : ~Addr{0};
  parts_.watch_sp = is_first ? watched_.second : 0;
}

void Pipeline::begin_task(Attempt* attempt, Timestamp timestamp) {
  parts_.state.task.attempt = attempt;
  parts_.state.task.is_task = true;
  parts_.state.task.timestamp = timestamp;
  parts_.state.task.is_doomed = false;
  parts_.lsu.port().begin_task();
}

void Pipeline::end_speculation() {
  parts_.state.task.attempt = nullptr;
  parts_.state.task.is_doomed = false;
  parts_.lsu.port().end_speculation();
}

void Pipeline::stop_task() {
  end_speculation();
  parts_.lsu.port().stop_task();
}

void Pipeline::set_own_stack(Addr low, Addr high) {
  parts_.state.rights.set_own_stack(low, high);
  parts_.state.ports.l1d.forget_untracked();
}

void Pipeline::resume_at(Cycle at, CyclePart part) {
  if (at <= parts_.state.cycle) return;
  if (part != CyclePart::core) parts_.state.stalls.charge(part, at - parts_.state.cycle);
  parts_.state.cycle = at;
}

void Pipeline::resume_blocked(Cycle at) {
  if (at <= parts_.state.cycle) return;
  // The rest of the wait is no message's: the core waited for the fate of another task, or for requests that
  // came to nothing.
  parts_.state.stalls.wait(
      parts_.state.cycle, at, parts_.state.ports.memory_system.take_waited(parts_.state.core),
      parts_.state.departure.blocked_by == BlockReason::protocol ? CyclePart::network : CyclePart::check);
}

Cycle Pipeline::drain() {
  RUBATO_DCHECK(!deferrals().any());
  std::uint64_t issue = parts_.state.cycle.value;
  parts_.lsu.drain(issue);
  parts_.state.cycle = Cycle{issue};
  return parts_.state.cycle;
}

void Pipeline::skip_instruction() {
  parts_.state.hart.pc += parts_.stopped_at.length;
  forget_resume();
  count_instruction();
}

bool Pipeline::end_host_call(bool returns) {
  forget_resume();
  parts_.fetch_line = kNoLine;
  if (!returns) return false;
  parts_.predictor.ret(parts_.state.hart.pc);  // right or wrong: the call takes no time
  return parts_.state.hart.pc == parts_.watch_pc && parts_.state.hart.x[reg::sp] == parts_.watch_sp;
}

}  // namespace rubato::chip
