// Floating point of Zfhmin (half precision: transfers and conversions) and Zfa (constants, rounding to
// integral values, minimum and maximum that keep NaNs, quiet comparisons), for interpreters as fp.hpp is. All
// that rounds here does so in integers: these instructions are rare.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "chip/isa/fp.hpp"
#include "chip/isa/soft_float.hpp"

namespace rubato::chip::isa::fp {

// ---- Half precision ----

constexpr std::uint64_t kHalfBoxed = ~std::uint64_t{0xffff};
constexpr std::uint64_t box_half(std::uint16_t v) { return kHalfBoxed | v; }
/// The value's bits; a half that is not NaN-boxed is the canonical NaN.
constexpr std::uint64_t unbox_half(std::uint64_t r) {
  return r >= kHalfBoxed ? r & 0xffff : soft::kHalf.canonical_nan();
}
/// Exact: every half is a single and a double.
template <class F>
std::uint64_t from_half(std::uint64_t a, std::uint32_t& flags) {
  return boxed<F>(soft::convert(soft::kHalf, F::kFormat, unbox_half(a), soft::kNearestEven, flags));
}
template <class F>
std::uint64_t to_half(std::uint64_t a, unsigned rm, std::uint32_t& flags) {
  return box_half(static_cast<std::uint16_t>(soft::convert(F::kFormat, soft::kHalf, unbox<F>(a), rm, flags)));
}

// ---- Zfa ----

/// The constants of fli by their number, but 1 (the smallest normal number, by format), infinity and NaN,
/// which are 0 here.
inline constexpr std::array<double, 32> kConstants = {
    -1.0,   0,   0x1p-16, 0x1p-15, 0x1p-8, 0x1p-7, 0.0625, 0.125,  0.25, 0.3125, 0.375,
    0.4375, 0.5, 0.625,   0.75,    0.875,  1.0,    1.25,   1.5,    1.75, 2.0,    2.5,
    3.0,    4.0, 8.0,     16.0,    128.0,  256.0,  0x1p15, 0x1p16, 0,    0};
inline constexpr unsigned kSmallestNormal = 1, kInfinity = 30, kNotANumber = 31;

template <class F>
constexpr std::uint64_t constant(unsigned number) {
  using Host = typename F::Host;
  if (number == kInfinity) return boxed<F>(F::kFormat.infinity());
  if (number == kNotANumber) return boxed<F>(F::kFormat.canonical_nan());
  const Host value =
      number == kSmallestNormal ? std::numeric_limits<Host>::min() : static_cast<Host>(kConstants[number]);
  return boxed<F>(std::bit_cast<typename F::Bits>(value));
}

/// minimum and maximum of IEEE 754-2019: a NaN wins.
template <class F>
constexpr std::uint64_t min_or_max_nan(std::uint64_t a, std::uint64_t b, bool want_max,
                                       std::uint32_t& flags) {
  const std::uint64_t number = min_or_max<F>(a, b, want_max, flags);
  const bool has_nan = is_nan<F>(unbox<F>(a)) || is_nan<F>(unbox<F>(b));
  return has_nan ? boxed<F>(F::kFormat.canonical_nan()) : number;
}
template <class F>
constexpr std::uint64_t fminm(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return min_or_max_nan<F>(a, b, false, flags);
}
template <class F>
constexpr std::uint64_t fmaxm(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return min_or_max_nan<F>(a, b, true, flags);
}

/// fround, and (`is_exact`) froundnx, which notes inexactness.
template <class F>
std::uint64_t round(std::uint64_t a, unsigned rm, bool is_exact, std::uint32_t& flags) {
  std::uint32_t raised = 0;
  const std::uint64_t result = soft::to_integral(F::kFormat, unbox<F>(a), rm, raised);
  flags |= is_exact ? raised : raised & ~soft::kInexact;
  return boxed<F>(result);
}

/// Comparisons that are invalid for signaling NaNs only.
template <class F>
std::uint64_t fltq(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return ordered<F>(a, b, false, flags) && host<F>(a) < host<F>(b);
}
template <class F>
std::uint64_t fleq(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return ordered<F>(a, b, false, flags) && host<F>(a) <= host<F>(b);
}

}  // namespace rubato::chip::isa::fp
