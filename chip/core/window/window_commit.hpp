// Commit of a window core: instructions leave in the order of the program, and the cycles between two commits
// are charged to the wait of the later one. An instruction that finds the buffer empty, and completes at a
// known time, passes through without an entry.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/core/window/window_parts.hpp"
#include "chip/core/window/window_stores.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowCommit {
 public:
  /// Both outlive this.
  WindowCommit(WindowParts& window, WindowStores& stores) : w_(window), stores_(stores) {}

  /// All instructions at the head that are done commit.
  void retire();

  // ---- Without an entry, if WindowParts::is_open() ----
  /// An instruction without an access: it issues now. @returns when it is complete.
  std::uint64_t pass(const isa::Insn& insn);
  /// A branch or an indirect jump.
  void pass_jump(const isa::Insn& insn, bool is_predicted);
  /// A load that hits now. False: it needs an entry.
  bool pass_load(const isa::Insn& insn, Addr address);
  /// A store that hits now, behind which no other is queued. False: it needs an entry.
  bool pass_store(const isa::Insn& insn, Addr address, std::uint64_t value);

 private:
  void commit(std::uint64_t position, std::uint64_t at, std::uint64_t dispatched) {
    w_.commits.commit(position, at);
    w_.stats.entry(at - dispatched);
    ++w_.pipeline.counters.instructions;
  }
  void pass(const isa::Insn& insn, std::uint64_t complete);
  void leave(const WindowEntry& e, std::uint64_t position, std::uint64_t at);

  WindowParts& w_;
  WindowStores& stores_;
};

}  // namespace rubato::chip
