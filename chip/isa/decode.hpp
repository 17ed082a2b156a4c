// Decoder of user mode (RV64GC and the extensions of isa_extensions.hpp) and of the task instructions (C1,
// C6): bits to Insn.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/insn.hpp"

namespace rubato::chip::isa {

/// True if the instruction that starts with these 16 bits is 4 bytes long.
constexpr bool is_long(std::uint32_t low) { return (low & 3) == 3; }

/// Decodes the instruction in `word` (of a compressed one only the low 16 bits count). An encoding
/// that none of them defines becomes Op::illegal with the word in imm. `offset` is left 0.
Insn decode(std::uint32_t word);

/// Timing class, data size and flags of an operation: what depends on nothing but the operation.
struct OpInfo {
  InsnClass cls;
  std::uint8_t bytes, flags;
};
const OpInfo& info(Op op);

}  // namespace rubato::chip::isa
