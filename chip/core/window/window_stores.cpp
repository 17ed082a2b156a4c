// See window_stores.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_stores.hpp"

#include <algorithm>

namespace rubato::chip {

void WindowStores::note_alone(const WindowEntry& e, std::uint64_t complete) {
  const Addr end = e.address + e.insn.bytes;
  const std::uint64_t first = end_of(line_of(e.address), std::max(complete, w_.commits.last()));
  note_written({e.address, end, complete, end_of(line_of(end - 1), first)});
}

void WindowStores::commit(std::uint64_t position, std::uint64_t at, std::uint64_t complete) {
  const std::size_t index = w_.stores.find_position(position);
  QueuedStore& s = w_.stores[index];
  s.is_committed = true;
  s.from = at;
  s.complete = complete;
  perform(index, at, w_.is_first_action(at));
}

void WindowStores::act(const WindowAction& action) {
  const std::size_t index = w_.stores.find(action.stamp);
  if (index < w_.stores.size() && !w_.stores[index].awaits_line) perform(index, action.at, true);
}

void WindowStores::perform(std::size_t index, std::uint64_t at, bool is_due) {
  if (w_.is_cancelled) return;
  QueuedStore& s = w_.stores[index];
  if (w_.stores.has_older_of_line(index)) return;  // goes when that has gone
  if (w_.tasks.has_lost_page(s)) {
    has_fault_ = true;
    w_.point.set_limit(0);
    return;
  }
  if (at < w_.state.window.run_end() && w_.state.ports.l1d.hit(s.line(), true))
    return end(index, at, end_of(s.line(), at));
  if (!is_due || !w_.state.window.is_strict(at)) return w_.add_action({at, s.stamp, 0});
  if (w_.port.hits(s.line(), true, true)) return end(index, at, end_of(s.line(), at));
  const AccessResult result = w_.access(s.line(), AccessKind::store, at);
  if (!result.done) {
    w_.state.departure.stop = PipelineStop::resume;
    s.awaits_line = true;
    s.awaits_decision = result.blocked == BlockReason::conflict_pending;
    w_.is_blocked |= s.awaits_decision;
    return w_.narrow();
  }
  w_.buffers.add(w_.buffers.stores(), at, {s.line(), s.address >> 3, result.cycle, result.parts});
  end(index, at, result.cycle.value);
}

void WindowStores::end(std::size_t index, std::uint64_t at, std::uint64_t done) {
  const LineAddr line = w_.stores[index].line();
  write_out(index, done);
  for (std::size_t i = index; i < w_.stores.size(); ++i) {
    const QueuedStore& next = w_.stores[i];
    if (next.line() != line) continue;
    if (next.is_committed) perform(i, std::max(next.from, at), false);
    return;
  }
}

void WindowStores::write_out(std::size_t index, std::uint64_t done) {
  const QueuedStore s = w_.stores[index];
  w_.tasks.write(s.address, s.bytes, s.value);
  w_.stores.remove(index);
  note_written({s.address, s.address + s.bytes, s.complete, done});
  w_.point.end_wait_for_older();
  loads_.release_behind(s, done);
}

bool WindowStores::perform_all(Addr begin, Addr end) {
  bool has_any = false;
  for (std::size_t i = 0; i < w_.stores.size();) {
    const QueuedStore& s = w_.stores[i];
    if (!s.is_committed || s.address >= end || begin >= s.address + s.bytes) {
      ++i;
      continue;
    }
    write_out(i, std::max(w_.now, s.complete));
    has_any = true;
  }
  return has_any;
}

PipelineStop WindowStores::raise_fault() {
  has_fault_ = false;
  for (std::size_t i = 0; i < w_.stores.size(); ++i) {
    if (!w_.tasks.has_lost_page(w_.stores[i])) continue;
    w_.state.departure.leave_with_fault(FaultKind::store_access, w_.stores[i].address);
    w_.state.departure.fault.pc = w_.state.hart.pc;
    w_.stores.remove(i);
    return PipelineStop::fault;
  }
  for (std::size_t i = 0; i < w_.stores.size(); ++i)
    if (w_.stores[i].is_committed && !w_.stores[i].awaits_line)
      w_.add_action({w_.now, w_.stores[i].stamp, 0});
  return PipelineStop::resume;
}

AccessParts* WindowStores::awaiting(LineAddr line) {
  for (std::size_t i = 0; i < w_.stores.size(); ++i)
    if (w_.stores[i].awaits_line && w_.stores[i].line() == line) return &w_.stores[i].waited;
  return nullptr;
}

void WindowStores::list_blocked(std::vector<LineAddr>& lines) const {
  for (std::size_t i = 0; i < w_.stores.size(); ++i)
    if (w_.stores[i].awaits_decision) lines.push_back(w_.stores[i].line());
}

void WindowStores::perform_line(LineAddr line, std::uint64_t at) {
  for (std::size_t i = 0; i < w_.stores.size(); ++i) {
    QueuedStore& s = w_.stores[i];
    if (!s.awaits_line || s.line() != line) continue;
    s.awaits_line = s.awaits_decision = false;
    return perform(i, at, true);
  }
}

}  // namespace rubato::chip
