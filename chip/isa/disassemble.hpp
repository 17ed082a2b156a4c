// Decoded instructions as text, for fault reports, traces and test failures.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip::isa {

/// The manual's mnemonic, e.g. "amoadd.w".
std::string_view mnemonic(Op op);

/// Name of a uniform register number by the calling convention: "zero", "sp", "fa0".
std::string_view register_name(unsigned number);

/// "addi a0, sp, 16"; compressed instructions in their long form; targets as addresses: "bne a0, zero,
/// 0x1043c".
std::string disassemble(const Insn& insn, Addr pc);

}  // namespace rubato::chip::isa
