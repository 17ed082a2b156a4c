// When a window core's loads and stores perform, what messages bring, and squashes. See window_core.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "chip/core/access_value.hpp"
#include "chip/core/window/window_core.hpp"

namespace rubato::chip {

using isa::Insn;
using State = WindowEntry::State;

const WindowEntry* WindowCore::older_load_of(const WindowEntry& e, std::uint64_t position,
                                             std::uint64_t& found) const {
  if (!waiting_loads_.may_have(e.address, e.insn.bytes)) return nullptr;
  for (auto i = unresolved_.rbegin(); i != unresolved_.rend(); ++i) {
    const WindowEntry& o = buffer_[*i];
    if (*i >= position || !o.is_load() || o.is_done()) continue;
    if (o.address >= e.address + e.insn.bytes || e.address >= o.address + o.insn.bytes) continue;
    found = *i;
    return &o;
  }
  return nullptr;
}

// Loads of the same bytes perform in the order of the program. A byte is that of the youngest older store in
// the queue, else that in memory: with all of them from the queue the line is not needed.
void WindowCore::try_load(std::uint64_t position, std::uint64_t at, bool is_due) {
  if (is_cancelled_) return;
  WindowEntry& e = buffer_[position];
  if (older_load_of(e, position, e.blocker) != nullptr) {
    e.state = State::behind;
    return;
  }
  if (stores_.may_overlap(e.address, e.insn.bytes)) {
    const QueuedStore* const store = stores_.last_to(e.address, e.insn.bytes, position);
    if (store != nullptr && store->covers(e.address, e.insn.bytes)) {
      e.parts.l1 += state_.l1_latency;
      return end_load(position, at + state_.l1_latency);
    }
  }
  const LineAddr line = line_of(e.address);
  if (at < state_.window.run_end() && state_.ports.l1d.hit(line, false)) {
    e.parts.l1 += state_.l1_latency;
    end_load(position, after_fill(e, line, at));
    return;
  }
  if (!is_due || !state_.window.is_strict(at)) return push({at, e.stamp, position});
  if (port_.hits(line, false, true)) {
    e.parts.l1 += state_.l1_latency;
    return end_load(position, after_fill(e, line, at));
  }
  const AccessResult result = access(line, AccessKind::load, at);
  if (!result.done) {
    state_.departure.stop = PipelineStop::resume;
    e.state = State::waiting;
    e.awaits_decision = result.blocked == BlockReason::conflict_pending;
    is_blocked_ |= e.awaits_decision;
    stats_.begin_miss(at);
    e.asked = at;
    return narrow();
  }
  buffers_.add(buffers_.loads(), at, {line, e.address >> 3, result.cycle, result.parts});
  stats_.miss(at, result.cycle.value);
  e.parts = sum_of(e.parts, result.parts);
  end_load(position, result.cycle.value);
}

/// When the load, which hits at `at`, has its data: with its line, unless a store forwards it.
std::uint64_t WindowCore::after_fill(WindowEntry& e, LineAddr line, std::uint64_t at) {
  const std::uint64_t complete = at + state_.l1_latency;
  if (at >= state_.fills_until) return complete;
  if (stores_.may_be_under_way(e.address, e.insn.bytes, at)) {
    const WrittenStore* const store = stores_.last_written_to(e.address, e.insn.bytes);
    if (store != nullptr && store->done > at && store->covers(e.address, e.insn.bytes)) return complete;
  }
  const AccessBuffer::Entry* const fill = buffers_.fill_of(line);
  if (fill == nullptr || fill->done.value <= complete) return complete;
  e.parts = sum_of(e.parts, fill->parts);
  return fill->done.value;
}

void WindowCore::end_load(std::uint64_t position, std::uint64_t complete) {
  WindowEntry& e = buffer_[position];
  settle(e, position, complete);
  if (!e.is_listed) {
    // The load performs while it is dispatched, and was read before its access. By the access an attempt may
    // have been aborted whose store the load has read.
    if (state_.ports.l1d.has_marks())
      set_value(e, loaded(e.insn.op, seen(e.address, e.insn.bytes, position)));
    return;
  }
  waiting_loads_.remove(e.address, e.insn.bytes);
  const std::uint64_t value = loaded(e.insn.op, seen(e.address, e.insn.bytes, position));
  if (value == e.value) return;
  ++stats_.squashes;
  squash_from(position + 1, e.pc + e.insn.length, complete - 1 + mispredict_);
  set_value(e, value);
}

void WindowCore::try_store(std::size_t index, std::uint64_t at, bool is_due) {
  if (is_cancelled_) return;
  QueuedStore& s = stores_[index];
  if (stores_.has_older_of_line(index)) return;  // goes when that has gone
  if (tasks_.has_lost_page(s)) {
    has_fault_ = true;
    limit_ = 0;
    return;
  }
  if (at < state_.window.run_end() && state_.ports.l1d.hit(s.line(), true))
    return end_store(index, at, store_end(s.line(), at));
  if (!is_due || !state_.window.is_strict(at)) return push({at, s.stamp, 0});
  if (port_.hits(s.line(), true, true)) return end_store(index, at, store_end(s.line(), at));
  const AccessResult result = access(s.line(), AccessKind::store, at);
  if (!result.done) {
    state_.departure.stop = PipelineStop::resume;
    s.awaits_line = true;
    s.awaits_decision = result.blocked == BlockReason::conflict_pending;
    is_blocked_ |= s.awaits_decision;
    return narrow();
  }
  buffers_.add(buffers_.stores(), at, {s.line(), s.address >> 3, result.cycle, result.parts});
  end_store(index, at, result.cycle.value);
}

AccessResult WindowCore::access(LineAddr line, AccessKind kind, std::uint64_t at) {
  const AccessResult result = port_.access(line, port_.unchecked(line, kind), at);
  // Other tasks were aborted: nothing strict passes the next events of their cores.
  if (result.disturbed) limit_ = std::min(limit_, dispatch_end());
  return result;
}

void WindowCore::end_store(std::size_t index, std::uint64_t at, std::uint64_t done) {
  const LineAddr line = stores_[index].line();
  write_out(index, done);
  for (std::size_t i = index; i < stores_.size(); ++i) {
    if (stores_[i].line() != line) continue;
    if (stores_[i].is_committed) try_store(i, std::max(stores_[i].from, at), false);
    return;
  }
}

void WindowCore::write_out(std::size_t index, std::uint64_t done) {
  const QueuedStore s = stores_[index];
  tasks_.write(s.address, s.bytes, s.value);
  stores_.remove(index);
  stores_.add_written({s.address, s.address + s.bytes, s.complete, done}, cycle_);
  last_store_end_ = std::max(last_store_end_, done);
  if (stall_ == Stall::room || stall_ == Stall::older) stall_ = Stall::none;
  if (loads_behind_stores_ != 0) release_loads_behind(s, done);
}

// Released loads perform as actions: a squash by one of them must not happen during a dispatch.
void WindowCore::release_loads_behind(const QueuedStore& store, std::uint64_t done) {
  for (const std::uint64_t position : unresolved_) {
    WindowEntry& e = buffer_[position];
    if (e.awaited_store != store.stamp) continue;
    e.awaited_store = 0;
    --loads_behind_stores_;
    e.floor = std::max(e.floor, done);
    const AccessBuffer::Entry* const fill = buffers_.fill_of(store.line());
    e.parts = sum_of(e.parts, fill != nullptr && fill->done.value == done ? fill->parts : store.waited);
    const std::uint64_t ready = operands_of(e);
    if (ready == kUnknown) continue;
    e.issued = ports_.take(e.insn.cls, ready);
    e.state = State::issued;
    push({e.issued, e.stamp, position});
  }
}

// ---- Squashes ----

void WindowCore::squash_from(std::uint64_t position, Addr pc, std::uint64_t at) {
  std::uint64_t* const regs = state_.hart.registers();
  bool has_flags = false;
  std::uint32_t flags = 0;
  bool keeps = fault_ == WindowFault::squash_keeps_register;
  while (buffer_.tail() > position) {
    const std::uint64_t last = buffer_.tail() - 1;
    const WindowEntry& e = buffer_[last];
    if (e.insn.rd != Insn::kSink) {
      if (!std::exchange(keeps, false)) regs[e.insn.rd] = e.old_value;
      producer_[e.insn.rd] = e.old_producer;
      ready_[e.insn.rd] = e.old_ready != kUnknown ? e.old_ready : buffer_[e.old_producer].complete;
    }
    if (e.has_flags) has_flags = true, flags = e.float_flags;
    if (e.issued != kUnknown && e.issued > now_) ports_.give_back(e.insn.cls, e.issued);
    if (e.is_load()) {
      commits_.drop_load();
      if (!e.is_done()) waiting_loads_.remove(e.address, e.insn.bytes);
      loads_behind_stores_ -= e.awaited_store != 0;
      if (e.state == State::waiting) stats_.end_waiting_miss(e.asked, std::max(e.asked, now_));
    }
    parts_.predictor.set_path(e.path);
    ++stats_.squashed;
    buffer_.drop();
  }
  if (fault_ != WindowFault::squash_keeps_store) stores_.remove_from(position);
  while (!unresolved_.empty() && unresolved_.back() >= position) unresolved_.pop_back();
  if (has_flags && fault_ != WindowFault::squash_keeps_flags)
    state_.hart.fcsr = (state_.hart.fcsr & ~31U) | flags;
  state_.hart.pc = pc;
  parts_.resume.block = nullptr;
  parts_.fetch_line = kNoLine;
  fetch_parts_ = {};
  has_fetch_parts_ = false;
  stall_ = Stall::none;
  needs_strict_ = false;
  cycle_ = std::max(at, now_);
  slots_ = 0;
  limit_ = 0;
}

// ---- Messages ----

bool WindowCore::note_ready(LineAddr line) {
  AccessParts* waited = nullptr;
  for (std::size_t i = 0; i < stores_.size() && waited == nullptr; ++i)
    if (stores_[i].awaits_line && stores_[i].line() == line) waited = &stores_[i].waited;
  for (const std::uint64_t position : unresolved_) {
    WindowEntry& e = buffer_[position];
    if (e.state == State::waiting && line_of(e.address) == line) {
      waited = &e.parts;
      break;
    }
  }
  if (stall_ == Stall::line && awaited_line_ == line) waited = &fetch_parts_, has_fetch_parts_ = true;
  if (waited == nullptr) return false;
  *waited = sum_of(*waited, state_.ports.memory_system.take_waited(state_.core));
  return true;
}

bool WindowCore::perform(LineAddr line, Cycle now) {
  is_called_ = true;
  perform_line(line, now);
  end_call();
  return true;
}

bool WindowCore::perform_blocked(Cycle now) {
  std::vector<LineAddr> lines;
  for (std::size_t i = 0; i < stores_.size(); ++i)
    if (stores_[i].awaits_decision) lines.push_back(stores_[i].line());
  for (const std::uint64_t position : unresolved_)
    if (const WindowEntry& e = buffer_[position]; e.state == State::waiting && e.awaits_decision)
      lines.push_back(line_of(e.address));
  is_blocked_ = false;
  is_called_ = true;
  for (const LineAddr line : lines)
    if (!is_cancelled_) perform_line(line, now);
  end_call();
  return !lines.empty();
}

void WindowCore::cancel(Cycle at) {
  cancelled_at_ = at;
  if (!is_called_) return discard();
  is_cancelled_ = true;
  limit_ = 0;
}

void WindowCore::discard() {
  is_cancelled_ = false;
  now_ = std::max(now_, cancelled_at_.value);
  if (!buffer_.is_empty()) squash_from(buffer_.head(), buffer_.front().pc, now_);
  stores_.clear();
  while (!actions_.empty()) actions_.pop();
  stall_ = Stall::none;
  is_stopping_ = needs_strict_ = is_blocked_ = has_fault_ = has_fetch_parts_ = false;
  fetch_parts_ = {};
  state_.cycle = later(state_.cycle, cancelled_at_);
  syncs_ = true;
}

PipelineStop WindowCore::raise_fault() {
  has_fault_ = false;
  if (!buffer_.is_empty()) squash_from(buffer_.head(), buffer_.front().pc, now_);
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (!tasks_.has_lost_page(stores_[i])) continue;
    state_.departure.leave_with_fault(FaultKind::store_access, stores_[i].address);
    state_.departure.fault.pc = state_.hart.pc;
    stores_.remove(i);
    return PipelineStop::fault;
  }
  // The page has come back.
  for (std::size_t i = 0; i < stores_.size(); ++i)
    if (stores_[i].is_committed && !stores_[i].awaits_line) push({now_, stores_[i].stamp, 0});
  return PipelineStop::resume;
}

void WindowCore::perform_line(LineAddr line, Cycle now) {
  // Nothing of others happens in this cycle before this is done.
  state_.window.begin(now, now, kNever);
  now_ = std::max(now_, now.value);
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (!stores_[i].awaits_line || stores_[i].line() != line) continue;
    stores_[i].awaits_line = stores_[i].awaits_decision = false;
    try_store(i, now.value, true);
    break;
  }
  const std::uint64_t squashes = stats_.squashes;
  for (std::size_t i = 0; i < unresolved_.size() && stats_.squashes == squashes; ++i) {
    const std::uint64_t position = unresolved_[i];
    WindowEntry& e = buffer_[position];
    if (e.state != State::waiting || line_of(e.address) != line) continue;
    stats_.end_waiting_miss(e.asked, std::max(e.asked, now.value));
    e.state = State::issued;
    try_load(position, now.value, true);
  }
  if (resolves_) resolve();
  retire();
  if (stall_ == Stall::line && awaited_line_ == line) {
    stall_ = Stall::none;
    go_to(now.value);
  }
}

bool WindowCore::perform_at_once(Addr begin, Addr end, Cycle now) {
  now_ = std::max(now_, now.value);
  bool has_any = false;
  for (std::uint64_t p = buffer_.head(); p < buffer_.tail() && !has_any; ++p) {
    const WindowEntry& e = buffer_[p];
    has_any =
        (e.is_load() ? !e.is_done() : e.is_store()) && e.address < end && begin < e.address + e.insn.bytes;
  }
  if (has_any) squash_from(buffer_.head(), buffer_.front().pc, std::max(commits_.last(), now_) + mispredict_);
  // A speculative task's stores are not checked yet: they wait for their lines, and find the pages of then.
  return (state_.task.attempt == nullptr && perform_stores(begin, end)) || has_any;
}

void WindowCore::flush(Cycle now) {
  now_ = std::max(now_, now.value);
  if (!buffer_.is_empty()) squash_from(buffer_.head(), buffer_.front().pc, now_);
  perform_stores(0, ~Addr{0});
  stores_.forget_written();  // another program's addresses are other words
  stall_ = Stall::none;
  is_stopping_ = needs_strict_ = false;
  syncs_ = true;
}

bool WindowCore::perform_stores(Addr begin, Addr end) {
  bool has_any = false;
  for (std::size_t i = 0; i < stores_.size();) {
    const QueuedStore s = stores_[i];
    if (!s.is_committed || s.address >= end || begin >= s.address + s.bytes) {
      ++i;
      continue;
    }
    write_out(i, std::max(now_, s.complete));
    has_any = true;
  }
  return has_any;
}

}  // namespace rubato::chip
