// Floating point: results, flags, rounding, NaN boxing and conversions by hand; the host's arithmetic against
// the integer one on random operands; and that flags reach the guest only when they are its own.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "base/rng.hpp"
#include "chip/isa/fp.hpp"
#include "tests/chip/isa/machine.hpp"

namespace rubato::chip::isa::test {
namespace {

enum : std::uint64_t { NX = 1, UF = 2, OF = 4, DZ = 8, NV = 16 };
enum : unsigned { RNE, RTZ, RDN, RUP, RMM, DYN = 7 };

constexpr std::uint64_t d(double v) { return std::bit_cast<std::uint64_t>(v); }
constexpr std::uint64_t s(float v) { return fp::box(std::bit_cast<std::uint32_t>(v)); }
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kNaN = 0x7ff8'0000'0000'0000, kSignaling = 0x7ff0'0000'0000'0001,
                        kSingleNaN = 0xffff'ffff'7fc0'0000, kOnes = ~std::uint64_t{0};

struct Outcome {
  std::uint64_t value, flags;
  bool operator==(const Outcome&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << std::hex << "0x" << o.value << " flags 0x" << o.flags;
  }
};

/// Runs an instruction on f1, f2, f3 (or x1 where it reads an integer), result from f4 (or x4).
Outcome run(std::string_view name, unsigned rm, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0,
            unsigned frm = 0) {
  static Machine m;
  if (m.end() > kCode + 15 * AddressSpace::kPageBytes) {
    ADD_FAILURE() << "out of code";
    return {};
  }
  m.hart.pc = m.end();
  m.emit(name, {.rd = 4, .rs1 = 1, .rs2 = 2, .rs3 = 3, .rm = rm});
  m.emit("ecall");
  const Encoding& e = encoding(name);
  (e.floats & kF1 ? m.hart.f[1] : m.hart.x[1]) = a;
  m.hart.f[2] = b;
  m.hart.f[3] = c;
  m.hart.fcsr = frm << 5;
  EXPECT_EQ(m.run().reason, StopReason::ecall);
  return {e.floats & kFd ? m.hart.f[4] : m.hart.x[4], m.hart.fcsr & 31};
}

TEST(FloatingPoint, ExactResultsRaiseNothing) {
  EXPECT_EQ(run("fadd.d", RNE, d(1.5), d(2.25)), (Outcome{d(3.75), 0}));
  EXPECT_EQ(run("fmul.s", RNE, s(3), s(0.5f)), (Outcome{s(1.5f), 0}));
  EXPECT_EQ(run("fdiv.d", RNE, d(1), d(4)), (Outcome{d(0.25), 0}));
  EXPECT_EQ(run("fsqrt.d", RNE, d(2.25)), (Outcome{d(1.5), 0}));
  EXPECT_EQ(run("fmadd.d", RNE, d(2), d(3), d(4)), (Outcome{d(10), 0}));
  EXPECT_EQ(run("fmsub.d", RNE, d(2), d(3), d(4)), (Outcome{d(2), 0}));
  EXPECT_EQ(run("fnmsub.d", RNE, d(2), d(3), d(4)), (Outcome{d(-2), 0}));
  EXPECT_EQ(run("fnmadd.d", RNE, d(2), d(3), d(4)), (Outcome{d(-10), 0}));
}

TEST(FloatingPoint, FlagsOfTheFiveExceptions) {
  EXPECT_EQ(run("fdiv.d", RNE, d(1), d(3)).flags, NX);
  EXPECT_EQ(run("fdiv.d", RNE, d(1), d(0)), (Outcome{d(kInf), DZ}));
  EXPECT_EQ(run("fdiv.d", RNE, d(0), d(0)), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fadd.d", RNE, d(kInf), d(-kInf)), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fsqrt.d", RNE, d(-1)), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fsqrt.d", RNE, d(-0.0)), (Outcome{d(-0.0), 0}));
  EXPECT_EQ(run("fmul.d", RNE, d(0x1p1000), d(0x1p1000)), (Outcome{d(kInf), OF | NX}));
  EXPECT_EQ(run("fmul.d", RNE, d(0x1p-1000), d(0x1p-1000)), (Outcome{d(0), UF | NX}));
  EXPECT_EQ(run("fmul.d", RNE, d(0x1p-1022), d(0.5)), (Outcome{d(0x1p-1023), 0})) << "exact subnormal";
}

// 1 + 2^-24 lies halfway between two singles; 1 + 3 * 2^-24 halfway with an odd lower neighbour.
TEST(FloatingPoint, EachRoundingModeOnTies) {
  const float one = 1, up = 1 + 0x1p-23f, up2 = 1 + 0x1p-22f;
  const std::uint64_t half = s(0x1p-24f), minus_half = s(-0x1p-24f);
  EXPECT_EQ(run("fadd.s", RNE, s(one), half).value, s(one));
  EXPECT_EQ(run("fadd.s", RTZ, s(one), half).value, s(one));
  EXPECT_EQ(run("fadd.s", RDN, s(one), half).value, s(one));
  EXPECT_EQ(run("fadd.s", RUP, s(one), half).value, s(up));
  EXPECT_EQ(run("fadd.s", RMM, s(one), half), (Outcome{s(up), NX}));
  EXPECT_EQ(run("fadd.s", RNE, s(up), half).value, s(up2));
  EXPECT_EQ(run("fadd.s", RTZ, s(-one), minus_half).value, s(-one));
  EXPECT_EQ(run("fadd.s", RDN, s(-one), minus_half).value, s(-up));
  EXPECT_EQ(run("fadd.s", RUP, s(-one), minus_half).value, s(-one));
  EXPECT_EQ(run("fadd.s", RMM, s(-one), minus_half).value, s(-up));
  for (unsigned frm = 0; frm <= 4; ++frm)
    EXPECT_EQ(run("fadd.s", DYN, s(one), half, 0, frm), run("fadd.s", frm, s(one), half)) << frm;
}

TEST(FloatingPoint, OverflowGoesToInfinityOrTheLargestNumberByMode) {
  const double max = std::numeric_limits<double>::max();
  EXPECT_EQ(run("fadd.d", RTZ, d(max), d(max)), (Outcome{d(max), OF | NX}));
  EXPECT_EQ(run("fadd.d", RDN, d(max), d(max)), (Outcome{d(max), OF | NX}));
  EXPECT_EQ(run("fadd.d", RUP, d(max), d(max)), (Outcome{d(kInf), OF | NX}));
  EXPECT_EQ(run("fadd.d", RMM, d(-max), d(-max)), (Outcome{d(-kInf), OF | NX}));
  EXPECT_EQ(run("fadd.d", RUP, d(-max), d(-max)), (Outcome{d(-max), OF | NX}));
}

TEST(FloatingPoint, ExactZeroSumsAreNegativeOnlyRoundingDown) {
  for (unsigned rm = 0; rm <= 4; ++rm)
    EXPECT_EQ(run("fsub.d", rm, d(1), d(1)).value, rm == RDN ? d(-0.0) : d(0.0)) << rm;
}

// Just below the smallest normal number: tiny unless rounding reaches it with an unbounded exponent too.
TEST(FloatingPoint, TininessIsDetectedAfterRounding) {
  const double normal = 0x1p-1022;
  const double below = std::nextafter(normal, 0);
  for (unsigned rm : {RNE, RMM, RUP})
    EXPECT_EQ(run("fmadd.d", rm, d(0x1p-60), d(-0x1p-1022), d(normal)), (Outcome{d(normal), NX})) << rm;
  EXPECT_EQ(run("fmadd.d", RTZ, d(0x1p-60), d(-0x1p-1022), d(normal)), (Outcome{d(below), UF | NX}));
}

TEST(FloatingPoint, ResultsThatAreNaNAreCanonical) {
  EXPECT_EQ(run("fadd.d", RNE, 0xfff8'0000'dead'beef, d(1)), (Outcome{kNaN, 0}));
  EXPECT_EQ(run("fadd.d", RNE, kSignaling, d(1)), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fcvt.s.d", RNE, 0xfff8'0000'dead'beef), (Outcome{kSingleNaN, 0}));
  EXPECT_EQ(run("fcvt.d.s", RNE, s(std::numeric_limits<float>::signaling_NaN())), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fsgnjx.d", 2, kSignaling, d(-1)), (Outcome{kSignaling | 1ull << 63, 0}))
      << "moves do not touch NaNs";
}

TEST(FloatingPoint, InfinityTimesZeroIsInvalidEvenWithAQuietAddend) {
  for (unsigned rm = 0; rm <= 4; ++rm) {
    EXPECT_EQ(run("fmadd.d", rm, d(kInf), d(0), kNaN), (Outcome{kNaN, NV})) << rm;
    EXPECT_EQ(run("fmadd.d", rm, d(2), d(0), kNaN), (Outcome{kNaN, 0})) << rm;
  }
}

TEST(FloatingPoint, SinglesThatAreNotBoxedAreNaN) {
  const std::uint64_t loose = 0x3f80'0000;  // 1.0f without its box
  EXPECT_EQ(run("fadd.s", RNE, loose, s(1)), (Outcome{kSingleNaN, 0}));
  EXPECT_EQ(run("fsgnj.s", 0, loose, s(-1)).value, 0xffff'ffff'ffc0'0000);
  EXPECT_EQ(run("fclass.s", 1, loose).value, 1u << 9);
  EXPECT_EQ(run("fmv.x.w", 0, loose).value, 0x3f80'0000u) << "moves take the bits";
  EXPECT_EQ(run("fmv.w.x", 0, 0x3f80'0000).value, s(1));
}

TEST(FloatingPoint, MinimumAndMaximumPreferNumbersAndOrderZeros) {
  EXPECT_EQ(run("fmin.d", 0, d(0.0), d(-0.0)), (Outcome{d(-0.0), 0}));
  EXPECT_EQ(run("fmax.d", 1, d(-0.0), d(0.0)), (Outcome{d(0.0), 0}));
  EXPECT_EQ(run("fmin.d", 0, d(-1), d(-2)), (Outcome{d(-2), 0}));
  EXPECT_EQ(run("fmax.d", 1, d(-1), d(2)), (Outcome{d(2), 0}));
  EXPECT_EQ(run("fmin.d", 0, kNaN, d(1)), (Outcome{d(1), 0}));
  EXPECT_EQ(run("fmax.d", 1, d(1), kSignaling), (Outcome{d(1), NV}));
  EXPECT_EQ(run("fmin.d", 0, 0xfff8'0000'0000'0007, kNaN), (Outcome{kNaN, 0}));
}

TEST(FloatingPoint, ComparisonsOfNaNs) {
  EXPECT_EQ(run("feq.d", 2, kNaN, d(1)), (Outcome{0, 0}));
  EXPECT_EQ(run("feq.d", 2, kSignaling, d(1)), (Outcome{0, NV}));
  EXPECT_EQ(run("flt.d", 1, kNaN, d(1)), (Outcome{0, NV}));
  EXPECT_EQ(run("fle.d", 0, d(1), kNaN), (Outcome{0, NV}));
  EXPECT_EQ(run("feq.d", 2, d(0.0), d(-0.0)), (Outcome{1, 0}));
  EXPECT_EQ(run("flt.d", 1, d(-0.0), d(0.0)), (Outcome{0, 0}));
  EXPECT_EQ(run("fle.s", 0, s(-1), s(1)), (Outcome{1, 0}));
}

TEST(FloatingPoint, TheTenClasses) {
  const std::uint64_t values[] = {d(-kInf),     d(-1), d(-0x1p-1023), d(-0.0),    d(0.0),
                                  d(0x1p-1023), d(1),  d(kInf),       kSignaling, kNaN};
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(run("fclass.d", 1, values[i]).value, 1u << i) << i;
}

TEST(FloatingPoint, ConversionsToIntegersSaturate) {
  EXPECT_EQ(run("fcvt.w.d", RTZ, d(2147483647.5)), (Outcome{0x7fff'ffff, NX}));
  EXPECT_EQ(run("fcvt.w.d", RTZ, d(2147483648.0)), (Outcome{0x7fff'ffff, NV}));
  EXPECT_EQ(run("fcvt.w.d", RNE, d(2147483647.5)), (Outcome{0x7fff'ffff, NV})) << "rounds out of range";
  EXPECT_EQ(run("fcvt.w.d", RTZ, d(-2147483648.9)), (Outcome{0xffff'ffff'8000'0000, NX}));
  EXPECT_EQ(run("fcvt.w.d", RTZ, d(-2147483649.0)), (Outcome{0xffff'ffff'8000'0000, NV}));
  EXPECT_EQ(run("fcvt.w.d", RTZ, kNaN), (Outcome{0x7fff'ffff, NV}));
  EXPECT_EQ(run("fcvt.wu.d", RTZ, d(4294967295.5)), (Outcome{kOnes, NX})) << "sign-extended";
  EXPECT_EQ(run("fcvt.wu.d", RTZ, d(-0.9)), (Outcome{0, NX}));
  EXPECT_EQ(run("fcvt.wu.d", RTZ, d(-1)), (Outcome{0, NV}));
  EXPECT_EQ(run("fcvt.wu.d", RDN, d(-0.5)), (Outcome{0, NV}));
  EXPECT_EQ(run("fcvt.wu.d", RTZ, kNaN), (Outcome{kOnes, NV}));
  EXPECT_EQ(run("fcvt.l.d", RTZ, d(0x1p63)), (Outcome{kOnes >> 1, NV}));
  EXPECT_EQ(run("fcvt.l.d", RTZ, d(-0x1p63)), (Outcome{1ull << 63, 0}));
  EXPECT_EQ(run("fcvt.lu.d", RTZ, d(0x1p63)), (Outcome{1ull << 63, 0}));
  EXPECT_EQ(run("fcvt.lu.d", RTZ, d(0x1p64)), (Outcome{kOnes, NV}));
  EXPECT_EQ(run("fcvt.lu.s", RTZ, s(-kInf)), (Outcome{0, NV}));
  EXPECT_EQ(run("fcvt.l.s", RTZ, s(kInf)), (Outcome{kOnes >> 1, NV}));
}

TEST(FloatingPoint, ConversionsToIntegersRoundInEveryMode) {
  const std::pair<unsigned, std::int64_t> of_two_and_a_half[] = {
      {RNE, 2}, {RTZ, 2}, {RDN, 2}, {RUP, 3}, {RMM, 3}};
  for (const auto& [rm, expected] : of_two_and_a_half)
    EXPECT_EQ(run("fcvt.l.d", rm, d(2.5)), (Outcome{std::uint64_t(expected), NX})) << rm;
  const std::pair<unsigned, std::int64_t> of_minus_half[] = {
      {RNE, 0}, {RTZ, 0}, {RDN, -1}, {RUP, 0}, {RMM, -1}};
  for (const auto& [rm, expected] : of_minus_half)
    EXPECT_EQ(run("fcvt.w.s", rm, s(-0.5f)), (Outcome{std::uint64_t(expected), NX})) << rm;
}

TEST(FloatingPoint, ConversionsFromIntegersRound) {
  EXPECT_EQ(run("fcvt.d.l", RNE, (1ull << 53) + 1), (Outcome{d(0x1p53), NX}));
  EXPECT_EQ(run("fcvt.d.l", RUP, (1ull << 53) + 1), (Outcome{d(0x1p53 + 2), NX}));
  EXPECT_EQ(run("fcvt.d.lu", RNE, kOnes), (Outcome{d(0x1p64), NX}));
  EXPECT_EQ(run("fcvt.d.lu", RTZ, kOnes), (Outcome{d(0x1.fffffffffffffp63), NX}));
  EXPECT_EQ(run("fcvt.s.w", RMM, (1u << 24) + 1), (Outcome{s(0x1p24f + 2), NX}));
  EXPECT_EQ(run("fcvt.d.w", RNE, 0xffff'ffff'8000'0000), (Outcome{d(-2147483648.0), 0}));
  EXPECT_EQ(run("fcvt.d.wu", RNE, 0xffff'ffff'8000'0000), (Outcome{d(2147483648.0), 0}));
}

TEST(FloatingPoint, AReservedDynamicModeIsAnIllegalInstruction) {
  Machine m;
  const std::uint32_t word = encode("fadd.d", {.rd = 4, .rs1 = 1, .rs2 = 2, .rm = DYN});
  m.emit(word);
  m.hart.fcsr = 5u << 5;
  const RunResult r = m.run();
  EXPECT_EQ(r.fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(r.fault.address, word);
}

TEST(FloatingPoint, FlagsAccumulateAndAreReadAndWrittenThroughTheCsrs) {
  Machine m;
  m.hart.f[1] = d(1);
  m.hart.f[2] = d(3);
  m.emit("fdiv.d", {.rd = 3, .rs1 = 1, .rs2 = 2});
  m.emit("csrrs", {.rd = 5, .imm = csr::fflags});
  m.emit("fdiv.d", {.rd = 3, .rs1 = 1, .rs2 = 0});  // f0 = 0
  m.emit("csrrwi", {.rd = 6, .rs1 = RUP, .imm = csr::frm});
  m.emit("csrrs", {.rd = 7, .imm = csr::fcsr});
  m.emit("csrrwi", {.rd = 8, .rs1 = 0, .imm = csr::fflags});
  m.emit("csrrs", {.rd = 9, .imm = csr::fcsr});
  m.emit("ecall");
  m.run();
  EXPECT_EQ(m.x(5), NX);
  EXPECT_EQ(m.x(6), 0u);
  EXPECT_EQ(m.x(7), (RUP << 5) | DZ | NX);
  EXPECT_EQ(m.x(8), DZ | NX);
  EXPECT_EQ(m.x(9), RUP << 5);
}

TEST(FloatingPoint, TheHostsOwnFlagsStayOutOfTheGuest) {
  Machine m;
  m.emit("ecall");
  volatile double three = 3;
  three = 1 / three;  // inexact on the host
  m.run();
  EXPECT_EQ(m.hart.fcsr, 0u);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

/// Operands that meet: random, near powers of two, subnormal, special.
std::uint64_t operand(Rng& rng, soft::Format f) {
  const std::uint64_t sign = rng() & f.sign_bit(), fraction = rng() & (f.infinity() ^ (f.sign_bit() - 1));
  const std::uint64_t bias = static_cast<std::uint64_t>(f.bias());
  switch (rng.below(6)) {
    case 0:
      return sign | fraction;
    case 1:
      return sign | (rng.below(3) * bias) << f.fraction_bits;
    case 2:
      return sign | f.infinity() | (rng.below(2) * fraction);
    case 3:
      return sign | (bias + rng.below(4)) << f.fraction_bits | (rng.below(2) * fraction);
    case 4:
      return sign | (rng.below(64)) << f.fraction_bits | fraction;
    default:
      return rng() & (f.sign_bit() | (f.sign_bit() - 1));
  }
}

template <class F>
void compare_with_host(std::uint64_t seed) {
  Rng rng(seed);
  constexpr soft::Format f = F::kFormat;
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t a = fp::boxed<F>(operand(rng, f)), b = fp::boxed<F>(operand(rng, f)),
                        c = fp::boxed<F>(operand(rng, f));
    const auto x = fp::unbox<F>(a), y = fp::unbox<F>(b), z = fp::unbox<F>(c);
    const auto check = [&](const char* what, auto&& by_host, auto&& by_integers) {
      HartState state;
      fp::enter();
      const std::uint64_t host = by_host(state.fcsr);
      fp::leave(state);
      std::uint32_t flags = 0;
      const std::uint64_t integers = fp::boxed<F>(by_integers(flags));
      ASSERT_EQ((Outcome{host, state.fcsr}), (Outcome{integers, flags}))
          << what << " of " << std::hex << x << ' ' << y << ' ' << z;
    };
    using Flags = std::uint32_t;
    check(
        "add", [&](Flags& g) { return fp::fadd<F>(a, b, 0, g); },
        [&](Flags& g) { return soft::add(f, x, y, 0, g); });
    check(
        "mul", [&](Flags& g) { return fp::fmul<F>(a, b, 0, g); },
        [&](Flags& g) { return soft::mul(f, x, y, 0, g); });
    check(
        "div", [&](Flags& g) { return fp::fdiv<F>(a, b, 0, g); },
        [&](Flags& g) { return soft::div(f, x, y, 0, g); });
    check(
        "sqrt", [&](Flags& g) { return fp::sqrt<F>(a, 0, g); },
        [&](Flags& g) { return soft::sqrt(f, x, 0, g); });
    check(
        "fma", [&](Flags& g) { return fp::fmadd<F>(a, b, c, 0, g); },
        [&](Flags& g) { return soft::fma(f, x, y, z, 0, g); });
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace

// Two independent implementations, the host's processor and integers, agree on bits and flags.
TEST(FloatingPoint, DoublesByIntegersEqualTheHosts) { compare_with_host<fp::f64>(1); }
TEST(FloatingPoint, SinglesByIntegersEqualTheHosts) { compare_with_host<fp::f32>(2); }

}  // namespace rubato::chip::isa::test
