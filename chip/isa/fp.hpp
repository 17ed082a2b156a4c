// RV64FD arithmetic for interpreters (C1): the host's SSE in the common case of round-to-nearest-even,
// integers (soft_float.hpp) for everything else.
//
// Ownership of MXCSR: the simulator runs with the host's default: round to nearest even, all exceptions
// masked, no flush-to-zero; no code changes that, so entering only makes sure that the sticky flags are
// clear. Between enter() and leave(state) the sticky flags belong to the hart that executes: host
// instructions gather them, and they are merged into fcsr when the guest reads it (read_csr) or in leave().
// No other code may compute in floating point between the two.
//
// The compiler does not know about flags. But operands are loaded from, and results stored to, the hart's
// registers in memory, and the barriers in enter, leave, read_csr and write_csr order these accesses.
// SPDX-License-Identifier: MIT
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/isa/soft_float.hpp"

namespace rubato::chip::isa::fp {

// ---- Flags and control registers ----

inline constexpr unsigned kHostFlags = 0x3f;

/// fflags of MXCSR's sticky bits (invalid 0, denormal 1, zero divide 2, overflow 3, underflow 4, precision
/// 5).
constexpr std::uint32_t flags_of_host(unsigned mxcsr) {
  return ((mxcsr & 1) << 4) | ((mxcsr & 4) << 1) | ((mxcsr & 8) >> 1) | ((mxcsr & 16) >> 3) |
         ((mxcsr & 32) >> 5);
}

inline void clear_host_flags() {
  const unsigned mxcsr = _mm_getcsr();
  if (mxcsr & kHostFlags) _mm_setcsr(mxcsr & ~kHostFlags);
  asm volatile("" ::: "memory");
}

/// Moves the host's flags into fcsr.
inline void merge_host_flags(HartState& state) {
  asm volatile("" ::: "memory");
  const unsigned mxcsr = _mm_getcsr();
  if (mxcsr & kHostFlags) {
    state.fcsr |= flags_of_host(mxcsr);
    _mm_setcsr(mxcsr & ~kHostFlags);
  }
  asm volatile("" ::: "memory");
}

/// Before executing instructions of a hart.
inline void enter() { clear_host_flags(); }
/// When this hart stops executing: before its fcsr is looked at, and before another hart enters.
inline void leave(HartState& state) { merge_host_flags(state); }

/// fflags, frm or fcsr.
inline std::uint64_t read_csr(HartState& state, unsigned number) {
  merge_host_flags(state);
  if (number == csr::fflags) return state.fcsr & 31;
  if (number == csr::frm) return state.fcsr >> 5;
  return state.fcsr;
}
inline void write_csr(HartState& state, unsigned number, std::uint64_t value) {
  merge_host_flags(state);
  const auto v = static_cast<std::uint32_t>(value);
  if (number == csr::fflags)
    state.fcsr = (state.fcsr & 0xe0) | (v & 31);
  else if (number == csr::frm)
    state.fcsr = (state.fcsr & 31) | ((v & 7) << 5);
  else
    state.fcsr = v & 0xff;
}

// ---- Formats and registers ----

struct f32 {
  using Host = float;
  using Bits = std::uint32_t;
  static constexpr soft::Format kFormat = soft::kSingle;
};
struct f64 {
  using Host = double;
  using Bits = std::uint64_t;
  static constexpr soft::Format kFormat = soft::kDouble;
};

constexpr std::uint64_t kBoxed = 0xffff'ffff'0000'0000;
constexpr std::uint64_t box(std::uint32_t v) { return kBoxed | v; }

/// The value's bits; a single that is not NaN-boxed is the canonical NaN.
template <class F>
constexpr typename F::Bits unbox(std::uint64_t r) {
  if constexpr (std::is_same_v<F, f64>)
    return r;
  else
    return r >= kBoxed ? static_cast<std::uint32_t>(r)
                       : static_cast<std::uint32_t>(F::kFormat.canonical_nan());
}
template <class F>
constexpr std::uint64_t boxed(std::uint64_t bits) {
  if constexpr (std::is_same_v<F, f64>)
    return bits;
  else
    return box(static_cast<std::uint32_t>(bits));
}
template <class F>
typename F::Host host(std::uint64_t r) {
  return std::bit_cast<typename F::Host>(unbox<F>(r));
}
template <class F>
constexpr bool is_nan(typename F::Bits v) {
  return (v & ~F::kFormat.sign_bit()) > F::kFormat.infinity();
}
template <class F>
constexpr bool is_signaling(typename F::Bits v) {
  return is_nan<F>(v) && (v & F::kFormat.quiet_bit()) == 0;
}
/// A host result as a register; every NaN becomes the canonical one.
template <class F>
std::uint64_t result(typename F::Host v) {
  if (v != v) return boxed<F>(F::kFormat.canonical_nan());
  return boxed<F>(std::bit_cast<typename F::Bits>(v));
}

// ---- Arithmetic ----

template <class F>
std::uint64_t fadd(std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags) {
  if (rm == 0) return result<F>(host<F>(a) + host<F>(b));
  return boxed<F>(soft::add(F::kFormat, unbox<F>(a), unbox<F>(b), rm, flags));
}
template <class F>
std::uint64_t fsub(std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags) {
  if (rm == 0) return result<F>(host<F>(a) - host<F>(b));
  return boxed<F>(soft::add(F::kFormat, unbox<F>(a), unbox<F>(b) ^ F::kFormat.sign_bit(), rm, flags));
}
template <class F>
std::uint64_t fmul(std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags) {
  if (rm == 0) return result<F>(host<F>(a) * host<F>(b));
  return boxed<F>(soft::mul(F::kFormat, unbox<F>(a), unbox<F>(b), rm, flags));
}
template <class F>
std::uint64_t fdiv(std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags) {
  if (rm == 0) return result<F>(host<F>(a) / host<F>(b));
  return boxed<F>(soft::div(F::kFormat, unbox<F>(a), unbox<F>(b), rm, flags));
}
template <class F>
std::uint64_t sqrt(std::uint64_t a, unsigned rm, std::uint32_t& flags) {
  if (rm == 0) {
    if constexpr (std::is_same_v<F, f64>)
      return result<F>(_mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(host<F>(a)))));
    else
      return result<F>(_mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(host<F>(a)))));
  }
  return boxed<F>(soft::sqrt(F::kFormat, unbox<F>(a), rm, flags));
}

/// (negate_product ? -1 : 1) * a * b + (negate_addend ? -1 : 1) * c, rounded once.
template <class F>
std::uint64_t fused(std::uint64_t a, std::uint64_t b, std::uint64_t c, bool negate_product,
                    bool negate_addend, unsigned rm, std::uint32_t& flags) {
  using Bits = typename F::Bits;
  constexpr auto kSign = static_cast<Bits>(F::kFormat.sign_bit());
  const Bits x = unbox<F>(a) ^ (negate_product ? kSign : Bits{0}), y = unbox<F>(b),
             z = unbox<F>(c) ^ (negate_addend ? kSign : Bits{0});
  if (rm == 0) {
    using Host = typename F::Host;
    const Host v = std::fma(std::bit_cast<Host>(x), std::bit_cast<Host>(y), std::bit_cast<Host>(z));
    if (v == v) return boxed<F>(std::bit_cast<Bits>(v));
    // Hosts differ about infinity * 0 + quiet NaN: the integers know that it is invalid.
  }
  return boxed<F>(soft::fma(F::kFormat, x, y, z, rm, flags));
}
template <class F>
std::uint64_t fmadd(std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned rm, std::uint32_t& flags) {
  return fused<F>(a, b, c, false, false, rm, flags);
}
template <class F>
std::uint64_t fmsub(std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned rm, std::uint32_t& flags) {
  return fused<F>(a, b, c, false, true, rm, flags);
}
template <class F>
std::uint64_t fnmsub(std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned rm, std::uint32_t& flags) {
  return fused<F>(a, b, c, true, false, rm, flags);
}
template <class F>
std::uint64_t fnmadd(std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned rm, std::uint32_t& flags) {
  return fused<F>(a, b, c, true, true, rm, flags);
}

// ---- Signs, comparisons, classification ----

template <class F>
constexpr std::uint64_t fsgnj(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kSign = F::kFormat.sign_bit();
  return boxed<F>((unbox<F>(a) & ~kSign) | (unbox<F>(b) & kSign));
}
template <class F>
constexpr std::uint64_t fsgnjn(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kSign = F::kFormat.sign_bit();
  return boxed<F>((unbox<F>(a) & ~kSign) | (~unbox<F>(b) & kSign));
}
template <class F>
constexpr std::uint64_t fsgnjx(std::uint64_t a, std::uint64_t b) {
  return boxed<F>(unbox<F>(a) ^ (unbox<F>(b) & F::kFormat.sign_bit()));
}

/// minimumNumber / maximumNumber of IEEE 754-2019: a NaN loses against a number, -0 < +0.
template <class F>
constexpr std::uint64_t min_or_max(std::uint64_t a, std::uint64_t b, bool want_max, std::uint32_t& flags) {
  using Bits = typename F::Bits;
  const Bits x = unbox<F>(a), y = unbox<F>(b);
  if (is_signaling<F>(x) || is_signaling<F>(y)) flags |= soft::kInvalid;
  if (is_nan<F>(x)) return boxed<F>(is_nan<F>(y) ? static_cast<Bits>(F::kFormat.canonical_nan()) : y);
  if (is_nan<F>(y)) return boxed<F>(x);
  // As integers, patterns order like the numbers once negative ones are mirrored.
  const auto key = [](Bits v) {
    constexpr auto kSign = static_cast<Bits>(F::kFormat.sign_bit());
    return v & kSign ? static_cast<Bits>(~v) : static_cast<Bits>(v | kSign);
  };
  return boxed<F>((key(x) < key(y)) != want_max ? x : y);
}
template <class F>
constexpr std::uint64_t fmin(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return min_or_max<F>(a, b, false, flags);
}
template <class F>
constexpr std::uint64_t fmax(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return min_or_max<F>(a, b, true, flags);
}

/// Comparisons with a NaN are false; feq is quiet, flt and fle are invalid for every NaN.
template <class F>
bool ordered(std::uint64_t a, std::uint64_t b, bool signals, std::uint32_t& flags) {
  const auto x = unbox<F>(a), y = unbox<F>(b);
  if (!is_nan<F>(x) && !is_nan<F>(y)) return true;
  if (signals || is_signaling<F>(x) || is_signaling<F>(y)) flags |= soft::kInvalid;
  return false;
}
template <class F>
std::uint64_t feq(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return ordered<F>(a, b, false, flags) && host<F>(a) == host<F>(b);
}
template <class F>
std::uint64_t flt(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return ordered<F>(a, b, true, flags) && host<F>(a) < host<F>(b);
}
template <class F>
std::uint64_t fle(std::uint64_t a, std::uint64_t b, std::uint32_t& flags) {
  return ordered<F>(a, b, true, flags) && host<F>(a) <= host<F>(b);
}

/// The ten classes of fclass as one bit each.
template <class F>
constexpr std::uint64_t classify(std::uint64_t a) {
  const std::uint64_t v = unbox<F>(a), magnitude = v & ~F::kFormat.sign_bit();
  const bool negative = v & F::kFormat.sign_bit();
  if (magnitude > F::kFormat.infinity()) return v & F::kFormat.quiet_bit() ? 1u << 9 : 1u << 8;
  if (magnitude == F::kFormat.infinity()) return negative ? 1u << 0 : 1u << 7;
  if (magnitude == 0) return negative ? 1u << 3 : 1u << 4;
  if (magnitude >> F::kFormat.fraction_bits == 0) return negative ? 1u << 2 : 1u << 5;
  return negative ? 1u << 1 : 1u << 6;
}

// ---- Conversions ----

template <class F, class Int>
std::uint64_t to_integer(std::uint64_t a, unsigned rm, std::uint32_t& flags) {
  // The usual case, C's cast: the host truncates to 64 bits and notes inexactness; only where that fits Int.
  if (rm == soft::kTowardZero && !is_nan<F>(unbox<F>(a))) {
    const double v = static_cast<double>(host<F>(a));
    if constexpr (std::is_same_v<Int, std::int32_t>) {
      if (v > -2147483649.0 && v < 2147483648.0)
        return static_cast<std::uint64_t>(_mm_cvttsd_si64(_mm_set_sd(v)));
    } else if constexpr (std::is_same_v<Int, std::uint32_t>) {
      if (v > -1.0 && v < 4294967296.0) {
        const long long truncated = _mm_cvttsd_si64(_mm_set_sd(v));
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(truncated)));
      }
    } else {
      constexpr double kLow = std::is_signed_v<Int> ? -0x1p63 : 0.0;
      if (v >= kLow && v < 0x1p63) return static_cast<std::uint64_t>(_mm_cvttsd_si64(_mm_set_sd(v)));
    }
  }
  return soft::to_integer(F::kFormat, unbox<F>(a), sizeof(Int) * 8, std::is_signed_v<Int>, rm, flags);
}

template <class F, class Int>
std::uint64_t from_integer(Int v, unsigned rm, std::uint32_t& flags) {
  if (rm == 0 && (std::is_signed_v<Int> || sizeof(Int) < 8 || static_cast<std::int64_t>(v) >= 0))
    return boxed<F>(
        std::bit_cast<typename F::Bits>(static_cast<typename F::Host>(static_cast<std::int64_t>(v))));
  const bool negative = std::is_signed_v<Int> && static_cast<std::int64_t>(v) < 0;
  const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  const std::uint64_t magnitude = negative ? 0 - bits : bits;
  return boxed<F>(soft::from_integer(F::kFormat, negative, magnitude, rm, flags));
}

/// fcvt.s.d
inline std::uint64_t narrow(std::uint64_t a, unsigned rm, std::uint32_t& flags) {
  if (rm == 0) return result<f32>(static_cast<float>(host<f64>(a)));
  return box(static_cast<std::uint32_t>(soft::convert(soft::kDouble, soft::kSingle, a, rm, flags)));
}
/// fcvt.d.s
inline std::uint64_t widen(std::uint64_t a, std::uint32_t& flags) {
  const std::uint32_t v = unbox<f32>(a);
  if (is_signaling<f32>(v)) flags |= soft::kInvalid;
  return result<f64>(static_cast<double>(std::bit_cast<float>(v)));
}

}  // namespace rubato::chip::isa::fp
