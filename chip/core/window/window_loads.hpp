// The loads of a window core (K66): the value with which each goes on when it is dispatched, the cycle in
// which it performs, and the squash if it then finds another value. Loads of the same bytes perform in the
// order of the program.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/core/window/window_parts.hpp"
#include "chip/core/window/window_squash.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowLoads {
 public:
  /// Both outlive this.
  WindowLoads(WindowParts& window, WindowSquash& squash) : w_(window), squash_(squash) {}

  /// The value that a load of the instruction at `position` finds, zero-extended.
  std::uint64_t seen(Addr address, unsigned bytes, std::uint64_t position) const;
  /// `e`, the youngest instruction, has been dispatched with the value that it sees: performs it now, or
  /// lists it.
  void dispatch(WindowEntry& e, Addr address);
  /// Performs the load, whose cycle `at` is, if it can; otherwise its entry notes the reason to wait. Only a
  /// due load may leave the L1.
  void perform(std::uint64_t position, std::uint64_t at, bool is_due);
  /// The action of a load, which may be gone.
  void act(const WindowAction& action);
  /// The store was written, and the L1 has it at `done`: loads of only some of its bytes may issue.
  void release_behind(const QueuedStore& store, std::uint64_t done);

  // ---- Messages ----
  /// The wait of the first load that waits for `line`, or null.
  AccessParts* awaiting(LineAddr line);
  /// Adds the lines of loads that wait for the decision on a conflict.
  void list_blocked(std::vector<LineAddr>& lines) const;
  /// Loads that wait for `line` perform at `at`, until one of them squashes.
  void perform_line(LineAddr line, std::uint64_t at);

 private:
  void order_behind_store(WindowEntry& e, std::uint64_t position);
  std::uint64_t after_fill(WindowEntry& e, LineAddr line, std::uint64_t at);
  void end(std::uint64_t position, std::uint64_t complete);
  void set_value(WindowEntry& e, std::uint64_t value) {
    e.value = value;
    w_.state.hart.registers()[e.insn.rd] = value;
  }

  WindowParts& w_;
  WindowSquash& squash_;
  std::uint64_t guesses_ = 0;  // WindowFault: loads that were listed
};

}  // namespace rubato::chip
