// How long results take, by class of instruction, from issue until a dependent one may issue.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "chip/config/config.hpp"
#include "chip/isa/insn.hpp"

namespace rubato::chip {

using Latencies = std::array<std::uint16_t, isa::kInsnClassCount>;

inline Latencies latencies_of(const CoreSection& core) {
  using isa::InsnClass;
  Latencies latencies;
  latencies.fill(1);
  const auto set = [&](InsnClass c, std::uint32_t cycles) {
    latencies[static_cast<unsigned>(c)] = static_cast<std::uint16_t>(cycles);
  };
  set(InsnClass::int_alu, core.int_alu);
  set(InsnClass::int_mul, core.int_mul);
  set(InsnClass::int_div, core.int_div);
  set(InsnClass::fp_add, core.fp_add);
  set(InsnClass::fp_mul, core.fp_mul);
  set(InsnClass::fp_fma, core.fp_fma);
  set(InsnClass::fp_div, core.fp_div);
  set(InsnClass::fp_sqrt, core.fp_sqrt);
  set(InsnClass::fp_misc, core.fp_misc);
  return latencies;
}

}  // namespace rubato::chip
