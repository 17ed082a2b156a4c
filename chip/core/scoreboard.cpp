// SPDX-License-Identifier: MIT
#include "chip/core/scoreboard.hpp"

namespace rubato::chip {

std::uint64_t Scoreboard::charge_stall(const isa::Insn& insn, std::uint64_t issue) {
  unsigned worst = insn.rs1;
  for (const unsigned r : {unsigned{insn.rs2}, unsigned{insn.rs3}, unsigned{insn.rd}})
    if (ready_[r] > ready_[worst]) worst = r;
  const std::uint64_t ready = ready_[worst];
  if (ready == kUnknown) return ready;
  if (source_[worst] == ResultSource::access) stalls_.charge(producers_[worst], ready - issue);
  if (source_[worst] == ResultSource::l1) stalls_.charge(CyclePart::l1, ready - issue);
  return ready;
}

}  // namespace rubato::chip
