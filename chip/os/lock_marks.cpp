// SPDX-License-Identifier: MIT
#include "chip/os/lock_marks.hpp"

#include <iterator>

#include "chip/os/call_stack.hpp"

namespace rubato::chip {

std::optional<Addr> LockMarks::awaited(const HartState& hart, const AddressSpace& memory) const {
  const auto next = marks_.upper_bound(hart.pc);
  if (next == marks_.begin() || next == marks_.end() || next->second != Kind::taken) return std::nullopt;
  const auto [begin, kind] = *std::prev(next);
  if (kind != Kind::wanted) return std::nullopt;
  for (Addr pc = begin; pc < next->first;) {
    const std::optional<isa::Insn> insn = instruction_at(pc, memory);
    if (!insn) return std::nullopt;
    if (insn->is_load())
      return hart.x[insn->rs1] + static_cast<std::uint64_t>(std::int64_t{insn->imm}) - served_of(0);
    pc += insn->length;
  }
  return std::nullopt;
}

}  // namespace rubato::chip
