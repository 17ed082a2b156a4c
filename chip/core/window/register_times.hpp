// Times at which the registers of a window core are ready, and the instructions that write them: renaming,
// without physical registers. A squash restores both from the entries that it drops.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "chip/core/window/reorder_buffer.hpp"
#include "chip/isa/insn.hpp"

namespace rubato::chip {

class RegisterTimes {
 public:
  /// Another context begins: all registers are ready.
  void begin() { ready_.fill(0); }

  /// When the operands of `insn` are ready, `at` or later. Precondition: all these times are known.
  std::uint64_t operands_of(const isa::Insn& insn, std::uint64_t at) const {
    return std::max({at, ready_[insn.rs1], ready_[insn.rs2], ready_[insn.rs3]});
  }
  /// The result of an instruction that has no entry is ready at `complete`.
  void write(const isa::Insn& insn, std::uint64_t complete) {
    if (insn.rd != isa::Insn::kSink) ready_[insn.rd] = complete;
  }
  /// `e` is dispatched at `position`: its floor, which is set, rises to its known operands. The others become
  /// its producers.
  void rename(WindowEntry& e, std::uint64_t position) {
    const isa::Insn& insn = e.insn;
    e.old_ready = ready_[insn.rd];
    e.old_producer = producer_[insn.rd];
    e.producers = {};
    unsigned n = 0;
    for (const unsigned r : {unsigned{insn.rs1}, unsigned{insn.rs2}, unsigned{insn.rs3}}) {
      if (ready_[r] == WindowEntry::kUnknown) {
        e.producers[n++] = producer_[r];
      } else {
        e.floor = std::max(e.floor, ready_[r]);
      }
    }
    if (insn.rd == isa::Insn::kSink) return;
    ready_[insn.rd] = WindowEntry::kUnknown;
    producer_[insn.rd] = position;
  }
  /// The completion of the instruction at `position` has become known.
  void settle(const isa::Insn& insn, std::uint64_t position, std::uint64_t complete) {
    if (insn.rd != isa::Insn::kSink && producer_[insn.rd] == position) ready_[insn.rd] = complete;
  }
  /// The youngest instruction, `e`, is squashed. Its predecessor may have completed since.
  void undo(const WindowEntry& e, const ReorderBuffer& buffer) {
    if (e.insn.rd == isa::Insn::kSink) return;
    producer_[e.insn.rd] = e.old_producer;
    ready_[e.insn.rd] = e.old_ready != WindowEntry::kUnknown ? e.old_ready : buffer[e.old_producer].complete;
  }

 private:
  std::array<std::uint64_t, 65> ready_{}, producer_{};  // by uniform number
};

}  // namespace rubato::chip
