// Zba, Zbb, Zbs, Zicond: values by hand, and random operands against a model that works bit by bit. Then
// cache blocks, pause and the counters that count nothing.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bitset>
#include <functional>
#include <map>
#include <string>

#include "base/rng.hpp"
#include "tests/chip/isa/machine.hpp"

namespace rubato::chip::isa::test {
namespace {

constexpr std::uint64_t kOnes = ~std::uint64_t{0}, kTop = std::uint64_t{1} << 63;

/// A machine that runs a single instruction again and again: x7 = op x5, x6 (or an immediate).
class One {
 public:
  explicit One(std::string_view name, std::int32_t imm = 0) {
    m_.emit(name, {.rd = 7, .rs1 = 5, .rs2 = 6, .imm = imm});
    m_.emit("ecall");
  }
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b = 0) {
    m_.hart.pc = kCode;
    m_.x(5) = a;
    m_.x(6) = b;
    EXPECT_EQ(m_.run().reason, StopReason::ecall);
    return m_.x(7);
  }

 private:
  Machine m_;
};

std::uint64_t result(std::string_view name, std::uint64_t a, std::uint64_t b = 0) { return One(name)(a, b); }
std::uint64_t with_immediate(std::string_view name, std::uint64_t a, std::int32_t imm) {
  return One(name, imm)(a);
}

TEST(BitManipulation, AddressesAreShiftedAndAddedAndUwTakesTheLowWord) {
  EXPECT_EQ(result("sh1add", 3, 100), 106u);
  EXPECT_EQ(result("sh2add", 3, 100), 112u);
  EXPECT_EQ(result("sh3add", kOnes, 100), 92u);
  EXPECT_EQ(result("add.uw", 0xffff'ffff'8000'0000, 1), 0x8000'0001u);
  EXPECT_EQ(result("sh1add.uw", 0xffff'ffff'8000'0000, 1), 0x1'0000'0001u);
  EXPECT_EQ(result("sh3add.uw", 0x1'2000'0000, 5), 0x1'0000'0005u);
  EXPECT_EQ(with_immediate("slli.uw", 0xffff'ffff'8000'0001, 32), 0x8000'0001'0000'0000);
  EXPECT_EQ(with_immediate("slli.uw", kOnes, 63), kTop);
}

TEST(BitManipulation, CountsOfZeroAreTheWidth) {
  EXPECT_EQ(result("clz", 0), 64u);
  EXPECT_EQ(result("ctz", 0), 64u);
  EXPECT_EQ(result("clzw", 0xffff'ffff'0000'0000), 32u);
  EXPECT_EQ(result("ctzw", 0xffff'ffff'0000'0000), 32u);
  EXPECT_EQ(result("clz", 1), 63u);
  EXPECT_EQ(result("clzw", kOnes), 0u);
  EXPECT_EQ(result("ctz", kTop), 63u);
  EXPECT_EQ(result("cpop", kOnes), 64u);
  EXPECT_EQ(result("cpopw", kOnes), 32u);
}

TEST(BitManipulation, MinimumAndMaximumKnowSigns) {
  EXPECT_EQ(result("max", kOnes, 1), 1u);
  EXPECT_EQ(result("maxu", kOnes, 1), kOnes);
  EXPECT_EQ(result("min", kOnes, 1), kOnes);
  EXPECT_EQ(result("minu", kOnes, 1), 1u);
}

TEST(BitManipulation, ExtensionsBytesAndRotations) {
  EXPECT_EQ(result("sext.b", 0x1280), 0xffff'ffff'ffff'ff80);
  EXPECT_EQ(result("sext.h", 0x1'8000), 0xffff'ffff'ffff'8000);
  EXPECT_EQ(result("zext.h", kOnes), 0xffffu);
  EXPECT_EQ(result("orc.b", 0x0100'8000'0010'00ff), 0xff00'ff00'00ff'00ff);
  EXPECT_EQ(result("rev8", 0x0123'4567'89ab'cdef), 0xefcd'ab89'6745'2301);
  EXPECT_EQ(result("rol", kTop | 2, 65), 5u);
  EXPECT_EQ(result("ror", 1, 65), kTop);
  EXPECT_EQ(result("rolw", 0x8000'0001, 33), 3u);
  EXPECT_EQ(result("rorw", 1, 33), 0xffff'ffff'8000'0000);
  EXPECT_EQ(with_immediate("rori", 1, 63), 2u);
  EXPECT_EQ(with_immediate("roriw", 0xf'0000'0001, 1), 0xffff'ffff'8000'0000);
}

TEST(BitManipulation, SingleBitsTakeTheLowSixBitsOfTheirNumber) {
  EXPECT_EQ(result("bset", 0, 127), kTop);
  EXPECT_EQ(result("bclr", kOnes, 64), kOnes - 1);
  EXPECT_EQ(result("binv", 1, 64), 0u);
  EXPECT_EQ(result("bext", kTop, 63), 1u);
  EXPECT_EQ(with_immediate("bexti", kTop, 63), 1u);
  EXPECT_EQ(with_immediate("bclri", kOnes, 63), kOnes >> 1);
}

TEST(BitManipulation, ConditionalZeroLooksAtTheWholeCondition) {
  EXPECT_EQ(result("czero.eqz", 5, 0), 0u);
  EXPECT_EQ(result("czero.eqz", 5, kTop), 5u);
  EXPECT_EQ(result("czero.nez", 5, 0), 5u);
  EXPECT_EQ(result("czero.nez", 5, kTop), 0u);
}

// ---- Against the model ----

using Bits = std::bitset<64>;
using Model = std::function<std::uint64_t(std::uint64_t a, std::uint64_t b)>;

std::uint64_t low(std::uint64_t v) { return v % 0x1'0000'0000; }
/// From `width` bits, by the value of the top one.
std::uint64_t signed_of(std::uint64_t v, unsigned width) {
  Bits bits(v);
  for (unsigned i = width; i < 64; ++i) bits[i] = bits[width - 1];
  return bits.to_ullong();
}
std::uint64_t per_bit(std::uint64_t a, std::uint64_t b, bool (*f)(bool, bool)) {
  Bits out;
  for (unsigned i = 0; i < 64; ++i) out[i] = f(Bits(a)[i], Bits(b)[i]);
  return out.to_ullong();
}
std::uint64_t turned(std::uint64_t v, unsigned by, unsigned width) {  // to the left
  Bits out;
  for (unsigned i = 0; i < width; ++i) out[(i + by) % width] = Bits(v)[i];
  return out.to_ullong();
}
std::uint64_t leading(std::uint64_t v, unsigned width) {
  unsigned n = 0;
  while (n < width && !Bits(v)[width - 1 - n]) ++n;
  return n;
}
std::uint64_t trailing(std::uint64_t v, unsigned width) {
  unsigned n = 0;
  while (n < width && !Bits(v)[n]) ++n;
  return n;
}
std::uint64_t ones(std::uint64_t v, unsigned width) {
  unsigned n = 0;
  for (unsigned i = 0; i < width; ++i) n += Bits(v)[i];
  return n;
}
bool less(std::uint64_t a, std::uint64_t b) { return (a ^ kTop) < (b ^ kTop); }
std::uint64_t bytewise(std::uint64_t v, const std::function<void(unsigned char (&)[8])>& change) {
  unsigned char bytes[8];
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(v >> 8 * i);
  change(bytes);
  std::uint64_t out = 0;
  for (unsigned i = 0; i < 8; ++i) out |= std::uint64_t{bytes[i]} << 8 * i;
  return out;
}
std::uint64_t changed(std::uint64_t a, std::uint64_t b, int to) {  // to: 0, 1, or 2 for the inverse
  Bits bits(a);
  bits[b % 64] = to == 2 ? !bits[b % 64] : to == 1;
  return bits.to_ullong();
}

/// Instructions of two registers; with an immediate, `b` is the amount.
const std::map<std::string, Model> kModels = {
    {"add.uw", [](auto a, auto b) { return low(a) + b; }},
    {"sh1add", [](auto a, auto b) { return a + a + b; }},
    {"sh2add", [](auto a, auto b) { return 4 * a + b; }},
    {"sh3add", [](auto a, auto b) { return 8 * a + b; }},
    {"sh1add.uw", [](auto a, auto b) { return 2 * low(a) + b; }},
    {"sh2add.uw", [](auto a, auto b) { return 4 * low(a) + b; }},
    {"sh3add.uw", [](auto a, auto b) { return 8 * low(a) + b; }},
    {"slli.uw", [](auto a, auto b) { return low(a) << b; }},
    {"andn", [](auto a, auto b) { return per_bit(a, b, [](bool x, bool y) { return x && !y; }); }},
    {"orn", [](auto a, auto b) { return per_bit(a, b, [](bool x, bool y) { return x || !y; }); }},
    {"xnor", [](auto a, auto b) { return per_bit(a, b, [](bool x, bool y) { return x == y; }); }},
    {"clz", [](auto a, auto) { return leading(a, 64); }},
    {"clzw", [](auto a, auto) { return leading(a, 32); }},
    {"ctz", [](auto a, auto) { return trailing(a, 64); }},
    {"ctzw", [](auto a, auto) { return trailing(a, 32); }},
    {"cpop", [](auto a, auto) { return ones(a, 64); }},
    {"cpopw", [](auto a, auto) { return ones(a, 32); }},
    {"max", [](auto a, auto b) { return less(a, b) ? b : a; }},
    {"maxu", [](auto a, auto b) { return a > b ? a : b; }},
    {"min", [](auto a, auto b) { return less(a, b) ? a : b; }},
    {"minu", [](auto a, auto b) { return a > b ? b : a; }},
    {"sext.b", [](auto a, auto) { return signed_of(a, 8); }},
    {"sext.h", [](auto a, auto) { return signed_of(a, 16); }},
    {"zext.h", [](auto a, auto) { return a % 0x10000; }},
    {"rol", [](auto a, auto b) { return turned(a, b % 64, 64); }},
    {"rolw", [](auto a, auto b) { return signed_of(turned(a, b % 32, 32), 32); }},
    {"ror", [](auto a, auto b) { return turned(a, 64 - b % 64, 64); }},
    {"rorw", [](auto a, auto b) { return signed_of(turned(a, 32 - b % 32, 32), 32); }},
    {"rori", [](auto a, auto b) { return turned(a, 64 - b % 64, 64); }},
    {"roriw", [](auto a, auto b) { return signed_of(turned(a, 32 - b % 32, 32), 32); }},
    {"orc.b",
     [](auto a, auto) {
       return bytewise(a, [](auto& bytes) {
         for (auto& byte : bytes) byte = byte != 0 ? 255 : 0;
       });
     }},
    {"rev8",
     [](auto a, auto) {
       return bytewise(a, [](auto& bytes) {
         for (unsigned i = 0; i < 4; ++i) std::swap(bytes[i], bytes[7 - i]);
       });
     }},
    {"bclr", [](auto a, auto b) { return changed(a, b, 0); }},
    {"bclri", [](auto a, auto b) { return changed(a, b, 0); }},
    {"bext", [](auto a, auto b) { return std::uint64_t{Bits(a)[b % 64]}; }},
    {"bexti", [](auto a, auto b) { return std::uint64_t{Bits(a)[b % 64]}; }},
    {"binv", [](auto a, auto b) { return changed(a, b, 2); }},
    {"binvi", [](auto a, auto b) { return changed(a, b, 2); }},
    {"bset", [](auto a, auto b) { return changed(a, b, 1); }},
    {"bseti", [](auto a, auto b) { return changed(a, b, 1); }},
    {"czero.eqz", [](auto a, auto b) { return b == 0 ? 0 : a; }},
    {"czero.nez", [](auto a, auto b) { return b == 0 ? a : 0; }},
};

TEST(BitManipulation, RandomOperandsAgreeWithAModelOfBits) {
  Rng rng(7);
  const auto operand = [&]() -> std::uint64_t {
    switch (rng.below(4)) {
      case 0:
        return rng();
      case 1:
        return rng() >> rng.below(64);
      case 2:
        return rng() << rng.below(64);
      default:
        return rng.below(3) - 1;  // -1, 0, 1
    }
  };
  unsigned models = 0;
  for (const Encoding& e : kAllEncodings) {
    const auto model = kModels.find(std::string(e.name));
    if (model == kModels.end()) continue;
    ++models;
    const bool is_shift = e.form == Form::shift6 || e.form == Form::shift5;
    const std::int32_t amounts = !is_shift ? 1 : e.form == Form::shift6 ? 64 : 32;
    for (std::int32_t amount = 0; amount < amounts; ++amount) {
      One one(e.name, amount);
      for (int i = 0; i < (is_shift ? 20 : 500); ++i) {
        const std::uint64_t a = operand(), b = is_shift ? static_cast<std::uint64_t>(amount) : operand();
        ASSERT_EQ(one(a, b), model->second(a, b)) << e.name << " of " << std::hex << a << ", " << b;
      }
    }
  }
  EXPECT_EQ(models, kModels.size());
}

TEST(BitManipulation, ADestinationMayBeASourceAndX0StaysZero) {
  Machine m;
  m.x(5) = 0x8000'0000'0000'0001;
  m.x(6) = 3;
  m.emit("rol", {.rd = 6, .rs1 = 5, .rs2 = 6});
  m.emit("clz", {.rd = 0, .rs1 = 5});
  m.emit("ecall");
  m.run();
  EXPECT_EQ(m.x(6), 0xcu);
  EXPECT_EQ(m.x(0), 0u);
}

// ---- Cache blocks, hints, counters ----

TEST(CacheBlocks, ZeroClearsTheWholeAlignedBlockAndNothingElse) {
  Machine m;
  for (Addr a = kData; a < kData + 192; a += 8) m.memory.store(a, kOnes);
  m.x(5) = kData + 64 + 37;
  m.emit("cbo.zero", {.rs1 = 5});
  m.emit("ecall");
  ASSERT_EQ(m.run().reason, StopReason::ecall);
  for (Addr a = kData; a < kData + 192; a += 8)
    EXPECT_EQ(m.memory.load<std::uint64_t>(a), a >= kData + 64 && a < kData + 128 ? 0 : kOnes) << a - kData;
}

TEST(CacheBlocks, NeedTheRightOfAnAccess) {
  for (const std::string_view name : {"cbo.zero", "cbo.clean", "cbo.flush"}) {
    const bool writes = name == "cbo.zero";
    for (const Addr at : {kData, kCode, kData + kDataBytes}) {
      Machine m;
      m.x(5) = at;
      m.emit(name, {.rs1 = 5});
      m.emit("ecall");
      const RunResult r = m.run();
      const bool is_allowed = at == kData || (at == kCode && !writes);
      EXPECT_EQ(r.reason, is_allowed ? StopReason::ecall : StopReason::fault) << name << std::hex << at;
      if (!is_allowed) {
        EXPECT_EQ(r.fault.kind, writes ? FaultKind::store_access : FaultKind::load_access) << name;
        EXPECT_EQ(r.fault.address, at);
      }
    }
  }
}

TEST(CacheBlocks, CleanAndFlushChangeNoRegisterAndNoMemory) {
  Machine m;
  m.memory.store(kData, kOnes);
  m.x(5) = kData;
  m.emit("cbo.clean", {.rs1 = 5});
  m.emit("cbo.flush", {.rs1 = 5});
  m.emit("pause");
  m.emit(0x0005'6013);  // prefetch.i, r, w (x10): ori x0 with 0, 1, 3; x10 is no address
  m.emit(0x0015'6013);
  m.emit(0x0035'6013);
  m.emit("ecall");
  m.x(10) = 1;
  const HartState before = m.hart;
  const RunResult r = m.run();
  ASSERT_EQ(r.reason, StopReason::ecall);
  EXPECT_EQ(r.instructions, 7u);
  for (unsigned i = 1; i < 32; ++i) EXPECT_EQ(m.x(i), before.x[i]) << i;
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), kOnes);
}

TEST(Counters, HardwarePerformanceCountersAreZero) {
  Machine m;
  m.x(6) = m.x(7) = 5;
  m.emit("csrrs", {.rd = 6, .imm = csr::hpmcounter3});
  m.emit("csrrs", {.rd = 7, .imm = csr::hpmcounter31});
  m.emit("ecall");
  ASSERT_EQ(m.run().reason, StopReason::ecall);
  EXPECT_EQ(m.x(6), 0u);
  EXPECT_EQ(m.x(7), 0u);
}

}  // namespace
}  // namespace rubato::chip::isa::test
