// Accesses that wait for messages while the core goes on (K11, K12). See pipeline.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/isa/fp.hpp"

namespace rubato::chip {

namespace {

using isa::Op;

template <class T>
std::uint64_t sign_extended(std::uint64_t raw) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<T>(raw)));
}

std::uint64_t raw_load(const AddressSpace& memory, Addr address, unsigned bytes) {
  switch (bytes) {
    case 1:
      return memory.load<std::uint8_t>(address);
    case 2:
      return memory.load<std::uint16_t>(address);
    case 4:
      return memory.load<std::uint32_t>(address);
    default:
      return memory.load<std::uint64_t>(address);
  }
}

void raw_store(AddressSpace& memory, Addr address, unsigned bytes, std::uint64_t value) {
  switch (bytes) {
    case 1:
      return memory.store<std::uint8_t>(address, static_cast<std::uint8_t>(value));
    case 2:
      return memory.store<std::uint16_t>(address, static_cast<std::uint16_t>(value));
    case 4:
      return memory.store<std::uint32_t>(address, static_cast<std::uint32_t>(value));
    default:
      return memory.store<std::uint64_t>(address, value);
  }
}

/// What a load makes of the bytes that it loads, zero-extended.
std::uint64_t loaded(Op op, std::uint64_t raw) {
  switch (op) {
    case Op::lb:
      return sign_extended<std::int8_t>(raw);
    case Op::lh:
      return sign_extended<std::int16_t>(raw);
    case Op::lw:
      return sign_extended<std::int32_t>(raw);
    case Op::flw:
      return isa::fp::box(static_cast<std::uint32_t>(raw));
    default:
      return raw;
  }
}

AccessParts sum_of(const AccessParts& a, const AccessParts& b) {
  return {.l1 = a.l1 + b.l1,
          .l2 = a.l2 + b.l2,
          .llc = a.llc + b.llc,
          .memory = a.memory + b.memory,
          .network = a.network + b.network,
          .check = a.check + b.check};
}

}  // namespace

Pipeline::Behind Pipeline::look_at_deferred(Addr address, unsigned bytes, bool write, Slot& slot) {
  const LineAddr line = line_of(address);
  const auto wait = [this] {
    leave(PipelineStop::deferred);
    return Behind::leaves;
  };
  if (line_of(address + bytes - 1) != line) return wait();
  if (!deferred_.has(line)) return Behind::nothing;
  if (!may_defer() || deferred_.is_full()) return wait();
  if (!state_.ports.memory.allows(address, bytes, write ? Page::kWrite : Page::kRead) ||
      state_.rights.is_foreign_stack(address, bytes) || state_.rights.lacks(address, bytes))
    return wait();  // then it faults
  if (const DeferredAccess* store = deferred_.store_to(address, bytes); !write && store != nullptr) {
    if (store->covers(address, bytes)) {
      deferral_ = Deferral::forwarded;
      forwarded_ = store->value >> (address - store->address) * 8;
      if (bytes < 8) forwarded_ &= (std::uint64_t{1} << bytes * 8) - 1;
      slot.done = slot.issue + l1_latency_;
      slot.source = Source::l1;
      skips_ = true;
      return Behind::taken;
    }
  }
  if (!is_strict(slot.issue)) {
    leave(PipelineStop::resume);
    return Behind::leaves;
  }
  if (write && state_.task.attempt != nullptr && !make_log_room(address, bytes, slot)) return Behind::leaves;
  deferral_ = Deferral::behind;
  skips_ = true;
  return Behind::taken;
}

bool Pipeline::defer(LineAddr first, LineAddr last, AccessBuffer& buffer) {
  if (!defers_ || state_.departure.stop != PipelineStop::blocked ||
      state_.departure.blocked_by != BlockReason::protocol)
    return false;
  if (first != last || is_stopped_ || !may_defer() || deferred_.is_full()) return false;
  state_.departure.stop = PipelineStop::resume;
  buffer.hold();
  deferral_ = Deferral::first;
  return skips_ = true;
}

void Pipeline::end_deferral(const isa::Insn& insn, Addr pc, Slot& slot) {
  const Deferral how = std::exchange(deferral_, Deferral::none);
  const std::uint64_t* const regs = state_.hart.registers();
  if (how == Deferral::forwarded) {
    state_.hart.registers()[insn.rd] = loaded(insn.op, forwarded_);
    return;
  }
  const Addr address = regs[insn.rs1] + static_cast<std::uint64_t>(static_cast<std::int64_t>(insn.imm));
  const std::uint64_t seen_as =
      state_.in_order ? state_.in_order->defer(state_.core, address, insn.bytes, insn.is_store()) : 0;
  deferred_.add({.line = line_of(address),
                 .address = address,
                 .pc = pc,
                 .value = regs[insn.rs2],
                 .issued = Cycle{slot.issue},
                 .insn = insn,
                 .waited = {},
                 .has_entry = how == Deferral::first,
                 .seen_as = seen_as});
  fills_until_ = kUnknown;
  slot.source = Source::core;
  slot.done = insn.is_store() ? slot.issue + 1 : kUnknown;
}

bool Pipeline::fence(std::uint64_t& issue) {
  if (deferred_.any()) return leave(PipelineStop::deferred);
  drain_buffer(loads_, issue);
  drain_buffer(stores_, issue);
  return true;
}

bool Pipeline::note_ready(LineAddr line) {
  for (DeferredAccess& e : deferred_.entries()) {
    if (e.line != line) continue;
    e.waited = sum_of(e.waited, state_.ports.memory_system.take_waited(state_.core));
    return true;
  }
  return false;
}

void Pipeline::give_value(const DeferredAccess& e, std::uint64_t ready, const AccessParts& parts) {
  std::uint64_t* const regs = state_.hart.registers();
  std::uint64_t raw = 0;
  if (e.is_store()) {
    if (state_.task.attempt != nullptr) log_store(e.address, e.insn.bytes);
    raw_store(state_.ports.memory, e.address, e.insn.bytes, e.value);
  } else {
    raw = raw_load(state_.ports.memory, e.address, e.insn.bytes);
    regs[e.insn.rd] = loaded(e.insn.op, raw);
    if (e.insn.rd != isa::Insn::kSink) {
      state_.has_floats |= e.insn.rd >= isa::Insn::kFloat;
      state_.scoreboard.bring(e.insn.rd, ready, parts);
    }
  }
  if (e.has_entry) (e.is_store() ? stores_ : loads_).unhold();
  if (state_.in_order) state_.in_order->perform(e.seen_as, raw);
  state_.show(e.insn, e.pc, e.issued, &e.address);
}

/// Some have performed: what is ready when, as COMPLETE and LOAD want to know it.
void Pipeline::settle_deferred() {
  fills_until_ = deferred_.any() ? kUnknown : std::max(loads_.latest(), stores_.latest()).value;
  state_.scoreboard.settle();
}

void Pipeline::perform(LineAddr line, Cycle now) {
  std::vector<DeferredAccess>& entries = deferred_.entries();
  std::uint64_t done = 0;
  for (auto e = entries.begin(); e != entries.end();) {
    if (e->line != line) {
      ++e;
      continue;
    }
    AccessParts parts = e->waited;
    if (!state_.ports.memory.allows(e->address, e->insn.bytes, e->is_store() ? Page::kWrite : Page::kRead))
        [[unlikely]] {
      drop_deferred(*e);
      if (state_.in_order) state_.in_order->perform(e->seen_as, 0);
      state_.departure.fault = {
          e->is_store() ? FaultKind::store_access : FaultKind::load_access, e->pc, e->address, {}, false};
      is_deferral_fault_ = true;
      entries.erase(e);
      return settle_deferred();
    }
    if (hits(line, e->is_store())) {
      done = std::max(done, now.value + l1_latency_);
    } else {
      AccessKind kind = e->is_store() ? AccessKind::store : AccessKind::load;
      if (state_.ports.l1d.has_marks() && state_.rights.is_untracked(line))
        kind = e->is_store() ? AccessKind::untracked_store : AccessKind::untracked_load;
      // The core is at another instruction, and may be blocked there.
      const Cycle at = state_.cycle;
      const LineAddr blocked_line = state_.departure.blocked_line;
      const AccessResult result = access_memory(line, kind, now.value);
      if (is_stopped_) return;  // its own task was aborted, and with it what was deferred
      state_.cycle = at;
      state_.departure.blocked_line = blocked_line;
      if (!result.done) {
        is_deferral_blocked_ |= result.blocked == BlockReason::conflict_pending;
        break;
      }
      done = std::max(done, result.cycle.value);
      parts = sum_of(parts, result.parts);
    }
    give_value(*e, done, parts);
    if (e->has_entry)
      (e->is_store() ? stores_ : loads_).add(now, {line, e->address >> 3, Cycle{done}, parts});
    performed_parts_ = parts;
    e = entries.erase(e);
  }
  settle_deferred();
}

void Pipeline::perform_blocked(Cycle now) {
  is_deferral_blocked_ = false;
  std::vector<LineAddr> lines;
  for (const DeferredAccess& e : deferred_.entries()) lines.push_back(e.line);
  for (const LineAddr line : lines) perform(line, now);
}

void Pipeline::perform_at_once(Addr begin, Addr end, Cycle now) {
  if (state_.task.attempt != nullptr || !deferred_.has_any_in(begin, end)) return;
  std::erase_if(deferred_.entries(), [&](const DeferredAccess& e) {
    if (e.address >= end || begin >= e.address + e.insn.bytes) return false;
    give_value(e, now.value, {});
    return true;
  });
  settle_deferred();
}

// What their messages bring stays in the tile, unused (K63).
void Pipeline::cancel_deferred() {
  if (!deferred_.any()) return;
  for (const DeferredAccess& e : deferred_.entries()) drop_deferred(e);
  deferred_.entries().clear();
  is_deferral_blocked_ = false;
  if (state_.in_order) state_.in_order->cancel();
  settle_deferred();
}

void Pipeline::drop_deferred(const DeferredAccess& e) {
  if (e.has_entry) (e.is_store() ? stores_ : loads_).unhold();
  if (!e.is_store()) state_.scoreboard.forget(e.insn.rd);
}

std::size_t Pipeline::log_entries_of(Addr address, unsigned bytes) const {
  const Addr first = address & ~Addr{7}, last = (address + bytes - 1) & ~Addr{7};
  return (is_logged(first) ? 1U : 0U) + (last != first && is_logged(last) ? 1U : 0U);
}

/// They log when they perform, and the room is theirs from now on: a store that had to wait for it then would
/// do so with its line in hand.
std::size_t Pipeline::log_entries_of_deferred() const {
  std::size_t sum = 0;
  for (const DeferredAccess& e : deferred_.entries())
    if (e.is_store()) sum += log_entries_of(e.address, e.insn.bytes);
  return sum;
}

void Pipeline::resume_deferred(Cycle at) {
  std::uint64_t issue = state_.cycle.value;
  state_.stalls.wait(issue, at.value, performed_parts_);
  state_.cycle = Cycle{issue};
}

}  // namespace rubato::chip
