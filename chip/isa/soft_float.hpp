// IEEE 754 arithmetic in integers, exact in every rounding mode: what the host cannot do (ties to max
// magnitude) or could only by switching its rounding mode. The fast path of fp.hpp falls back to it. Bit
// patterns in and out; NaN results are canonical; flags are or-ed in RISC-V's fflags layout.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip::isa::soft {

/// A binary interchange format.
struct Format {
  int exponent_bits, fraction_bits;
  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint64_t sign_bit() const { return std::uint64_t{1} << (bits() - 1); }
  constexpr std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  constexpr std::uint64_t quiet_bit() const { return std::uint64_t{1} << (fraction_bits - 1); }
  constexpr std::uint64_t canonical_nan() const { return infinity() | quiet_bit(); }
};
inline constexpr Format kHalf{5, 10}, kSingle{8, 23}, kDouble{11, 52};

/// fflags bits.
inline constexpr std::uint32_t kInexact = 1, kUnderflow = 2, kOverflow = 4, kDivideByZero = 8, kInvalid = 16;

/// Values of rm and frm.
enum Rounding : unsigned { kNearestEven = 0, kTowardZero = 1, kDown = 2, kUp = 3, kNearestAway = 4 };

std::uint64_t add(Format f, std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags);
std::uint64_t mul(Format f, std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags);
std::uint64_t div(Format f, std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags);
/// a * b + c, rounded once.
std::uint64_t fma(Format f, std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned rm,
                  std::uint32_t& flags);
std::uint64_t sqrt(Format f, std::uint64_t a, unsigned rm, std::uint32_t& flags);
std::uint64_t convert(Format from, Format to, std::uint64_t a, unsigned rm, std::uint32_t& flags);
std::uint64_t from_integer(Format f, bool negative, std::uint64_t magnitude, unsigned rm,
                           std::uint32_t& flags);
/// Rounded to an integer of `bits` (32 or 64), saturating; the result is sign-extended from `bits`.
std::uint64_t to_integer(Format f, std::uint64_t a, int bits, bool is_signed, unsigned rm,
                         std::uint32_t& flags);
/// Rounded to an integral value of the same format; inexact if that is another value.
std::uint64_t to_integral(Format f, std::uint64_t a, unsigned rm, std::uint32_t& flags);
/// fcvtmod.w.d: a double, truncated, modulo 2^32, sign-extended; 0 for infinities and NaNs. The flags are
/// those of fcvt.w.d.
std::uint64_t to_int32_modulo(std::uint64_t a, std::uint32_t& flags);

}  // namespace rubato::chip::isa::soft
