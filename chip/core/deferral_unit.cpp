// SPDX-License-Identifier: MIT
#include "chip/core/deferral_unit.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "chip/core/access_value.hpp"

namespace rubato::chip {

DeferralUnit::Look DeferralUnit::look(Addr address, unsigned bytes, bool write, IssueSlot& slot) {
  const LineAddr line = line_of(address);
  const auto wait = [this] {
    state_.departure.leave(PipelineStop::deferred);
    return Look::leaves;
  };
  if (line_of(address + bytes - 1) != line) return wait();
  if (!accesses_.has(line)) return Look::nothing;
  if (!is_allowed() || accesses_.is_full()) return wait();
  if (!state_.ports.memory->allows(address, bytes, write ? Page::kWrite : Page::kRead) ||
      state_.rights.is_foreign_stack(address, bytes) || state_.rights.lacks(address, bytes))
    return wait();  // then it faults
  if (const DeferredAccess* store = accesses_.store_to(address, bytes); !write && store != nullptr) {
    if (store->covers(address, bytes)) {
      how_ = How::forwarded;
      forwarded_ = store->value >> (address - store->address) * 8;
      if (bytes < 8) forwarded_ &= (std::uint64_t{1} << bytes * 8) - 1;
      slot.done = slot.issue + state_.l1_latency;
      slot.source = ResultSource::l1;
      return Look::taken;
    }
  }
  if (!state_.window.is_strict(slot.issue)) {
    state_.departure.leave(PipelineStop::resume);
    return Look::leaves;
  }
  if (write && state_.task.attempt != nullptr &&
      !log_.make_room(log_.entries_of(address, bytes) + log_entries(), slot))
    return Look::leaves;
  how_ = How::behind;
  return Look::taken;
}

bool DeferralUnit::defer(AccessBuffer& buffer) {
  Departure& departure = state_.departure;
  if (!defers_ || departure.stop != PipelineStop::blocked || departure.blocked_by != BlockReason::protocol)
    return false;
  if (port_.is_stopped() || !is_allowed() || accesses_.is_full()) return false;
  departure.stop = PipelineStop::resume;
  buffer.hold();
  how_ = How::first;
  return true;
}

void DeferralUnit::end(const isa::Insn& insn, Addr pc, IssueSlot& slot) {
  const How how = std::exchange(how_, How::none);
  const std::uint64_t* const regs = state_.hart.registers();
  if (how == How::forwarded) {
    state_.hart.registers()[insn.rd] = loaded(insn.op, forwarded_);
    return;
  }
  const Addr address = regs[insn.rs1] + static_cast<std::uint64_t>(static_cast<std::int64_t>(insn.imm));
  const std::uint64_t seen_as =
      state_.in_order ? state_.in_order->defer(state_.core, address, insn.bytes, insn.is_store()) : 0;
  accesses_.add({.line = line_of(address),
                 .address = address,
                 .pc = pc,
                 .value = regs[insn.rs2],
                 .issued = Cycle{slot.issue},
                 .insn = insn,
                 .waited = {},
                 .has_entry = how == How::first,
                 .seen_as = seen_as});
  buffers_.defer();
  slot.source = ResultSource::core;
  slot.done = insn.is_store() ? slot.issue + 1 : Scoreboard::kUnknown;
}

bool DeferralUnit::note_ready(LineAddr line) {
  for (DeferredAccess& e : accesses_.entries()) {
    if (e.line != line) continue;
    e.waited = sum_of(e.waited, state_.ports.memory_system.take_waited(state_.core));
    return true;
  }
  return false;
}

void DeferralUnit::give_value(const DeferredAccess& e, std::uint64_t ready, const AccessParts& parts) {
  std::uint64_t* const regs = state_.hart.registers();
  std::uint64_t raw = 0;
  if (e.is_store()) {
    if (state_.task.attempt != nullptr) log_.log(e.address, e.insn.bytes);
    raw_store(*state_.ports.memory, e.address, e.insn.bytes, e.value);
  } else {
    raw = raw_load(*state_.ports.memory, e.address, e.insn.bytes);
    regs[e.insn.rd] = loaded(e.insn.op, raw);
    if (e.insn.rd != isa::Insn::kSink) {
      state_.has_floats |= e.insn.rd >= isa::Insn::kFloat;
      state_.scoreboard.bring(e.insn.rd, ready, parts);
    }
  }
  if (e.has_entry) buffers_.of(e.is_store()).unhold();
  if (state_.in_order) state_.in_order->perform(e.seen_as, raw);
  state_.show(e.insn, e.pc, e.issued, &e.address);
}

void DeferralUnit::settle() {
  buffers_.settle(any());
  state_.scoreboard.settle();
}

void DeferralUnit::perform(LineAddr line, Cycle now) {
  std::vector<DeferredAccess>& entries = accesses_.entries();
  std::uint64_t done = 0;
  AccessParts waited{};  // for the line, by all of them; the first one was told
  for (auto e = entries.begin(); e != entries.end();) {
    if (e->line != line) {
      ++e;
      continue;
    }
    waited = sum_of(waited, e->waited);
    AccessParts parts = waited;
    if (!state_.ports.memory->allows(e->address, e->insn.bytes, e->is_store() ? Page::kWrite : Page::kRead)) {
      drop(*e);
      if (state_.in_order) state_.in_order->perform(e->seen_as, 0);
      state_.departure.fault = {
          e->is_store() ? FaultKind::store_access : FaultKind::load_access, e->pc, e->address, {}, false};
      is_fault_ = true;
      entries.erase(e);
      return settle();
    }
    if (port_.hits(line, e->is_store())) {
      done = std::max(done, now.value + state_.l1_latency);
    } else {
      const AccessKind kind = port_.unchecked(line, e->is_store() ? AccessKind::store : AccessKind::load);
      // The core is at another instruction, and may be blocked there.
      const Cycle at = state_.cycle;
      const LineAddr blocked_line = state_.departure.blocked_line;
      const AccessResult result = port_.access(line, kind, now.value);
      if (port_.is_stopped()) return;  // its own task was aborted, and with it what was deferred
      state_.cycle = at;
      state_.departure.blocked_line = blocked_line;
      if (!result.done) {
        is_blocked_ |= result.blocked == BlockReason::conflict_pending;
        e->waited = waited;
        break;
      }
      done = std::max(done, result.cycle.value);
      parts = sum_of(parts, result.parts);
    }
    give_value(*e, done, parts);
    if (e->has_entry) buffers_.of(e->is_store()).add(now, {line, e->address >> 3, Cycle{done}, parts});
    performed_parts_ = parts;
    e = entries.erase(e);
  }
  settle();
}

void DeferralUnit::perform_blocked(Cycle now) {
  is_blocked_ = false;
  std::vector<LineAddr> lines;
  for (const DeferredAccess& e : accesses_.entries()) lines.push_back(e.line);
  for (const LineAddr line : lines) perform(line, now);
}

void DeferralUnit::perform_at_once(Addr begin, Addr end, Cycle now) {
  if (state_.task.attempt != nullptr || !accesses_.has_any_in(begin, end)) return;
  std::erase_if(accesses_.entries(), [&](const DeferredAccess& e) {
    if (e.address >= end || begin >= e.address + e.insn.bytes) return false;
    give_value(e, now.value, {});
    return true;
  });
  settle();
}

void DeferralUnit::cancel() {
  if (!accesses_.any()) return;
  for (const DeferredAccess& e : accesses_.entries()) drop(e);
  accesses_.entries().clear();
  is_blocked_ = false;
  if (state_.in_order) state_.in_order->cancel();
  settle();
}

void DeferralUnit::drop(const DeferredAccess& e) {
  if (e.has_entry) buffers_.of(e.is_store()).unhold();
  if (!e.is_store()) state_.scoreboard.forget(e.insn.rd);
}

std::size_t DeferralUnit::log_entries() const {
  std::size_t sum = 0;
  for (const DeferredAccess& e : accesses_.entries())
    if (e.is_store()) sum += log_.entries_of(e.address, e.insn.bytes);
  return sum;
}

void DeferralUnit::resume(Cycle at) {
  // As of an access that is blocked (Pipeline::resume_blocked).
  state_.stalls.wait(state_.cycle, at, performed_parts_,
                     state_.task.attempt != nullptr ? CyclePart::check : CyclePart::network);
}

}  // namespace rubato::chip
