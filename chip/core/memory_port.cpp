// SPDX-License-Identifier: MIT
#include "chip/core/memory_port.hpp"

#include "base/check.hpp"
#include "base/prefetch.hpp"

namespace rubato::chip {

bool MemoryPort::hits(LineAddr line, bool write, bool missed) {
  L1Cache& l1d = state_.ports.l1d;
  if (!missed && l1d.hit(line, write)) return true;
  if (!l1d.has_marks() || !state_.rights.is_untracked(line)) return false;
  mark_unchecked(line);
  return l1d.hit(line, write);
}

AccessResult MemoryPort::access(LineAddr line, AccessKind kind, std::uint64_t issue) {
  const PipelinePorts& ports = state_.ports;
  state_.cycle = Cycle{issue};  // where the core is, should the access abort its own task
  is_stopped_ = false;
  AccessResult result = ports.memory_system.access(state_.core, line, kind, state_.cycle);
  if (result.disturbed) {
    // Tasks were aborted: their cores have new events, which strict actions must not pass.
    RUBATO_CHECK(ports.timeline != nullptr);
    state_.window.narrow(ports.timeline->next());
  }
  if (!result.done || is_stopped_) {
    state_.departure.leave_blocked(result.done ? BlockReason::conflict_pending : result.blocked, line);
    result.done = false;
  } else if (!ports.l1d.has_marks() || kind == AccessKind::fetch) {
    // Nothing to be recorded.
  } else if (!is_tracked(kind)) {
    if (!state_.task.is_doomed || state_.rights.is_untracked(line) ||
        state_.task.injected == CapsuleFault::unchecked_load_marks)
      mark_unchecked(line);
  } else {
    ports.l1d.mark(line, is_write(kind));
    if (state_.task.attempt != nullptr) ports.recorder->record(state_.core, line, is_write(kind));
  }
  return result;
}

void MemoryPort::announce(LineAddr line, Addr address) {
  const PipelinePorts& ports = state_.ports;
  if (!kHostHints || ports.memory->attributes(address) == 0) return;
  state_.awaited_set = ports.l1d.first_slot(line);
  state_.prefetch_awaited();
  ports.memory_system.prefetch(state_.core, line);
  rubato::prefetch(ports.memory->host(address));
}

void MemoryPort::begin_marks() {
  L1Cache& l1d = state_.ports.l1d;
  l1d.begin_marks();
  for (std::uint32_t slot = 0; slot < l1d.slots(); ++slot) {
    const LineAddr line = l1d.line_at(slot);
    if (l1d.state_at(slot) != LineState::invalid && state_.rights.is_untracked(line)) mark_unchecked(line);
  }
}

void MemoryPort::begin_task() {
  update_rights();
  L1Cache& l1d = state_.ports.l1d;
  const Attempt* const attempt = state_.task.attempt;
  if (!l1d.has_marks()) {
    RUBATO_CHECK(attempt == nullptr, "speculative tasks need marks");
    return;
  }
  if (attempt != nullptr) {
    // A resumed attempt begins in its capsule.
    const bool keeps =
        state_.task.injected == CapsuleFault::resumed_marks_kept && state_.hart.capsule_depth != 0;
    if ((attempt->virtual_time < last_ || !forwards_) && !keeps) l1d.clear_marks();
    last_ = attempt->virtual_time;
  }
  l1d.begin_task(attempt != nullptr ? this : nullptr);
}

void MemoryPort::end_speculation() {
  state_.ports.l1d.stop_recording();
  state_.ports.l1d.set_rights(true);
}

void MemoryPort::mark_unchecked(LineAddr line) {
  // Lines outside guest memory, such as logs and spilled tasks, are out of the guest's reach.
  if (state_.rights.is_in_untracked_page(addr_of(line)) && !state_.rights.is_own_stack(line)) {
    state_.ports.l1d.mark_untracked(line);
  } else {
    state_.ports.l1d.mark_private(line);
  }
}

void MemoryPort::on_first_use(LineAddr line, bool write) {
  if (state_.rights.is_untracked(line)) {  // in the L1 since before marks began
    mark_unchecked(line);
  } else {
    state_.ports.recorder->record(state_.core, line, write);
  }
}

}  // namespace rubato::chip
