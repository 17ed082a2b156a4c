// SPDX-License-Identifier: MIT
#include "chip/program/fast_forward_watch.hpp"

#include <cstring>

#include "base/check.hpp"
#include "chip/isa/decode.hpp"

namespace rubato::chip {

/// The interpreter says which block runs and which bytes are accessed; the instruction is found by counting.
void FastForwardWatch::show(Addr address, unsigned bytes) {
  Addr pc = block_;
  isa::Insn insn;
  for (std::uint32_t left = accesses_;; pc += insn.length) {
    std::uint16_t half[2] = {};
    std::memcpy(half, memory_.host(pc), sizeof half[0]);
    if (isa::is_long(half[0])) std::memcpy(half + 1, memory_.host(pc + 2), sizeof half[1]);
    insn = isa::decode(half[0] | std::uint32_t{half[1]} << 16);
    if (insn.bytes != 0 && --left == 0) break;
    RUBATO_CHECK(!insn.ends_block(), "a block has fewer accesses than were made in it");
  }
  std::uint64_t memory = 0;
  std::memcpy(&memory, memory_.host(address), bytes);
  observer_.on_untimed_access({thread_->tid, pc, insn, thread_->regs, address, memory});
}

}  // namespace rubato::chip
