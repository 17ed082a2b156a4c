// The architectural state of one hart: RV64 user mode (C1). A context switch saves it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct HartState {
  static constexpr Addr kNoReservation = ~Addr{0};
  Addr pc = 0;
  Addr reservation = kNoReservation;  ///< what lr has loaded: sc succeeds nowhere else
  std::uint32_t fcsr = 0;             ///< frm in [7:5], fflags in [4:0]
  std::uint32_t capsule_depth = 0;    ///< of nested capsule calls (P21)
  std::array<std::uint64_t, 32> x{};  ///< x[0] is kept 0
  std::array<std::uint64_t, 32> f{};  ///< raw bits; floats NaN-boxed
  std::uint64_t sink = 0;  ///< takes results that no instruction reads (isa::Insn::kSink); means nothing

  /// x, f and sink as one array, indexed by the uniform register numbers of isa::Insn.
  std::uint64_t* registers() { return reinterpret_cast<std::uint64_t*>(&x); }
  /// The state whose registers() these are.
  static HartState& of(std::uint64_t* registers) {
    return *reinterpret_cast<HartState*>(reinterpret_cast<std::byte*>(registers) - offsetof(HartState, x));
  }
  const std::uint64_t* registers() const { return reinterpret_cast<const std::uint64_t*>(&x); }
};
static_assert(offsetof(HartState, f) == offsetof(HartState, x) + 256 &&
              offsetof(HartState, sink) == offsetof(HartState, f) + 256);

/// Register numbers of the calling convention.
namespace reg {
inline constexpr unsigned ra = 1, sp = 2, gp = 3, tp = 4, a0 = 10, a1 = 11, a2 = 12, a3 = 13, a4 = 14,
                          a5 = 15, a6 = 16, a7 = 17;
/// Callee-saved registers but sp: gp, tp and s0 to s11.
inline constexpr unsigned kept[] = {gp, tp, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
}

}  // namespace rubato::chip
