// The registers as GDB numbers them, and the description of them that it asks for: x0 to x31, pc, f0 to f31,
// fflags, frm, fcsr. Names and features: the GDB manual, "RISC-V Features".
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chip/isa/hart_state.hpp"

namespace rubato::chip {

inline constexpr unsigned kDebugRegisters = 32 + 1 + 32 + 3;

/// 8, or 4 for the last three.
unsigned register_bytes(unsigned number);
/// @param number below kDebugRegisters.
std::uint64_t read_register(const HartState& hart, unsigned number);
void write_register(HartState& hart, unsigned number, std::uint64_t value);
/// target.xml.
const std::string& register_description();

}  // namespace rubato::chip
