// The issue of a window core's instructions (K68): the first cycle with a port, once all operands are there.
// An instruction with an operand of unknown time is listed. When a listed instruction's completion becomes
// known, younger ones may be able to issue: the core goes through the list from there on.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "chip/config/config.hpp"
#include "chip/core/latencies.hpp"
#include "chip/core/window/dispatch_point.hpp"
#include "chip/core/window/issue_ports.hpp"
#include "chip/core/window/pending_entries.hpp"
#include "chip/core/window/register_times.hpp"
#include "chip/core/window/reorder_buffer.hpp"
#include "chip/isa/insn.hpp"

namespace rubato::chip {

class WindowIssue {
 public:
  /// All outlive this.
  WindowIssue(const CoreSection& core, ReorderBuffer& buffer, PendingEntries& pending, DispatchPoint& point)
      : buffer_(buffer), pending_(pending), point_(point), ports_(core), latency_(latencies_of(core)) {}

  /// Another context begins.
  void begin() { registers_.begin(); }

  // ---- With an empty buffer: all times are known, and no entry is needed ----
  std::uint64_t operands_now(const isa::Insn& insn, std::uint64_t dispatched) const {
    return registers_.operands_of(insn, dispatched + 1);
  }
  /// Books a port from `ready` on. @returns the time of issue.
  std::uint64_t take_port(const isa::Insn& insn, std::uint64_t ready) { return ports_.take(insn.cls, ready); }
  /// A booking that is not used after all.
  void give_back(const isa::Insn& insn, std::uint64_t issue) { ports_.give_back(insn.cls, issue); }
  std::uint64_t latency_of(const isa::Insn& insn) const { return latency_[static_cast<unsigned>(insn.cls)]; }
  void write(const isa::Insn& insn, std::uint64_t complete) { registers_.write(insn, complete); }

  // ---- With entries ----
  /// `e` is dispatched at `position`: its operands, whose floor is set.
  void rename(WindowEntry& e, std::uint64_t position) { registers_.rename(e, position); }
  /// When the operands of `e` are all there, or kUnknown.
  std::uint64_t operands_of(const WindowEntry& e) const {
    if (e.awaited_store != 0) return WindowEntry::kUnknown;
    std::uint64_t ready = e.floor;
    for (const std::uint64_t producer : e.producers)
      if (producer != 0) ready = std::max(ready, buffer_[producer].complete);
    return ready;
  }
  /// Books a port for `e`. False: an operand's time is unknown.
  bool issue(WindowEntry& e) {
    const std::uint64_t ready = operands_of(e);
    if (ready == WindowEntry::kUnknown) return false;
    e.issued = ports_.take(e.insn.cls, ready);
    return true;
  }
  /// `e`, at `position`, has issued, and takes its class's latency.
  void complete(WindowEntry& e, std::uint64_t position) {
    settle(e, position, e.issued + latency_of(e.insn));
  }
  /// The youngest instruction, complete but for a store's bytes: issues it, or lists it.
  void schedule(WindowEntry& e) {
    if (!issue(e)) return pending_.add(e);
    complete(e, buffer_.tail() - 1);
  }
  /// `e`, at `position`, is complete at `complete`.
  void settle(WindowEntry& e, std::uint64_t position, std::uint64_t complete) {
    e.complete = complete;
    e.state = WindowEntry::State::done;
    registers_.settle(e.insn, position, complete);
    if (!e.is_listed) return;
    news_ = std::min(news_, position);
    point_.end_wait_for_branch(position, complete);
  }
  static constexpr std::uint64_t kNoNews = ~std::uint64_t{0};
  /// The position of the oldest listed instruction that has been settled since the last call, or kNoNews.
  std::uint64_t take_news() { return std::exchange(news_, kNoNews); }
  bool has_news() const { return news_ != kNoNews; }
  /// The youngest instruction, `e`, is squashed at `now`.
  void undo(const WindowEntry& e, std::uint64_t now) {
    registers_.undo(e, buffer_);
    if (e.issued != WindowEntry::kUnknown && e.issued > now) ports_.give_back(e.insn.cls, e.issued);
  }

 private:
  ReorderBuffer& buffer_;
  PendingEntries& pending_;
  DispatchPoint& point_;
  RegisterTimes registers_;
  IssuePorts ports_;
  Latencies latency_;
  std::uint64_t news_ = kNoNews;
};

}  // namespace rubato::chip
