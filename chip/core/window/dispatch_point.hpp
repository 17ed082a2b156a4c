// The cycle in which a window core dispatches next, its slots in that cycle, and the reason why it dispatches
// nothing. It knows no instruction, and no part of the chip but the look-ahead window.
//
// Invariant: the cycle only advances, except by begin() and restart().
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "chip/config/config.hpp"
#include "chip/core/access_value.hpp"
#include "chip/core/lookahead_window.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class DispatchPoint {
 public:
  explicit DispatchPoint(const CoreSection& core) : width_(core.width), mispredict_(core.mispredict) {}

  // ---- Time ----
  std::uint64_t cycle() const { return cycle_; }
  void go_to(std::uint64_t cycle) {
    if (cycle <= cycle_) return;
    cycle_ = cycle;
    slots_ = 0;
  }
  /// Another context begins at `at`.
  void begin(std::uint64_t at) {
    cycle_ = at;
    slots_ = 0;
  }
  /// A squash: dispatch begins anew at `at`, after the present loop has ended.
  void restart(std::uint64_t at) {
    begin(at);
    forget_stall();
    forget_fetch();
    limit_ = 0;
  }
  /// No instruction has been dispatched in this cycle.
  bool is_cycle_fresh() const { return slots_ == 0; }
  void find_slot() {
    if (slots_ == width_) go_to(cycle_ + 1);
  }
  /// An instruction has been dispatched.
  void use_slot() {
    ++slots_;
    needs_clock_ = false;
  }

  // ---- The end of the present loop ----
  bool is_at_limit() const { return cycle_ >= limit_; }
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  void lower_limit(std::uint64_t limit) { limit_ = std::min(limit_, limit); }
  /// The cycle before which the next instruction must be dispatched.
  std::uint64_t end(const LookaheadWindow& window) const {
    return needs_clock_ ? window.strict_end() : window.run_end();
  }
  /// The next instruction acts at cycle(), where others see it. False: the clock is not there yet.
  bool reaches_clock(const LookaheadWindow& window) {
    needs_clock_ = !window.is_strict(cycle_);
    return !needs_clock_;
  }
  void await_clock() { needs_clock_ = true; }

  // ---- Stalls ----
  bool is_stalled() const { return stall_ != Stall::none; }
  /// The buffer, or a queue, is full until an unknown time.
  void await_room() { stall_ = Stall::room; }
  /// The next instruction goes alone.
  void await_older() { stall_ = Stall::older; }
  /// An instruction has committed, or a store has been written: one of those two may be over.
  void end_wait_for_older() {
    if (stall_ == Stall::room || stall_ == Stall::older) stall_ = Stall::none;
  }
  /// The mispredicted jump at `position` is complete at an unknown time.
  void await_branch(std::uint64_t position) {
    stall_ = Stall::branch;
    branch_ = position;
  }
  /// The instruction at `position` is complete at `complete`.
  void end_wait_for_branch(std::uint64_t position, std::uint64_t complete) {
    if (stall_ != Stall::branch || branch_ != position) return;
    stall_ = Stall::none;
    mispredict(complete);
  }
  /// A mispredicted jump is complete at `complete`.
  void mispredict(std::uint64_t complete) { go_to(complete - 1 + mispredict_); }
  /// Messages bring a line that a fetch or a lone access needs.
  void await_line(LineAddr line) {
    stall_ = Stall::line;
    line_ = line;
  }
  bool awaits(LineAddr line) const { return stall_ == Stall::line && line_ == line; }
  void end_wait_for_line(LineAddr line, std::uint64_t at) {
    if (!awaits(line)) return;
    stall_ = Stall::none;
    go_to(at);
  }
  void forget_stall() {
    stall_ = Stall::none;
    needs_clock_ = false;
  }

  // ---- The wait for code, which is charged to the next instruction ----
  void fetched(const AccessParts& parts) {
    fetch_parts_ = sum_of(fetch_parts_, parts);
    has_fetch_parts_ = true;
  }
  bool has_fetch_parts() const { return has_fetch_parts_; }
  const AccessParts& fetch_parts() const { return fetch_parts_; }
  void forget_fetch() {
    if (std::exchange(has_fetch_parts_, false)) fetch_parts_ = {};
  }

 private:
  enum class Stall : std::uint8_t { none, room, older, branch, line };

  std::uint32_t width_, mispredict_;
  std::uint64_t cycle_ = 0;
  std::uint32_t slots_ = 0;  // used in it
  std::uint64_t limit_ = 0;
  Stall stall_ = Stall::none;
  bool needs_clock_ = false;  // the next instruction
  bool has_fetch_parts_ = false;
  LineAddr line_{};           // Stall::line
  std::uint64_t branch_ = 0;  // Stall::branch: its position
  AccessParts fetch_parts_{};
};

}  // namespace rubato::chip
