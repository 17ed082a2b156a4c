// A window core's loop, dispatch and times. See window_core.hpp; what instructions do is in
// window_dispatch.cpp, accesses and squashes are in window_accesses.cpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_core.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "chip/core/access_value.hpp"

namespace rubato::chip {

using isa::Insn;
using State = WindowEntry::State;

std::unique_ptr<CoreModel> make_window_core(const Config& config, PipelineParts& parts) {
  return std::make_unique<WindowCore>(config, parts);
}

void inject(CoreModel& model, WindowFault fault) {
  if (auto* const window = dynamic_cast<WindowCore*>(&model)) window->inject(fault);
}

WindowCore::WindowCore(const Config& config, PipelineParts& parts)
    : state_(parts.state),
      parts_(parts),
      lsu_(parts.lsu),
      port_(parts.lsu.port()),
      buffers_(parts.lsu.buffers()),
      latency_(parts.latency),
      width_(config.core.width),
      mispredict_(config.core.mispredict),
      store_entries_(config.core.store_buffer),
      frequency_mhz_(config.chip.frequency_mhz),
      buffer_(config.core.rob),
      ports_(config.core),
      commits_(config.core),
      stores_(config.core.store_buffer),
      tasks_(state_, lsu_.log()) {
  unresolved_.reserve(config.core.rob);
  lsu_.deferrals().never_defer();
}

// ---- Running ----

PipelineStop WindowCore::run(Cycle now, Cycle next_other, Cycle pause_at) {
  is_called_ = true;
  const PipelineStop stop = run_on(now, next_other, pause_at);
  if (!is_cancelled_) {
    is_called_ = false;
    return stop;
  }
  end_call();
  return state_.departure.stop = PipelineStop::blocked;
}

PipelineStop WindowCore::run_on(Cycle now, Cycle next_other, Cycle pause_at) {
  state_.window.begin(now, next_other, pause_at);
  state_.departure.stop = PipelineStop::resume;
  state_.ports.blocks.synchronize();
  now_ = now.value;
  if (std::exchange(syncs_, false)) {
    cycle_ = state_.cycle.value;
    slots_ = 0;
    commits_.begin(cycle_);
    ready_.fill(0);
    parts_.resume.block = nullptr;
    parts_.fetch_line = kNoLine;
    if (state_.ports.instructions != nullptr)
      std::copy_n(state_.hart.registers(), committed_.size(), committed_.begin());
  }
  const auto leave = [this](PipelineStop stop) {
    state_.cycle = Cycle{cycle_};
    syncs_ = true;
    return state_.departure.stop = stop;
  };
  while (!is_cancelled_) {
    if (has_fault_) {
      if (const PipelineStop stop = raise_fault(); stop != PipelineStop::resume) return leave(stop);
    }
    const std::uint64_t next = actions_.empty() ? kUnknown : actions_.top().at;
    const bool is_due = next != kUnknown && state_.window.is_strict(next);
    if (is_due && (next <= cycle_ || !can_dispatch())) {
      const Action action = actions_.top();
      actions_.pop();
      act(action);
      continue;
    }
    if (is_stopping_ && !is_busy()) {
      is_stopping_ = false;
      go_to(std::max(commits_.last(), last_store_end_));
      return leave(PipelineStop::drained);
    }
    if (can_dispatch() && cycle_ < dispatch_end()) {
      limit_ = is_due ? std::min(next, dispatch_end()) : dispatch_end();
      if (const PipelineStop stop = dispatch(); stop != PipelineStop::resume) return leave(stop);
      continue;
    }
    const std::uint64_t then = std::min(next, can_dispatch() ? cycle_ : kUnknown);
    if (then == kUnknown) {
      state_.cycle = Cycle{now_};
      return state_.departure.stop = PipelineStop::deferred;
    }
    state_.cycle = Cycle{then};
    return state_.departure.stop = PipelineStop::resume;
  }
  return PipelineStop::blocked;
}

CoreModel::Leaving WindowCore::begin_leaving() {
  is_stopping_ = is_busy();
  return is_stopping_ ? Leaving::drains : Leaving::now;
}

void WindowCore::act(const Action& action) {
  now_ = std::max(now_, action.at);
  if (action.position == 0) {
    if (const std::size_t i = stores_.find(action.stamp); i < stores_.size() && !stores_[i].awaits_line)
      try_store(i, action.at, true);
  } else if (buffer_.has(action.position)) {
    if (const WindowEntry& e = buffer_[action.position]; e.stamp == action.stamp && e.state == State::issued)
      try_load(action.position, action.at, true);
  }
  if (resolves_) resolve();
  retire();
}

void WindowCore::push(const Action& action) {
  actions_.push(action);
  if (state_.window.is_strict(action.at)) limit_ = std::min(limit_, action.at);
}

void WindowCore::narrow() {
  if (state_.ports.timeline != nullptr) state_.window.narrow(state_.ports.timeline->next());
  limit_ = std::min(limit_, dispatch_end());
}

// ---- Dispatch ----

bool WindowCore::make_room(const Insn& insn) {
  if (slots_ == width_) go_to(cycle_ + 1);
  if (insn.cls >= isa::InsnClass::fence || insn.cls == isa::InsnClass::atomic) return true;  // goes alone
  if (buffer_.is_full()) {
    stall_ = Stall::room;
    return false;
  }
  if (const std::uint64_t free = commits_.free_from(buffer_.tail()); free > cycle_) {
    stats_.stalls_rob += free - cycle_;
    go_to(free);
  }
  if (insn.cls == isa::InsnClass::store) return make_store_room();
  if (insn.cls != isa::InsnClass::load) return true;
  if (commits_.has_all_loads()) {
    stall_ = Stall::room;
    return false;
  }
  if (const std::uint64_t free = commits_.load_free_from(); free > cycle_) {
    stats_.stalls_lsq += free - cycle_;
    go_to(free);
  }
  return true;
}

bool WindowCore::make_store_room() {
  while (stores_.size() + stores_.written() >= store_entries_) {
    stores_.release(cycle_);
    if (stores_.size() + stores_.written() < store_entries_) return true;
    if (stores_.written() == 0) {
      stall_ = Stall::room;
      return false;
    }
    const std::uint64_t free = stores_.next_done();
    stats_.stalls_lsq += free - cycle_;
    go_to(free);
  }
  return true;
}

bool WindowCore::is_alone(bool stores) {
  if (!buffer_.is_empty() || (stores && !stores_.empty())) {
    stall_ = Stall::older;
    return false;
  }
  go_to(std::max({now_, commits_.last(), stores ? last_store_end_ : 0}));
  needs_strict_ = !state_.window.is_strict(cycle_);
  return !needs_strict_;
}

bool WindowCore::fetch(LineAddr line) {
  go_to(now_);
  needs_strict_ = !state_.window.is_strict(cycle_);
  if (needs_strict_) return false;
  const AccessResult result = port_.access(line, AccessKind::fetch, cycle_);
  if (!result.done) {
    left();
    return false;
  }
  fetch_parts_ = sum_of(fetch_parts_, result.parts);
  has_fetch_parts_ = true;
  go_to(result.cycle.value);
  return true;
}

PipelineStop WindowCore::left() {
  const PipelineStop why = std::exchange(state_.departure.stop, PipelineStop::resume);
  // On a conflict only an access that goes alone is blocked here, or one that has aborted its own task.
  if (why == PipelineStop::blocked && state_.departure.blocked_by == BlockReason::conflict_pending)
    return why;
  if (why == PipelineStop::blocked) {
    stall_ = Stall::line;
    awaited_line_ = state_.departure.blocked_line;
    narrow();
    return PipelineStop::resume;
  }
  if (why == PipelineStop::resume) needs_strict_ = true;
  return why;
}

WindowEntry& WindowCore::add(const Insn& insn, Addr pc, std::uint64_t old_value) {
  const std::uint64_t position = buffer_.tail();
  WindowEntry& e = buffer_[position];
  e.insn = insn;
  e.pc = pc;
  e.value = state_.hart.registers()[insn.rd];
  e.old_value = old_value;
  e.old_ready = ready_[insn.rd];
  e.old_producer = producer_[insn.rd];
  e.dispatched = cycle_;
  e.issued = e.complete = kUnknown;
  e.stamp = ++stamp_;
  e.parts = has_fetch_parts_ ? std::exchange(fetch_parts_, {}) : AccessParts{};
  has_fetch_parts_ = false;
  e.path = parts_.predictor.path();
  e.state = State::hangs;
  e.awaits_decision = e.is_listed = e.is_alone = e.is_mispredicted = e.has_flags = false;
  e.floor = cycle_ + 1;
  e.awaited_store = 0;
  unsigned n = 0;
  e.producers = {};
  for (const unsigned r : {unsigned{insn.rs1}, unsigned{insn.rs2}, unsigned{insn.rs3}}) {
    if (ready_[r] == kUnknown) {
      e.producers[n++] = producer_[r];
    } else {
      e.floor = std::max(e.floor, ready_[r]);
    }
  }
  if (insn.rd != Insn::kSink) {
    ready_[insn.rd] = kUnknown;
    producer_[insn.rd] = position;
  }
  if (insn.cls == isa::InsnClass::load) commits_.add_load();
  ++slots_;
  needs_strict_ = false;
  buffer_.add();
  return e;
}

void WindowCore::schedule(WindowEntry& e) {
  const std::uint64_t ready = operands_of(e);
  if (ready == kUnknown) return list(e);
  e.issued = ports_.take(e.insn.cls, ready);
  settle(e, buffer_.tail() - 1, e.issued + latency_[static_cast<unsigned>(e.insn.cls)]);
}

std::uint64_t WindowCore::issue_now(const Insn& insn) { return ports_.take(insn.cls, operands_now(insn)); }

void WindowCore::pass(const Insn& insn, std::uint64_t complete) {
  const std::uint64_t at = commits_.of(complete);
  if (at > commits_.last() + 1 && has_fetch_parts_) {
    state_.stalls.charge(fetch_parts_, at - commits_.last() - 1);
  }
  if (std::exchange(has_fetch_parts_, false)) fetch_parts_ = {};
  commit(buffer_.tail(), at, cycle_);
  if (insn.rd != Insn::kSink) ready_[insn.rd] = complete;
  buffer_.pass();
  ++slots_;
  needs_strict_ = false;
}

bool WindowCore::pass_load(const Insn& insn, Addr address) {
  if (stores_.may_overlap(address, insn.bytes)) return false;
  std::uint64_t ready = operands_now(insn);
  if (stores_.may_be_under_way(address, insn.bytes, ready)) [[unlikely]] {
    if (const WrittenStore* const store = stores_.last_written_to(address, insn.bytes)) {
      if (!store->covers(address, insn.bytes)) return false;
      ready = std::max(ready, store->complete);
    }
  }
  const std::uint64_t issue = ports_.take(insn.cls, ready);
  if (issue >= state_.fills_until && issue < state_.window.run_end() &&
      state_.ports.l1d.hit(line_of(address), false)) {
    const std::uint64_t complete = issue + state_.l1_latency;
    if (const std::uint64_t at = commits_.of(complete); at > commits_.last() + 1)
      state_.stalls.charge(CyclePart::l1,
                           std::min<std::uint64_t>(at - commits_.last() - 1, state_.l1_latency));
    pass(insn, complete);
    commits_.add_load();
    commits_.commit_load();
    ++parts_.counters.loads;
    return true;
  }
  ports_.give_back(insn.cls, issue);
  return false;
}

bool WindowCore::pass_store(const Insn& insn, Addr address, std::uint64_t value) {
  if (!stores_.empty()) return false;
  const std::uint64_t issue = issue_now(insn), at = commits_.of(issue + 1);
  if (at < state_.window.run_end() && state_.ports.l1d.hit(line_of(address), true)) {
    pass(insn, issue + 1);
    tasks_.write(address, insn.bytes, value);
    const std::uint64_t done = store_end(line_of(address), at);
    stores_.add_written({address, address + insn.bytes, issue + 1, done}, cycle_);
    last_store_end_ = std::max(last_store_end_, done);
    ++parts_.counters.stores;
    return true;
  }
  ports_.give_back(insn.cls, issue);
  return false;
}

void WindowCore::list(WindowEntry& e) {
  e.is_listed = true;
  unresolved_.push_back(buffer_.tail() - 1);
}

void WindowCore::finish_load(WindowEntry& e, Addr address) {
  const std::uint64_t position = buffer_.tail() - 1;
  e.address = address;
  if (stores_.may_overlap(address, e.insn.bytes) || stores_.may_be_under_way(address, e.insn.bytes, e.floor))
    order_behind_store(e, position);
  if (const std::uint64_t ready = operands_of(e); ready != kUnknown) {
    e.issued = ports_.take(e.insn.cls, ready);
    e.state = State::issued;
    try_load(position, e.issued,
             e.issued <= cycle_ + 1 && (actions_.empty() || actions_.top().at >= e.issued));
  }
  if (e.is_done()) return;
  list(e);
  waiting_loads_.add(address, e.insn.bytes);
  if (fault_ == WindowFault::none || ++guesses_ % 3 != 0) return;
  e.value ^= 1;
  state_.hart.registers()[e.insn.rd] ^= 1;
}

// The youngest store decides. If it has all bytes, its value is forwarded as soon as it is there. If not, no
// forwarding joins its bytes to others: the L1 must have it first, and with it the older stores to the line.
void WindowCore::order_behind_store(WindowEntry& e, std::uint64_t position) {
  if (const QueuedStore* const store = stores_.last_to(e.address, e.insn.bytes, position)) {
    if (!store->covers(e.address, e.insn.bytes)) {
      e.awaited_store = store->stamp;
      ++loads_behind_stores_;
    } else if (store->complete == kUnknown) {
      e.producers[3] = store->position;
    } else {
      e.floor = std::max(e.floor, store->complete);
    }
  } else if (const WrittenStore* const written = stores_.last_written_to(e.address, e.insn.bytes)) {
    const bool covers = written->covers(e.address, e.insn.bytes);
    const std::uint64_t floor = covers ? written->complete : written->done;
    if (floor <= e.floor) return;
    e.floor = floor;
    const auto* const fill = buffers_.fill_of(line_of(e.address));
    if (fill != nullptr && fill->done.value == floor) e.parts = sum_of(e.parts, fill->parts);
  }
}

void WindowCore::finish_store(WindowEntry& e, Addr address, std::uint64_t value) {
  e.address = address;
  stores_.add({.position = buffer_.tail() - 1,
               .stamp = e.stamp,
               .address = address,
               .value = value,
               .bytes = e.insn.bytes});
  schedule(e);
}

void WindowCore::finish_alone(WindowEntry& e, const IssueSlot& slot) {
  e.issued = cycle_;
  e.is_alone = true;
  if (slot.source == ResultSource::access) e.parts = sum_of(e.parts, *slot.parts);
  if (e.is_store()) {  // to two lines
    const Addr end = e.address + e.insn.bytes;
    const std::uint64_t done =
        store_end(line_of(end - 1), store_end(line_of(e.address), std::max(slot.done, commits_.last())));
    stores_.add_written({e.address, end, slot.done, done}, cycle_);
    last_store_end_ = std::max(last_store_end_, done);
  }
  settle(e, buffer_.tail() - 1, slot.done);
  retire();
  go_to(std::max(cycle_ + 1, commits_.last()));
}

void WindowCore::finish_jump(const WindowEntry& e) {
  if (!e.is_mispredicted) return;
  if (e.is_done()) return go_to(e.complete - 1 + mispredict_);
  stall_ = Stall::branch;
  branch_ = buffer_.tail() - 1;
}

std::uint64_t WindowCore::seen(Addr address, unsigned bytes, std::uint64_t position) const {
  const std::uint64_t raw = raw_load(state_.ports.memory, address, bytes);
  return stores_.may_overlap(address, bytes) ? stores_.overlay(raw, address, bytes, position) : raw;
}

// ---- Time ----

std::uint64_t WindowCore::operands_of(const WindowEntry& e) const {
  if (e.awaited_store != 0) return kUnknown;
  std::uint64_t ready = e.floor;
  for (const std::uint64_t producer : e.producers)
    if (producer != 0) ready = std::max(ready, buffer_[producer].complete);
  return ready;
}

void WindowCore::settle(WindowEntry& e, std::uint64_t position, std::uint64_t complete) {
  e.complete = complete;
  e.state = State::done;
  if (e.insn.rd != Insn::kSink && producer_[e.insn.rd] == position) ready_[e.insn.rd] = complete;
  if (!e.is_listed) return;
  resolves_ = true;
  if (stall_ != Stall::branch || branch_ != position) return;
  stall_ = Stall::none;
  go_to(complete - 1 + mispredict_);
}

// In the order of the program, so that one pass knows all that has become known.
void WindowCore::resolve() {
  while (std::exchange(resolves_, false)) {
    const std::uint64_t squashes = stats_.squashes;
    for (std::size_t i = 0; i < unresolved_.size() && stats_.squashes == squashes; ++i) {
      const std::uint64_t position = unresolved_[i];
      WindowEntry& e = buffer_[position];
      if (e.state == State::hangs) {
        const std::uint64_t ready = operands_of(e);
        if (ready == kUnknown) continue;
        e.issued = ports_.take(e.insn.cls, ready);
        if (!e.is_load()) {
          settle(e, position, e.issued + latency_[static_cast<unsigned>(e.insn.cls)]);
          continue;
        }
        e.state = State::issued;
        try_load(position, e.issued, false);
      } else if (e.state == State::behind && buffer_[e.blocker].is_done()) {
        e.state = State::issued;
        try_load(position, std::max(e.issued, now_), false);
      }
    }
    std::erase_if(unresolved_, [this](std::uint64_t position) { return buffer_[position].is_done(); });
    if (stats_.squashes == squashes) resolves_ = false;
  }
}

void WindowCore::retire() {
  if (buffer_.is_empty() || !buffer_.front().is_done()) return;
  while (!buffer_.is_empty() && buffer_.front().is_done() && !is_cancelled_) {
    WindowEntry& e = buffer_.front();
    const std::uint64_t at = commits_.of(e.complete);
    if (at > commits_.last() + 1) state_.stalls.charge(e.parts, at - commits_.last() - 1);
    commit(buffer_.head(), at, e.dispatched);
    if (state_.ports.instructions != nullptr) observe(e);
    if (state_.ports.observer != nullptr && !e.is_alone) [[unlikely]]
      report_access(e);
    const std::uint64_t position = buffer_.head();
    buffer_.retire();
    switch (e.insn.cls) {
      case isa::InsnClass::load:
        commits_.commit_load();
        ++parts_.counters.loads;
        break;
      case isa::InsnClass::store:
        ++parts_.counters.stores;
        if (!e.is_alone) {
          const std::size_t i = stores_.find_position(position);
          stores_[i].is_committed = true;
          stores_[i].from = at;
          stores_[i].complete = e.complete;
          try_store(i, at, at <= cycle_ + 1 && (actions_.empty() || actions_.top().at >= at));
        }
        break;
      case isa::InsnClass::branch:
      case isa::InsnClass::jump_indirect:
        ++parts_.counters.branches;
        parts_.counters.mispredicts += e.is_mispredicted;
        break;
      default:
        break;
    }
  }
  if (stall_ == Stall::room || stall_ == Stall::older) stall_ = Stall::none;
}

void WindowCore::report_access(const WindowEntry& e) const {
  const unsigned bytes = e.insn.bytes;
  if (e.is_store()) report(&ExecutionObserver::on_store, e.address, bytes);
  if (!e.is_load()) return;
  const std::uint64_t raw = bytes < 8 ? e.value & ((std::uint64_t{1} << bytes * 8) - 1) : e.value;
  report(&ExecutionObserver::on_load, e.address, bytes, raw);
}

void WindowCore::observe(const WindowEntry& e) {
  committed_[e.insn.rd] = e.value;
  const bool has_access = e.insn.bytes != 0;
  state_.ports.instructions->on_instruction({.core = state_.core,
                                             .issued = Cycle{e.issued},
                                             .pc = e.pc,
                                             .insn = e.insn,
                                             .registers = committed_.data(),
                                             .address = has_access ? e.address : 0,
                                             .has_access = has_access});
}

}  // namespace rubato::chip
