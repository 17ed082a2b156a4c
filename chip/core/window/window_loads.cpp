// See window_loads.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_loads.hpp"

#include <algorithm>

#include "chip/core/access_value.hpp"

namespace rubato::chip {

using State = WindowEntry::State;

std::uint64_t WindowLoads::seen(Addr address, unsigned bytes, std::uint64_t position) const {
  const std::uint64_t raw = raw_load(*w_.state.ports.memory, address, bytes);
  return w_.stores.may_overlap(address, bytes) ? w_.stores.overlay(raw, address, bytes, position) : raw;
}

void WindowLoads::dispatch(WindowEntry& e, Addr address) {
  const std::uint64_t position = w_.buffer.tail() - 1;
  e.address = address;
  if (w_.stores.may_overlap(address, e.insn.bytes) ||
      w_.stores.may_be_under_way(address, e.insn.bytes, e.floor))
    order_behind_store(e, position);
  if (w_.issue.issue(e)) {
    e.state = State::issued;
    perform(position, e.issued, w_.is_first_action(e.issued));
  }
  if (e.is_done()) return;
  w_.pending.add(e);
  if (w_.fault == WindowFault::none || ++guesses_ % 3 != 0) return;
  set_value(e, e.value ^ 1);
}

// The load waits for the youngest older store to some of its bytes, as far as that is still on its way. If
// that store has all bytes, its value is forwarded as soon as it is there. If not, no forwarding joins its
// bytes to others: the L1 must have it first, and with it the older stores to the line.
void WindowLoads::order_behind_store(WindowEntry& e, std::uint64_t position) {
  if (const QueuedStore* const store = w_.stores.last_to(e.address, e.insn.bytes, position)) {
    if (!store->covers(e.address, e.insn.bytes)) {
      w_.pending.await_store(e, store->stamp);
    } else if (store->complete == WindowEntry::kUnknown) {
      e.producers[3] = store->position;
    } else {
      e.floor = std::max(e.floor, store->complete);
    }
  } else if (const WrittenStore* const written = w_.stores.last_written_to(e.address, e.insn.bytes)) {
    const bool covers = written->covers(e.address, e.insn.bytes);
    const std::uint64_t floor = covers ? written->complete : written->done;
    if (floor <= e.floor) return;
    e.floor = floor;
    const auto* const fill = w_.buffers.fill_of(line_of(e.address));
    if (fill != nullptr && fill->done.value == floor) e.parts = sum_of(e.parts, fill->parts);
  }
}

// A byte is that of the youngest older store in the queue, else that in memory: with all of them from the
// queue the line is not needed.
void WindowLoads::perform(std::uint64_t position, std::uint64_t at, bool is_due) {
  if (w_.is_cancelled) return;
  WindowEntry& e = w_.buffer[position];
  if (const std::uint64_t older = w_.pending.older_load_of(e, position); older != 0) {
    e.blocker = older;
    e.state = State::behind;
    return;
  }
  PipelineState& state = w_.state;
  if (w_.stores.may_overlap(e.address, e.insn.bytes)) {
    const QueuedStore* const store = w_.stores.last_to(e.address, e.insn.bytes, position);
    if (store != nullptr && store->covers(e.address, e.insn.bytes)) {
      e.parts.l1 += state.l1_latency;
      return end(position, at + state.l1_latency);
    }
  }
  const LineAddr line = line_of(e.address);
  if (at < state.window.run_end() && state.ports.l1d.hit(line, false)) {
    e.parts.l1 += state.l1_latency;
    return end(position, after_fill(e, line, at));
  }
  if (!is_due || !state.window.is_strict(at)) return w_.add_action({at, e.stamp, position});
  if (w_.port.hits(line, false, true)) {
    e.parts.l1 += state.l1_latency;
    return end(position, after_fill(e, line, at));
  }
  const AccessResult result = w_.access(line, AccessKind::load, at);
  if (!result.done) {
    state.departure.stop = PipelineStop::resume;
    e.state = State::waiting;
    e.awaits_decision = result.blocked == BlockReason::conflict_pending;
    w_.is_blocked |= e.awaits_decision;
    w_.stats.begin_miss(at);
    e.asked = at;
    return w_.narrow();
  }
  w_.buffers.add(w_.buffers.loads(), at, {line, e.address >> 3, result.cycle, result.parts});
  w_.stats.miss(at, result.cycle.value);
  e.parts = sum_of(e.parts, result.parts);
  end(position, result.cycle.value);
}

/// When the load, which hits at `at`, has its data: with its line, unless a store forwards it.
std::uint64_t WindowLoads::after_fill(WindowEntry& e, LineAddr line, std::uint64_t at) {
  const std::uint64_t complete = at + w_.state.l1_latency;
  if (at >= w_.state.fills_until) return complete;
  if (w_.stores.may_be_under_way(e.address, e.insn.bytes, at)) {
    const WrittenStore* const store = w_.stores.last_written_to(e.address, e.insn.bytes);
    if (store != nullptr && store->done > at && store->covers(e.address, e.insn.bytes)) return complete;
  }
  const AccessBuffer::Entry* const fill = w_.buffers.fill_of(line);
  if (fill == nullptr || fill->done.value <= complete) return complete;
  e.parts = sum_of(e.parts, fill->parts);
  return fill->done.value;
}

void WindowLoads::end(std::uint64_t position, std::uint64_t complete) {
  WindowEntry& e = w_.buffer[position];
  w_.issue.settle(e, position, complete);
  if (!e.is_listed) {
    // The load performs while it is dispatched, and was read before its access. By the access an attempt may
    // have been aborted whose store the load has read.
    if (w_.state.ports.l1d.has_marks())
      set_value(e, loaded(e.insn.op, seen(e.address, e.insn.bytes, position)));
    return;
  }
  w_.pending.end_load(e);
  const std::uint64_t value = loaded(e.insn.op, seen(e.address, e.insn.bytes, position));
  if (value == e.value) return;
  ++w_.stats.squashes;
  squash_.from(position + 1, e.pc + e.insn.length, complete - 1 + w_.pipeline.mispredict);
  set_value(e, value);
}

void WindowLoads::act(const WindowAction& action) {
  if (!w_.buffer.has(action.position)) return;
  const WindowEntry& e = w_.buffer[action.position];
  if (e.stamp == action.stamp && e.state == State::issued) perform(action.position, action.at, true);
}

// Released loads perform as actions: a squash by one of them must not happen during a dispatch.
void WindowLoads::release_behind(const QueuedStore& store, std::uint64_t done) {
  if (!w_.pending.any_behind_stores()) return;
  for (const std::uint64_t position : w_.pending) {
    WindowEntry& e = w_.buffer[position];
    if (e.awaited_store != store.stamp) continue;
    w_.pending.end_wait_for_store(e);
    e.floor = std::max(e.floor, done);
    const AccessBuffer::Entry* const fill = w_.buffers.fill_of(store.line());
    e.parts = sum_of(e.parts, fill != nullptr && fill->done.value == done ? fill->parts : store.waited);
    if (!w_.issue.issue(e)) continue;
    e.state = State::issued;
    w_.add_action({e.issued, e.stamp, position});
  }
}

AccessParts* WindowLoads::awaiting(LineAddr line) {
  for (const std::uint64_t position : w_.pending) {
    WindowEntry& e = w_.buffer[position];
    if (e.state == State::waiting && line_of(e.address) == line) return &e.parts;
  }
  return nullptr;
}

void WindowLoads::list_blocked(std::vector<LineAddr>& lines) const {
  for (const std::uint64_t position : w_.pending) {
    const WindowEntry& e = w_.buffer[position];
    if (e.state == State::waiting && e.awaits_decision) lines.push_back(line_of(e.address));
  }
}

void WindowLoads::perform_line(LineAddr line, std::uint64_t at) {
  const std::uint64_t squashes = w_.stats.squashes;
  for (std::size_t i = 0; i < w_.pending.size() && w_.stats.squashes == squashes; ++i) {
    const std::uint64_t position = w_.pending[i];
    WindowEntry& e = w_.buffer[position];
    if (e.state != State::waiting || line_of(e.address) != line) continue;
    w_.stats.end_waiting_miss(e.asked, std::max(e.asked, at));
    e.state = State::issued;
    perform(position, at, true);
  }
}

}  // namespace rubato::chip
