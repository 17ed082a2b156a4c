// IEEE 754 arithmetic in integers. Every finite value is sign * m * 2^(exponent - 127) with the leading one
// of the 128-bit m at bit 127: room for exact products, and for sums whose lost bits stick to the lowest bit
// ("jamming").
// SPDX-License-Identifier: MIT
#include "chip/isa/soft_float.hpp"

#include <bit>
#include <cstdint>

namespace rubato::chip::isa::soft {
namespace {

using u128 = unsigned __int128;

enum class Kind { zero, finite, infinity, nan };

struct Number {
  Kind kind;
  bool negative;
  int exponent = 0;
  u128 m = 0;
  bool signaling = false;
};

int leading_zeros(u128 m) {
  const auto high = static_cast<std::uint64_t>(m >> 64);
  return high ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(m));
}

Number normalized(bool negative, int exponent, u128 m) {
  if (m == 0) return {Kind::zero, negative};
  const int zeros = leading_zeros(m);
  return {Kind::finite, negative, exponent - zeros, m << zeros};
}

Number unpack(Format f, std::uint64_t bits) {
  const bool negative = bits & f.sign_bit();
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << f.fraction_bits) - 1);
  const auto biased = static_cast<int>((bits & f.infinity()) >> f.fraction_bits);
  if ((bits & f.infinity()) == f.infinity()) {
    if (fraction == 0) return {Kind::infinity, negative};
    return {Kind::nan, negative, 0, 0, (bits & f.quiet_bit()) == 0};
  }
  const u128 hidden = biased == 0 ? 0 : u128{1} << f.fraction_bits;
  return normalized(negative, (biased == 0 ? 1 : biased) - f.bias() + 127 - f.fraction_bits,
                    hidden | fraction);
}

/// Whether magnitude rounding at a bit goes up: `rest` against `half` of the unit.
bool rounds_up(unsigned rm, bool negative, bool odd, u128 rest, u128 half) {
  switch (rm) {
    case kNearestEven:
      return rest > half || (rest == half && odd);
    case kNearestAway:
      return rest >= half;
    case kDown:
      return negative && rest != 0;
    case kUp:
      return !negative && rest != 0;
    default:
      return false;
  }
}

struct Rounded {
  u128 value;
  bool inexact;
};

/// m / 2^drop rounded to an integer; drop >= 1, of any size.
Rounded round_at(u128 m, int drop, unsigned rm, bool negative) {
  if (drop > 128) return {rounds_up(rm, negative, false, m != 0, 2) ? u128{1} : u128{0}, m != 0};
  const u128 kept = drop == 128 ? 0 : m >> drop;
  const u128 rest = drop == 128 ? m : m & ((u128{1} << drop) - 1);
  return {kept + rounds_up(rm, negative, kept & 1, rest, u128{1} << (drop - 1)), rest != 0};
}

std::uint64_t pack(Format f, const Number& n, unsigned rm, std::uint32_t& flags) {
  const std::uint64_t sign = n.negative ? f.sign_bit() : 0;
  if (n.kind == Kind::nan) return f.canonical_nan();
  if (n.kind == Kind::infinity) return sign | f.infinity();
  if (n.kind == Kind::zero) return sign;
  const int drop = 127 - f.fraction_bits, minimum = 1 - f.bias();
  if (n.exponent < minimum) {
    const Rounded r = round_at(n.m, drop + (minimum - n.exponent), rm, n.negative);
    // Tininess is detected after rounding as if the exponent were unbounded.
    const bool reaches_normal =
        n.exponent == minimum - 1 && round_at(n.m, drop, rm, n.negative).value >> (f.fraction_bits + 1) != 0;
    if (r.inexact) flags |= kInexact | (reaches_normal ? 0 : kUnderflow);
    return sign | static_cast<std::uint64_t>(r.value);
  }
  const Rounded r = round_at(n.m, drop, rm, n.negative);
  const int exponent = n.exponent + (r.value >> (f.fraction_bits + 1) != 0);
  if (exponent > f.bias()) {
    flags |= kOverflow | kInexact;
    const bool to_infinity =
        rm == kNearestEven || rm == kNearestAway || (rm == kDown && n.negative) || (rm == kUp && !n.negative);
    return sign | (to_infinity ? f.infinity() : f.infinity() - 1);
  }
  if (r.inexact) flags |= kInexact;
  // The hidden bit, and a carry out of the fraction, add to the exponent field.
  return sign | ((static_cast<std::uint64_t>(n.exponent + f.bias() - 1) << f.fraction_bits) +
                 static_cast<std::uint64_t>(r.value));
}

constexpr Number kNaN{Kind::nan, false};

Number invalid(std::uint32_t& flags) {
  flags |= kInvalid;
  return kNaN;
}

u128 shift_right_jam(u128 m, int by) {
  if (by == 0) return m;
  if (by >= 128) return m != 0;
  return (m >> by) | ((m & ((u128{1} << by) - 1)) != 0);
}

Number sum(const Number& a, const Number& b, unsigned rm, std::uint32_t& flags) {
  if (a.signaling || b.signaling) return invalid(flags);
  if (a.kind == Kind::nan || b.kind == Kind::nan) return kNaN;
  if (a.kind == Kind::infinity && b.kind == Kind::infinity && a.negative != b.negative) return invalid(flags);
  if (a.kind == Kind::infinity) return a;
  if (b.kind == Kind::infinity) return b;
  if (a.kind == Kind::zero && b.kind == Kind::zero)
    return {Kind::zero, a.negative == b.negative ? a.negative : rm == kDown};
  if (a.kind == Kind::zero) return b;
  if (b.kind == Kind::zero) return a;
  const Number& large = a.exponent >= b.exponent ? a : b;
  const Number& small = a.exponent >= b.exponent ? b : a;
  // Headroom of a bit, for the carry. At most 106 bits of m are significant, so the bits jammed away lie far
  // below the rounding position. A cancellation does not change that: it can only be long if nothing was
  // jammed.
  const u128 m = large.m >> 1, other = shift_right_jam(small.m >> 1, large.exponent - small.exponent);
  if (large.negative == small.negative) return normalized(large.negative, large.exponent + 1, m + other);
  if (m == other) return {Kind::zero, rm == kDown};
  const bool flips = m < other;
  return normalized(large.negative != flips, large.exponent + 1, flips ? other - m : m - other);
}

Number product(const Number& a, const Number& b, std::uint32_t& flags) {
  const bool negative = a.negative != b.negative;
  if (a.signaling || b.signaling) return invalid(flags);
  if (a.kind == Kind::nan || b.kind == Kind::nan) return kNaN;
  if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
    if (a.kind == Kind::zero || b.kind == Kind::zero) return invalid(flags);
    return {Kind::infinity, negative};
  }
  if (a.kind == Kind::zero || b.kind == Kind::zero) return {Kind::zero, negative};
  return normalized(negative, a.exponent + b.exponent + 1, (a.m >> 64) * (b.m >> 64));
}

std::uint64_t integer_sqrt(u128 value, bool& exact) {
  u128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const u128 trial = root | (u128{1} << bit);
    if (trial * trial <= value) root = trial;
  }
  exact = root * root == value;
  return static_cast<std::uint64_t>(root);
}

}  // namespace

std::uint64_t add(Format f, std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags) {
  return pack(f, sum(unpack(f, a), unpack(f, b), rm, flags), rm, flags);
}

std::uint64_t mul(Format f, std::uint64_t a, std::uint64_t b, unsigned rm, std::uint32_t& flags) {
  return pack(f, product(unpack(f, a), unpack(f, b), flags), rm, flags);
}

std::uint64_t fma(Format f, std::uint64_t a, std::uint64_t b, std::uint64_t c, unsigned rm,
                  std::uint32_t& flags) {
  // An invalid product (infinity times zero) is invalid even if c is a quiet NaN.
  const Number p = product(unpack(f, a), unpack(f, b), flags);
  return pack(f, sum(p, unpack(f, c), rm, flags), rm, flags);
}

std::uint64_t div(Format f, std::uint64_t a_bits, std::uint64_t b_bits, unsigned rm, std::uint32_t& flags) {
  const Number a = unpack(f, a_bits), b = unpack(f, b_bits);
  const bool negative = a.negative != b.negative;
  Number q{Kind::zero, negative};
  if (a.signaling || b.signaling) {
    q = invalid(flags);
  } else if (a.kind == Kind::nan || b.kind == Kind::nan) {
    q = kNaN;
  } else if (a.kind == b.kind && a.kind != Kind::finite) {
    q = invalid(flags);  // 0/0, infinity/infinity
  } else if (a.kind == Kind::infinity) {
    q.kind = Kind::infinity;
  } else if (b.kind == Kind::zero) {
    flags |= kDivideByZero;
    q.kind = Kind::infinity;
  } else if (a.kind == Kind::finite && b.kind == Kind::finite) {
    const u128 dividend = a.m >> 1, divisor = b.m >> 64;
    q = normalized(negative, a.exponent - b.exponent,
                   ((dividend / divisor) << 64) | (dividend % divisor != 0));
  }
  return pack(f, q, rm, flags);
}

std::uint64_t sqrt(Format f, std::uint64_t bits, unsigned rm, std::uint32_t& flags) {
  Number a = unpack(f, bits);
  if (a.signaling) {
    a = invalid(flags);
  } else if (a.kind != Kind::nan && a.kind != Kind::zero && a.negative) {
    a = invalid(flags);
  } else if (a.kind == Kind::finite) {
    // An even exponent halves exactly: the radicand's leading one is at bit 126, or 127 if the exponent was
    // odd.
    const int odd = a.exponent & 1;
    bool exact;
    const std::uint64_t root = integer_sqrt(odd ? a.m : a.m >> 1, exact);
    a = normalized(false, (a.exponent - odd) / 2, (u128{root} << 64) | !exact);
  }
  return pack(f, a, rm, flags);
}

std::uint64_t convert(Format from, Format to, std::uint64_t bits, unsigned rm, std::uint32_t& flags) {
  const Number a = unpack(from, bits);
  if (a.signaling) flags |= kInvalid;
  return pack(to, a, rm, flags);
}

std::uint64_t from_integer(Format f, bool negative, std::uint64_t magnitude, unsigned rm,
                           std::uint32_t& flags) {
  if (magnitude == 0) return 0;
  return pack(f, normalized(negative, 127, magnitude), rm, flags);
}

std::uint64_t to_integer(Format f, std::uint64_t bits, int width, bool is_signed, unsigned rm,
                         std::uint32_t& flags) {
  const Number a = unpack(f, bits);
  const std::uint64_t all_ones = ~std::uint64_t{0};
  const std::uint64_t max = is_signed ? all_ones >> (65 - width) : all_ones;  // sign-extended results
  const std::uint64_t min = is_signed ? all_ones << (width - 1) : 0;
  const auto saturate = [&] {
    flags |= kInvalid;
    return a.kind != Kind::nan && a.negative ? min : max;
  };
  if (a.kind == Kind::zero) return 0;
  if (a.kind != Kind::finite || a.exponent >= 64) return saturate();
  const Rounded r = round_at(a.m, 127 - a.exponent, rm, a.negative);
  const u128 limit = a.negative ? (is_signed ? u128{1} << (width - 1) : 0)
                                : (is_signed ? (u128{1} << (width - 1)) - 1 : (u128{1} << width) - 1);
  if (r.value > limit) return saturate();
  if (r.inexact) flags |= kInexact;
  const auto magnitude = static_cast<std::uint64_t>(r.value);
  const std::uint64_t value = a.negative ? 0 - magnitude : magnitude;
  return width == 32 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)))
                     : value;
}

std::uint64_t to_integral(Format f, std::uint64_t bits, unsigned rm, std::uint32_t& flags) {
  const Number a = unpack(f, bits);
  if (a.signaling) flags |= kInvalid;
  if (a.kind == Kind::nan) return f.canonical_nan();
  if (a.kind != Kind::finite || a.exponent >= f.fraction_bits) return bits;
  const Rounded r = round_at(a.m, 127 - a.exponent, rm, a.negative);
  if (r.inexact) flags |= kInexact;
  // The rounded value has no more bits than a fraction: it is exact. A zero keeps the sign.
  return (bits & f.sign_bit()) | from_integer(f, false, static_cast<std::uint64_t>(r.value), rm, flags);
}

std::uint64_t to_int32_modulo(std::uint64_t bits, std::uint32_t& flags) {
  const Number a = unpack(kDouble, bits);
  if (a.kind == Kind::zero) return 0;
  if (a.kind != Kind::finite) {
    flags |= kInvalid;
    return 0;
  }
  constexpr int kFarOut = 127;  // from here on the low 32 bits are zeros: a double has 53 that are not
  if (a.exponent >= kFarOut) {
    flags |= kInvalid;
    return 0;
  }
  const Rounded r = round_at(a.m, 127 - a.exponent, kTowardZero, a.negative);
  constexpr u128 kLimit = u128{1} << 31;
  if (r.value >= (a.negative ? kLimit + 1 : kLimit)) {
    flags |= kInvalid;
  } else if (r.inexact) {
    flags |= kInexact;
  }
  const auto low = static_cast<std::uint32_t>(r.value);
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(static_cast<std::int32_t>(a.negative ? 0 - low : low)));
}

}  // namespace rubato::chip::isa::soft
