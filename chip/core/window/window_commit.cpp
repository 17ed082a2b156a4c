// See window_commit.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_commit.hpp"

#include <algorithm>

namespace rubato::chip {

using isa::Insn;

void WindowCommit::retire() {
  if (w_.buffer.is_empty() || !w_.buffer.front().is_done()) return;
  while (!w_.buffer.is_empty() && w_.buffer.front().is_done() && !w_.is_cancelled) {
    WindowEntry& e = w_.buffer.front();
    const std::uint64_t at = w_.commits.of(e.complete), last = w_.commits.last();
    if (at > last + 1) w_.state.stalls.charge(e.parts, at - last - 1);
    const std::uint64_t position = w_.buffer.head();
    commit(position, at, e.dispatched);
    w_.reports.commit(e);
    w_.buffer.retire();
    leave(e, position, at);
  }
  w_.point.end_wait_for_older();
}

/// Counts the instruction, which has left the buffer, and hands a store over.
void WindowCommit::leave(const WindowEntry& e, std::uint64_t position, std::uint64_t at) {
  PipelineCounters& counters = w_.pipeline.counters;
  switch (e.insn.cls) {
    case isa::InsnClass::load:
      w_.commits.commit_load();
      ++counters.loads;
      break;
    case isa::InsnClass::store:
      ++counters.stores;
      if (!e.is_alone) stores_.commit(position, at, e.complete);
      break;
    case isa::InsnClass::branch:
    case isa::InsnClass::jump_indirect:
      ++counters.branches;
      counters.mispredicts += e.is_mispredicted;
      break;
    default:
      break;
  }
}

std::uint64_t WindowCommit::pass(const Insn& insn) {
  const std::uint64_t issue = w_.issue.take_port(insn, w_.issue.operands_now(insn, w_.point.cycle()));
  const std::uint64_t complete = issue + w_.issue.latency_of(insn);
  pass(insn, complete);
  return complete;
}

void WindowCommit::pass_jump(const Insn& insn, bool is_predicted) {
  const std::uint64_t complete = pass(insn);
  PipelineCounters& counters = w_.pipeline.counters;
  ++counters.branches;
  if (is_predicted) return;
  ++counters.mispredicts;
  w_.point.mispredict(complete);
}

void WindowCommit::pass(const Insn& insn, std::uint64_t complete) {
  const std::uint64_t at = w_.commits.of(complete), last = w_.commits.last();
  if (w_.point.has_fetch_parts()) [[unlikely]] {
    if (at > last + 1) w_.state.stalls.charge(w_.point.fetch_parts(), at - last - 1);
    w_.point.forget_fetch();
  }
  commit(w_.buffer.tail(), at, w_.point.cycle());
  w_.issue.write(insn, complete);
  w_.buffer.pass();
  w_.point.use_slot();
}

bool WindowCommit::pass_load(const Insn& insn, Addr address) {
  if (w_.stores.may_overlap(address, insn.bytes)) return false;
  std::uint64_t ready = w_.issue.operands_now(insn, w_.point.cycle());
  if (w_.stores.may_be_under_way(address, insn.bytes, ready)) [[unlikely]] {
    if (const WrittenStore* const store = w_.stores.last_written_to(address, insn.bytes)) {
      if (!store->covers(address, insn.bytes)) return false;
      ready = std::max(ready, store->complete);
    }
  }
  PipelineState& state = w_.state;
  const std::uint64_t issue = w_.issue.take_port(insn, ready);
  if (issue < state.fills_until || issue >= state.window.run_end() ||
      !state.ports.l1d.hit(line_of(address), false)) {
    w_.issue.give_back(insn, issue);
    return false;
  }
  const std::uint64_t complete = issue + state.l1_latency;
  if (const std::uint64_t at = w_.commits.of(complete), last = w_.commits.last(); at > last + 1)
    state.stalls.charge(CyclePart::l1, std::min<std::uint64_t>(at - last - 1, state.l1_latency));
  pass(insn, complete);
  w_.commits.add_load();
  w_.commits.commit_load();
  ++w_.pipeline.counters.loads;
  return true;
}

bool WindowCommit::pass_store(const Insn& insn, Addr address, std::uint64_t value) {
  if (!w_.stores.empty()) return false;
  const std::uint64_t issue = w_.issue.take_port(insn, w_.issue.operands_now(insn, w_.point.cycle()));
  const std::uint64_t complete = issue + 1, at = w_.commits.of(complete);
  if (at >= w_.state.window.run_end() || !w_.state.ports.l1d.hit(line_of(address), true)) {
    w_.issue.give_back(insn, issue);
    return false;
  }
  pass(insn, complete);
  stores_.write(address, insn.bytes, value, complete, stores_.end_of(line_of(address), at));
  ++w_.pipeline.counters.stores;
  return true;
}

}  // namespace rubato::chip
