// SPDX-License-Identifier: MIT
#include "chip/core/load_store_unit.hpp"

#include <utility>

#include "chip/isa/insn.hpp"

namespace rubato::chip {

bool LoadStoreUnit::access_line(LineAddr line, Addr word, AccessKind kind, AccessBuffer& buffer,
                                IssueSlot& slot, bool has_entry) {
  if (!has_entry && !buffers_.wait_for_entry(buffer, slot.issue)) return false;
  const AccessResult result = port_.access(line, port_.unchecked(line, kind), slot.issue);
  if (!result.done) return false;
  access_parts_ = result.parts;
  buffers_.add(buffer, slot.issue, {line, word, result.cycle, result.parts});
  if (result.cycle.value > slot.done) {
    slot.done = result.cycle.value;
    slot.source = ResultSource::access;
    slot.parts = &access_parts_;
  }
  return true;
}

void LoadStoreUnit::wait_for_fill(LineAddr line, Addr word, IssueSlot& slot) {
  const AccessBuffer::Entry* const fill = buffers_.fill_of(line, word);
  if (fill == nullptr || fill->done.value <= slot.done) return;
  slot.done = fill->done.value;
  slot.source = ResultSource::access;
  access_parts_ = fill->parts;
  slot.parts = &access_parts_;
}

bool LoadStoreUnit::defer(LineAddr first, LineAddr last, AccessBuffer& buffer) {
  return first == last && deferrals_.defer(buffer) && skip();
}

// A retry misses again: while this core waits, lines can only leave its L1. A rollback may bring one in, but
// unmarked.
bool LoadStoreUnit::leave_for_access(LineAddr line, Addr address, bool is_refused) {
  port_.announce(line, address);
  state_.is_refused = is_refused;
  return state_.departure.leave(PipelineStop::resume);
}

bool LoadStoreUnit::refuse(FaultKind kind, Addr address) {
  return state_.rights.forgives(address) ? skip() : state_.departure.leave_with_fault(kind, address);
}

bool LoadStoreUnit::refuse_foreign_stack(Addr address) {
  return state_.departure.leave_with_task_error(address, state_.rights.foreign_stack_sentence(address));
}

Addr LoadStoreUnit::forbidden(Addr address, unsigned bytes, std::uint8_t rights) const {
  return state_.ports.memory->allows(address, 1, rights) ? addr_of(line_of(address + bytes - 1)) : address;
}

bool LoadStoreUnit::load(Addr address, unsigned bytes, IssueSlot& slot, bool missed) {
  const PipelinePorts& ports = state_.ports;
  const LineAddr first = line_of(address), last = line_of(address + bytes - 1);
  slot.done = slot.issue + state_.l1_latency;
  slot.source = ResultSource::l1;
  missed |= std::exchange(state_.is_refused, false);
  if (deferrals_.any()) {
    const auto look = deferrals_.look(address, bytes, false, slot);
    if (look != DeferralUnit::Look::nothing) return look == DeferralUnit::Look::taken && skip();
  }
  if (!missed && first == last && slot.issue < state_.window.run_end()) {
    // As any hit it may run ahead, and needs no look at the page.
    if (ports.l1d.hit(first, false)) {
      wait_for_fill(first, address >> 3, slot);
      return true;
    }
    missed = true;
  }
  if (!state_.window.is_strict(slot.issue))
    return missed ? leave_for_access(first, address, true) : state_.departure.leave(PipelineStop::resume);
  if (!ports.memory->allows(address, bytes, Page::kRead))
    return refuse(FaultKind::load_access, forbidden(address, bytes, Page::kRead));
  if (state_.rights.is_foreign_stack(address, bytes))
    return state_.task.is_doomed ? skip() : refuse_foreign_stack(address);
  if (state_.rights.lacks(address, bytes))
    return state_.departure.leave_with_fault(FaultKind::load_access, address);
  bool has_entry = false;
  for (LineAddr line = first;; line = last) {
    if (port_.hits(line, false, missed)) {
      wait_for_fill(line, address >> 3, slot);
    } else if (!access_line(line, address >> 3, AccessKind::load, buffers_.loads(), slot,
                            std::exchange(has_entry, true))) {
      return defer(first, last, buffers_.loads());
    }
    if (line == last) break;
  }
  return true;
}

bool LoadStoreUnit::store(Addr address, unsigned bytes, IssueSlot& slot) {
  // Stores of speculative tasks are all logged here; where marks cover them they may run ahead.
  const PipelinePorts& ports = state_.ports;
  const LineAddr first = line_of(address), last = line_of(address + bytes - 1);
  const bool strict = state_.window.is_strict(slot.issue), missed = std::exchange(state_.is_refused, false);
  if (state_.task.is_doomed && (state_.rights.drops(address) || state_.rights.drops(address + bytes - 1)))
    return skip();
  if (deferrals_.any()) {
    const auto look = deferrals_.look(address, bytes, true, slot);
    if (look != DeferralUnit::Look::nothing) return look == DeferralUnit::Look::taken && skip();
  }
  if (!strict) {
    const bool asks = state_.task.attempt != nullptr && slot.issue < state_.window.run_end();
    const bool covers = asks && ports.l1d.covers(first, true);
    if (!covers || !ports.l1d.covers(last, true))
      return leave_for_access(first, address, asks && !covers && first == last);
  }
  if (!ports.memory->allows(address, bytes, Page::kWrite))
    return strict ? state_.departure.leave_with_fault(FaultKind::store_access,
                                                      forbidden(address, bytes, Page::kWrite))
                  : state_.departure.leave(PipelineStop::resume);
  if (strict && state_.rights.is_foreign_stack(address, bytes)) return refuse_foreign_stack(address);
  if (state_.rights.lacks(address, bytes))
    return strict ? state_.departure.leave_with_fault(FaultKind::store_access, address)
                  : state_.departure.leave(PipelineStop::resume);
  if (state_.task.attempt != nullptr &&
      !log_.make_room(log_.entries_of(address, bytes) + deferrals_.log_entries(), slot))
    return false;
  bool has_entry = false;
  for (LineAddr line = first;; line = last) {
    if (!port_.hits(line, true, missed) &&
        !access_line(line, address >> 3, AccessKind::store, buffers_.stores(), slot,
                     std::exchange(has_entry, true)))
      return defer(first, last, buffers_.stores());
    if (line == last) break;
  }
  if (state_.task.attempt != nullptr) log_.log(address, bytes);
  slot.done = slot.issue + 1;  // only fences and a full buffer wait for a store
  slot.source = ResultSource::core;
  return true;
}

bool LoadStoreUnit::atomic(Addr address, unsigned bytes, unsigned flags, AccessKind kind, IssueSlot& slot) {
  Departure& departure = state_.departure;
  if (!state_.window.is_strict(slot.issue)) return departure.leave(PipelineStop::resume);
  if (deferrals_.any()) return departure.leave(PipelineStop::deferred);
  const bool writes = kind == AccessKind::atomic;
  const FaultKind fault = writes ? FaultKind::store_access : FaultKind::load_access;
  if (writes && state_.rights.drops(address)) {
    slot.done = slot.issue + 1;
    slot.source = ResultSource::core;
    return skip();
  }
  const std::uint8_t rights = writes ? Page::kRead | Page::kWrite : Page::kRead;
  if (!state_.ports.memory->allows(address, bytes, rights)) return refuse(fault, address);
  if (state_.rights.is_foreign_stack(address, bytes))
    return state_.task.is_doomed ? skip() : refuse_foreign_stack(address);
  if (state_.rights.lacks(address, bytes)) return departure.leave_with_fault(fault, address);
  if ((flags & (isa::Insn::kAcquire | isa::Insn::kRelease)) != 0 && buffers_.latest() > slot.issue) {
    buffers_.drain(slot.issue);
    if (!state_.window.is_strict(slot.issue)) return departure.leave(PipelineStop::resume);
  }
  if (writes && state_.task.attempt != nullptr && !log_.make_room(log_.entries_of(address, bytes), slot))
    return false;
  const LineAddr line = line_of(address);
  slot.done = slot.issue + state_.l1_latency;
  slot.source = ResultSource::l1;
  if (port_.hits(line, writes)) {
    slot.done = buffers_.done_with(line, slot.done);
  } else if (!access_line(line, address >> 3, kind, buffers_.loads(), slot)) {
    return false;
  }
  if (writes && state_.task.attempt != nullptr) log_.log(address, bytes);
  return true;
}

bool LoadStoreUnit::fence(std::uint64_t& issue) {
  if (deferrals_.any() && state_.order_fault != OrderFault::fence_passes_deferred)
    return state_.departure.leave(PipelineStop::deferred);
  buffers_.drain(issue);
  return true;
}

}  // namespace rubato::chip
