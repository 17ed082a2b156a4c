// SPDX-License-Identifier: MIT
#include "chip/os/frame_walk.hpp"

#include "chip/isa/decode.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/os/call_stack.hpp"

namespace rubato::chip {

std::optional<FrameWalk::Place> FrameWalk::caller_of(const Place& place) {
  const auto [known, is_new] = frames_.try_emplace(place.pc);
  if (is_new) known->second = frame_at(place.pc);
  const Frame& frame = known->second;
  if (!frame.return_address) return std::nullopt;
  const Addr saved = place.sp + *frame.return_address;
  if (saved % 8 != 0 || !memory_.allows(saved, 8, Page::kRead)) return std::nullopt;
  return Place{memory_.load<std::uint64_t>(saved), place.sp + frame.bytes};
}

// In the order of the code: epilogues in between release the frame on other paths than the one to the call.
FrameWalk::Frame FrameWalk::frame_at(Addr pc) const {
  using isa::Op;
  constexpr unsigned kFramePointer = 8;
  const Symbols::Symbol* const function = symbols_.at(pc - 1);
  if (function == nullptr || !function->is_function) return {};
  std::uint64_t bytes = 0, above = 0;
  bool is_saved = false, is_call = false;
  Addr at = function->address;
  while (at < pc) {
    const auto insn = instruction_at(at, memory_);
    if (!insn || insn->length == 0) return {};
    const auto offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(insn->imm));
    const bool moves_sp = insn->op == Op::addi && insn->rd == reg::sp;
    if (moves_sp && insn->rs1 == reg::sp) {
      if (insn->imm < 0) {
        bytes -= offset;
        above -= offset;
      }
    } else if (insn->rd == reg::sp && !(moves_sp && insn->rs1 == kFramePointer)) {
      return {};
    } else if (insn->op == Op::sd && insn->rs1 == reg::sp && insn->rs2 == reg::ra) {
      above = offset;
      is_saved = true;
    }
    is_call = (insn->op == Op::jal || insn->op == Op::jalr) && insn->rd == reg::ra;
    at += insn->length;
  }
  if (at != pc || !is_call || !is_saved) return {};
  return {bytes, above};
}

}  // namespace rubato::chip
