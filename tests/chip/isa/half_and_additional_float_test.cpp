// Zfhmin and Zfa: values by hand; every half against its value as a number; narrowing and rounding to
// integral values against the host's arithmetic on random operands in all rounding modes.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/rng.hpp"
#include "chip/isa/fp.hpp"
#include "tests/chip/isa/machine.hpp"

namespace rubato::chip::isa::test {
namespace {

constexpr std::uint64_t NX = 1, UF = 2, OF = 4, NV = 16;
enum : unsigned { RNE, RTZ, RDN, RUP, RMM };

constexpr std::uint64_t d(double v) { return std::bit_cast<std::uint64_t>(v); }
constexpr std::uint64_t s(float v) { return fp::box(std::bit_cast<std::uint32_t>(v)); }
constexpr std::uint64_t h(unsigned v) { return 0xffff'ffff'ffff'0000 | v; }
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kNaN = 0x7ff8'0000'0000'0000, kSignaling = 0x7ff0'0000'0000'0001,
                        kSingleNaN = 0xffff'ffff'7fc0'0000, kSingleSignaling = 0xffff'ffff'7f80'0001;

struct Outcome {
  std::uint64_t value, flags;
  bool operator==(const Outcome&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << std::hex << "0x" << o.value << " flags 0x" << o.flags;
  }
};

/// A machine that runs a single instruction again and again, on f1 and f2 (or x1), with its result in f4 (or
/// x4).
class One {
 public:
  One(std::string_view name, unsigned rm, unsigned rs1 = 1) : e_(encoding(name)) {
    m_.emit(name, {.rd = 4, .rs1 = rs1, .rs2 = 2, .rm = rm});
    m_.emit("ecall");
  }
  Outcome operator()(std::uint64_t a, std::uint64_t b = 0) {
    m_.hart.pc = kCode;
    (e_.floats & kF1 ? m_.hart.f[1] : m_.hart.x[1]) = a;
    m_.hart.f[2] = b;
    m_.hart.fcsr = 0;
    EXPECT_EQ(m_.run().reason, StopReason::ecall);
    return {e_.floats & kFd ? m_.hart.f[4] : m_.hart.x[4], m_.hart.fcsr & 31};
  }

 private:
  const Encoding& e_;
  Machine m_;
};
Outcome run(std::string_view name, unsigned rm, std::uint64_t a, std::uint64_t b = 0) {
  return One(name, rm)(a, b);
}

// ---- Zfhmin ----

TEST(Half, EveryHalfIsTheNumberThatItsFieldsSay) {
  One single("fcvt.s.h", RNE), wide("fcvt.d.h", RNE), back("fcvt.h.s", RNE), back_wide("fcvt.h.d", RNE);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 0x3ff);
    if (exponent == 31 && fraction != 0) {
      const std::uint64_t flags = fraction < 0x200 ? NV : 0;
      ASSERT_EQ(single(h(bits)), (Outcome{kSingleNaN, flags})) << std::hex << bits;
      ASSERT_EQ(wide(h(bits)), (Outcome{kNaN, flags})) << std::hex << bits;
      continue;
    }
    double v = exponent == 31  ? kInf
               : exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25);
    if (bits >> 15) v = -v;
    ASSERT_EQ(single(h(bits)), (Outcome{s(static_cast<float>(v)), 0})) << std::hex << bits;
    ASSERT_EQ(wide(h(bits)), (Outcome{d(v), 0})) << std::hex << bits;
    ASSERT_EQ(back(s(static_cast<float>(v))), (Outcome{h(bits), 0})) << std::hex << bits;
    ASSERT_EQ(back_wide(d(v)), (Outcome{h(bits), 0})) << std::hex << bits;
  }
}

TEST(Half, NarrowingRoundsAndRaises) {
  const double one = 1, tie = 1 + 0x1p-11, above = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(run("fcvt.h.d", RNE, d(one)), (Outcome{h(0x3c00), 0}));
  EXPECT_EQ(run("fcvt.h.d", RNE, d(tie)), (Outcome{h(0x3c00), NX}));
  EXPECT_EQ(run("fcvt.h.d", RMM, d(tie)), (Outcome{h(0x3c01), NX}));
  EXPECT_EQ(run("fcvt.h.d", RNE, d(above)), (Outcome{h(0x3c01), NX})) << "rounded once";
  EXPECT_EQ(run("fcvt.h.d", RTZ, d(above)), (Outcome{h(0x3c00), NX}));
  EXPECT_EQ(run("fcvt.h.d", RUP, d(-above)), (Outcome{h(0xbc00), NX}));
  EXPECT_EQ(run("fcvt.h.d", RDN, d(-above)), (Outcome{h(0xbc01), NX}));
  EXPECT_EQ(run("fcvt.h.d", RNE, d(65519)), (Outcome{h(0x7bff), NX}));
  EXPECT_EQ(run("fcvt.h.d", RNE, d(65520)), (Outcome{h(0x7c00), OF | NX}));
  EXPECT_EQ(run("fcvt.h.s", RTZ, s(1e30f)), (Outcome{h(0x7bff), OF | NX}));
  EXPECT_EQ(run("fcvt.h.s", RNE, s(0x1p-25f)), (Outcome{h(0), UF | NX})) << "half of the smallest, to even";
  EXPECT_EQ(run("fcvt.h.s", RUP, s(0x1p-25f)), (Outcome{h(1), UF | NX}));
  EXPECT_EQ(run("fcvt.h.s", RNE, kSingleSignaling), (Outcome{h(0x7e00), NV}));
  EXPECT_EQ(run("fcvt.h.s", RNE, 0x3f80'0000), (Outcome{h(0x7e00), 0})) << "not boxed: a NaN";
  EXPECT_EQ(run("fcvt.s.h", RNE, 0xffff'ffff'0000'3c00), (Outcome{kSingleNaN, 0}))
      << "boxed as a single only";
}

TEST(Half, MovesLoadsAndStores) {
  EXPECT_EQ(run("fmv.x.h", 0, 0x1234'8000).value, 0xffff'ffff'ffff'8000) << "whatever is above";
  EXPECT_EQ(run("fmv.h.x", 0, 0x1234'8000).value, h(0x8000));
  Machine m;
  m.memory.store(kData, std::uint64_t{0x1111'2222'3333'7e01});
  m.x(5) = kData;
  m.hart.f[2] = 0xabcd;
  m.emit("flh", {.rd = 1, .rs1 = 5});
  m.emit("fsh", {.rs1 = 5, .rs2 = 2, .imm = 3});  // misaligned
  m.emit("ecall");
  ASSERT_EQ(m.run().reason, StopReason::ecall);
  EXPECT_EQ(m.hart.f[1], h(0x7e01));
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0x1111'22ab'cd33'7e01u);
}

// ---- Zfa ----

TEST(AdditionalFloat, TheConstantsOfTheManual) {
  const double values[] = {-1.0,    0 /* by format */,
                           0x1p-16, 0x1p-15,
                           0x1p-8,  0x1p-7,
                           0.0625,  0.125,
                           0.25,    0.3125,
                           0.375,   0.4375,
                           0.5,     0.625,
                           0.75,    0.875,
                           1.0,     1.25,
                           1.5,     1.75,
                           2.0,     2.5,
                           3.0,     4.0,
                           8.0,     16.0,
                           128.0,   256.0,
                           32768,   65536,
                           kInf,    0 /* NaN */};
  for (unsigned i = 0; i < 32; ++i) {
    const Outcome single = One("fli.s", 0, i)(0), wide = One("fli.d", 0, i)(0);
    if (i == 1) {
      EXPECT_EQ(single.value, 0xffff'ffff'0080'0000);
      EXPECT_EQ(wide.value, 0x0010'0000'0000'0000u);
    } else if (i == 31) {
      EXPECT_EQ(single.value, kSingleNaN);
      EXPECT_EQ(wide.value, kNaN);
    } else {
      EXPECT_EQ(single.value, s(static_cast<float>(values[i]))) << i;
      EXPECT_EQ(wide.value, d(values[i])) << i;
    }
    EXPECT_EQ(single.flags | wide.flags, 0u);
  }
}

TEST(AdditionalFloat, ANanWinsMinimumAndMaximum) {
  EXPECT_EQ(run("fminm.d", 0, d(1), d(2)), (Outcome{d(1), 0}));
  EXPECT_EQ(run("fmaxm.d", 0, d(1), d(2)), (Outcome{d(2), 0}));
  EXPECT_EQ(run("fminm.d", 0, d(0.0), d(-0.0)), (Outcome{d(-0.0), 0}));
  EXPECT_EQ(run("fmaxm.s", 0, s(-0.0f), s(0.0f)), (Outcome{s(0.0f), 0}));
  EXPECT_EQ(run("fminm.d", 0, d(1), kNaN), (Outcome{kNaN, 0}));
  EXPECT_EQ(run("fmaxm.d", 0, 0xfff8'0000'0000'0123, d(1)), (Outcome{kNaN, 0}));
  EXPECT_EQ(run("fmaxm.d", 0, kSignaling, d(1)), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fminm.s", 0, s(1), 0x3f80'0000), (Outcome{kSingleNaN, 0})) << "not boxed";
}

TEST(AdditionalFloat, QuietComparisonsAreInvalidForSignalingNansOnly) {
  for (const char* name : {"fltq.d", "fleq.d"}) {
    EXPECT_EQ(run(name, 0, d(1), d(2)), (Outcome{1, 0})) << name;
    EXPECT_EQ(run(name, 0, d(2), d(1)), (Outcome{0, 0})) << name;
    EXPECT_EQ(run(name, 0, d(1), kNaN), (Outcome{0, 0})) << name;
    EXPECT_EQ(run(name, 0, kSignaling, d(1)), (Outcome{0, NV})) << name;
  }
  EXPECT_EQ(run("fltq.s", 0, s(1), s(1)).value, 0u);
  EXPECT_EQ(run("fleq.s", 0, s(1), s(1)).value, 1u);
  EXPECT_EQ(run("fleq.s", 0, kSingleNaN, s(1)), (Outcome{0, 0}));
}

TEST(AdditionalFloat, RoundingToIntegralKeepsSignsAndOnlyFroundnxNotesInexactness) {
  EXPECT_EQ(run("fround.d", RNE, d(2.5)), (Outcome{d(2), 0}));
  EXPECT_EQ(run("froundnx.d", RNE, d(2.5)), (Outcome{d(2), NX}));
  EXPECT_EQ(run("fround.d", RMM, d(2.5)), (Outcome{d(3), 0}));
  EXPECT_EQ(run("fround.d", RMM, d(-0.5)), (Outcome{d(-1), 0}));
  EXPECT_EQ(run("fround.d", RNE, d(-0.5)), (Outcome{d(-0.0), 0}));
  EXPECT_EQ(run("fround.d", RUP, d(0x1p-1074)), (Outcome{d(1), 0}));
  EXPECT_EQ(run("fround.d", RDN, d(0x1p-1074)), (Outcome{d(0), 0}));
  EXPECT_EQ(run("froundnx.d", RNE, d(3)), (Outcome{d(3), 0}));
  EXPECT_EQ(run("froundnx.s", RNE, s(0x1p23f + 1)), (Outcome{s(0x1p23f + 1), 0}));
  EXPECT_EQ(run("froundnx.d", RUP, d(-kInf)), (Outcome{d(-kInf), 0}));
  EXPECT_EQ(run("fround.d", RNE, kSignaling), (Outcome{kNaN, NV}));
  EXPECT_EQ(run("fround.s", RNE, 0xffff'ffff'ffc0'0001), (Outcome{kSingleNaN, 0}));
}

TEST(AdditionalFloat, RandomOperandsRoundAsOnTheHost) {
  struct Mode {
    unsigned rm;
    int host;
  };
  Rng rng(11);
  for (const Mode mode :
       {Mode{RNE, FE_TONEAREST}, {RTZ, FE_TOWARDZERO}, {RDN, FE_DOWNWARD}, {RUP, FE_UPWARD}}) {
    One wide("froundnx.d", mode.rm), single("froundnx.s", mode.rm);
    for (int i = 0; i < 3000; ++i) {
      // Exponents from far below one to just above the last fraction.
      const std::uint64_t sign = rng() & (std::uint64_t{1} << 63);
      const double v =
          std::bit_cast<double>((1020 + rng.below(60)) << 52 | (rng() >> 12 & ~(rng() >> 12)) | sign);
      const float w = static_cast<float>(v);
      std::fesetround(mode.host);
      const volatile double expected = std::nearbyint(v);
      const volatile float expected_single = std::nearbyintf(w);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(wide(d(v)), (Outcome{d(expected), v == expected ? 0 : NX})) << v << " mode " << mode.rm;
      ASSERT_EQ(single(s(w)), (Outcome{s(expected_single), w == expected_single ? 0 : NX})) << w;
    }
  }
  One away("fround.d", RMM);
  for (int i = 0; i < 3000; ++i) {
    const double v = static_cast<double>(static_cast<std::int64_t>(rng.below(1 << 20)) - (1 << 19)) / 8;
    ASSERT_EQ(away(d(v)).value, d(std::round(v))) << v;
  }
}

TEST(AdditionalFloat, ModularConversionWrapsAndHasTheFlagsOfTheSaturatingOne) {
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(-1.75)), (Outcome{~std::uint64_t{0}, NX}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(0.25)), (Outcome{0, NX}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(0x1p31)), (Outcome{0xffff'ffff'8000'0000, NV}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(-0x1p31)), (Outcome{0xffff'ffff'8000'0000, 0}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(-0x1p31 - 1)), (Outcome{0x7fff'ffff, NV}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(0x1p32 + 5.5)), (Outcome{5, NV})) << "invalid, not inexact";
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(0x1p84 - 0x1p32)), (Outcome{0, NV}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(0x1.0000'0000'0000'1p52)), (Outcome{1, NV}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(0x1p300)), (Outcome{0, NV}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, d(kInf)), (Outcome{0, NV}));
  EXPECT_EQ(run("fcvtmod.w.d", 1, kNaN), (Outcome{0, NV}));
  One saturating("fcvt.w.d", RTZ), modular("fcvtmod.w.d", 1);
  Rng rng(3);
  for (int i = 0; i < 5000; ++i) {
    const double v =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(rng())), -static_cast<int>(rng.below(64)));
    const Outcome ours = modular(d(v));
    ASSERT_EQ(ours.flags, saturating(d(v)).flags) << v;
    // Exact in 128 bits: |v| < 2^63.
    const auto whole = static_cast<__int128>(v);
    ASSERT_EQ(ours.value,
              static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(whole))))
        << v;
  }
}

}  // namespace
}  // namespace rubato::chip::isa::test
