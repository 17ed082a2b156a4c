// Results computed by hand from the manual, at the edges: division, high products, shifts, sign extension,
// atomics, memory rights, reservations, control registers.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/chip/isa/machine.hpp"

namespace rubato::chip::isa::test {
namespace {

constexpr std::uint64_t kMin64 = std::uint64_t{1} << 63, kMax64 = kMin64 - 1, kOnes = ~std::uint64_t{0};

/// The result of one instruction with two sources.
std::uint64_t result(std::string_view name, std::uint64_t a, std::uint64_t b) {
  static Machine m;
  m.hart.pc = m.end();
  m.emit(name, {.rd = 7, .rs1 = 5, .rs2 = 6});
  m.emit("ecall");
  m.x(5) = a;
  m.x(6) = b;
  EXPECT_EQ(m.run().reason, StopReason::ecall);
  return m.x(7);
}

TEST(Semantics, DivisionByZeroAndOverflowDoNotTrap) {
  EXPECT_EQ(result("div", 7, 0), kOnes);
  EXPECT_EQ(result("divu", 7, 0), kOnes);
  EXPECT_EQ(result("rem", 7, 0), 7u);
  EXPECT_EQ(result("remu", 7, 0), 7u);
  EXPECT_EQ(result("div", kMin64, kOnes), kMin64);
  EXPECT_EQ(result("rem", kMin64, kOnes), 0u);
  EXPECT_EQ(result("div", kMax64, kOnes), std::uint64_t{0} - kMax64);
  EXPECT_EQ(result("divw", 7, 0x1'0000'0000), kOnes) << "only the low words count";
  EXPECT_EQ(result("divuw", 0x8000'0000, 1), 0xffff'ffff'8000'0000);
  EXPECT_EQ(result("remw", 0x8000'0000, kOnes), 0u);
  EXPECT_EQ(result("divw", 0x8000'0000, kOnes), 0xffff'ffff'8000'0000);
  EXPECT_EQ(result("remuw", 0x8000'0001, 0), 0xffff'ffff'8000'0001);
}

TEST(Semantics, DivisionRoundsTowardZeroAndTheRemainderHasTheDividendsSign) {
  EXPECT_EQ(result("div", std::uint64_t(-7), 2), std::uint64_t(-3));
  EXPECT_EQ(result("rem", std::uint64_t(-7), 2), std::uint64_t(-1));
  EXPECT_EQ(result("div", 7, std::uint64_t(-2)), std::uint64_t(-3));
  EXPECT_EQ(result("rem", 7, std::uint64_t(-2)), 1u);
}

TEST(Semantics, HighProducts) {
  EXPECT_EQ(result("mulh", kMin64, kMin64), std::uint64_t{1} << 62);
  EXPECT_EQ(result("mulh", kOnes, kOnes), 0u);
  EXPECT_EQ(result("mulhu", kOnes, kOnes), kOnes - 1);
  EXPECT_EQ(result("mulhsu", kOnes, kOnes), kOnes) << "-1 * (2^64 - 1)";
  EXPECT_EQ(result("mulhsu", 1, kOnes), 0u);
  EXPECT_EQ(result("mulh", kMax64, 2), 0u);
  EXPECT_EQ(result("mulw", 0x1'0000'ffff, 0x1'0000'ffff), 0xffff'ffff'fffe'0001);
}

TEST(Semantics, ShiftsUseSixOrFiveBits) {
  EXPECT_EQ(result("sll", 1, 64 + 63), kMin64);
  EXPECT_EQ(result("sra", kMin64, 63), kOnes);
  EXPECT_EQ(result("srl", kMin64, 63), 1u);
  EXPECT_EQ(result("sllw", 1, 32 + 31), 0xffff'ffff'8000'0000);
  EXPECT_EQ(result("sraw", 0x8000'0000, 31), kOnes);
  EXPECT_EQ(result("srlw", 0xf'8000'0000, 31), 1u);
  EXPECT_EQ(result("slt", kOnes, 0), 1u);
  EXPECT_EQ(result("sltu", kOnes, 0), 0u);
}

TEST(Semantics, NothingWritesX0) {
  Machine m;
  m.x(5) = 3;
  m.emit("add", {.rd = 0, .rs1 = 5, .rs2 = 5});
  m.emit("addi", {.rd = 6, .rs1 = 0, .imm = 1});
  m.emit("ecall");
  m.run();
  EXPECT_EQ(m.x(0), 0u);
  EXPECT_EQ(m.x(6), 1u);
}

TEST(Semantics, LoadsExtendAndMisalignedOnesWork) {
  Machine m;
  m.x(5) = kData + AddressSpace::kPageBytes - 3;  // words and doublewords from here cross into the next page
  m.memory.store(kData + AddressSpace::kPageBytes - 3, std::uint64_t{0x8877'6655'f4f3'f2f1});
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"lb", 0xffff'ffff'ffff'fff1}, {"lbu", 0xf1},        {"lh", 0xffff'ffff'ffff'f2f1}, {"lhu", 0xf2f1},
      {"lw", 0xffff'ffff'f4f3'f2f1}, {"lwu", 0xf4f3'f2f1}, {"ld", 0x8877'6655'f4f3'f2f1}};
  unsigned rd = 10;
  for (const auto& c : cases) m.emit(c.first, {.rd = rd++, .rs1 = 5});
  m.emit("ecall");
  ASSERT_EQ(m.run().reason, StopReason::ecall);
  rd = 10;
  for (const auto& c : cases) EXPECT_EQ(m.x(rd++), c.second) << c.first;
}

struct Access {
  const char* name;
  Addr address;
  FaultKind kind;
  Addr fault_address;
};

TEST(Semantics, AccessesOutsideOfTheirRightsFaultAndChangeNothing) {
  constexpr Addr kEnd = kData + kDataBytes, kTop = AddressSpace::kSize;
  const Access cases[] = {
      {"ld", kEnd - 8, FaultKind::none, 0},
      {"ld", kEnd - 7, FaultKind::load_access, kEnd},
      {"ld", kEnd, FaultKind::load_access, kEnd},
      {"lb", kEnd - 1, FaultKind::none, 0},
      {"sw", kEnd - 4, FaultKind::none, 0},
      {"sw", kEnd - 3, FaultKind::store_access, kEnd},
      {"sd", kData - 1, FaultKind::store_access, kData - 1},
      {"sb", kCode, FaultKind::store_access, kCode},
      {"lb", kCode, FaultKind::none, 0},
      {"ld", kTop - 1, FaultKind::load_access, kTop - 1},
      {"ld", kTop, FaultKind::load_access, kTop},
      {"sd", kOnes - 3, FaultKind::store_access, kOnes - 3},
      {"amoadd.d", kData + 8, FaultKind::none, 0},
      {"amoadd.d", kData + 4, FaultKind::misaligned_atomic, kData + 4},
      {"amoadd.w", kData + 4, FaultKind::none, 0},
      {"amoadd.w", kData + 2, FaultKind::misaligned_atomic, kData + 2},
      {"amoadd.w", kCode, FaultKind::store_access, kCode},
      {"lr.d", kData + 4, FaultKind::misaligned_atomic, kData + 4},
      {"lr.w", kEnd, FaultKind::load_access, kEnd},
      {"sc.w", kData + 1, FaultKind::misaligned_atomic, kData + 1},
      {"flw", kEnd - 3, FaultKind::load_access, kEnd},
      {"fsd", kEnd - 7, FaultKind::store_access, kEnd},
  };
  for (const Access& c : cases) {
    SCOPED_TRACE(testing::Message() << c.name << " at " << std::hex << c.address);
    Machine m;
    m.emit("addi", {.rd = 6, .rs1 = 0, .imm = 1});
    m.emit(c.name, {.rd = 7, .rs1 = 5, .rs2 = 5});
    m.emit("ecall");
    m.x(5) = c.address;
    m.x(7) = 77;
    const RunResult r = m.run();
    EXPECT_EQ(r.fault.kind, c.kind);
    if (c.kind == FaultKind::none) {
      EXPECT_EQ(r.reason, StopReason::ecall);
      continue;
    }
    EXPECT_EQ(r.reason, StopReason::fault);
    EXPECT_EQ(r.fault.address, c.fault_address);
    EXPECT_EQ(r.fault.pc, kCode + 4);
    EXPECT_EQ(m.hart.pc, kCode + 4);
    EXPECT_EQ(r.instructions, 1u) << "the one before";
    EXPECT_EQ(m.x(7), 77u);
  }
}

TEST(Semantics, IllegalAndBreakpointAndWildJumpAreFaults) {
  Machine m;
  m.emit(0xffff'ffff);
  RunResult r = m.run();
  EXPECT_EQ(r.fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(r.fault.address, 0xffff'ffffu);
  EXPECT_EQ(r.instructions, 0u);
  m.hart.pc = m.end();
  m.emit("ebreak");
  r = m.run();
  EXPECT_EQ(r.fault.kind, FaultKind::breakpoint);
  EXPECT_EQ(r.fault.pc, kCode + 4);
  m.hart.pc = m.end();
  m.emit("jalr", {.rd = 1, .rs1 = 5});
  m.x(5) = 0xdead'0000;
  r = m.run();
  EXPECT_EQ(r.fault.kind, FaultKind::fetch_access);
  EXPECT_EQ(r.fault.pc, 0xdead'0000u);
  EXPECT_EQ(r.fault.address, 0xdead'0000u);
  EXPECT_EQ(m.x(1), kCode + 12) << "the jump itself was executed";
  EXPECT_EQ(r.instructions, 1u);
}

TEST(Semantics, ATaskInstructionStopsBeforeItAndCounts) {
  Machine m;
  m.emit("addi", {.rd = 6, .rs1 = 0, .imm = 1});
  m.emit(0x0000'100b);  // task.finish
  const RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::task);
  EXPECT_EQ(r.insn.op, Op::task_finish);
  EXPECT_EQ(r.instructions, 2u) << "whoever executes it need not count it";
  EXPECT_EQ(m.hart.pc, kCode + 4);
}

TEST(Semantics, AtomicsReturnTheOldValueEvenIntoTheirSources) {
  Machine m;
  m.memory.store(kData, std::uint64_t{0xffff'ffff'8000'0000});
  m.x(5) = kData;
  m.x(6) = 1;
  m.emit("amomin.w", {.rd = 6, .rs1 = 5, .rs2 = 6});  // -2^31 stays
  m.emit("amoadd.d", {.rd = 5, .rs1 = 5, .rs2 = 6});  // x6 = -2^31 now
  m.emit("ecall");
  m.run();
  EXPECT_EQ(m.x(6), 0xffff'ffff'8000'0000);
  EXPECT_EQ(m.x(5), 0xffff'ffff'8000'0000);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0xffff'ffff'0000'0000);
}

TEST(Semantics, ScSucceedsOnceAfterItsLr) {
  Machine m;
  m.x(5) = kData;
  m.x(6) = 42;
  m.emit("lr.d", {.rd = 10, .rs1 = 5});
  m.emit("sc.d", {.rd = 11, .rs1 = 5, .rs2 = 6});
  m.emit("sc.d", {.rd = 12, .rs1 = 5, .rs2 = 5});
  m.emit("ecall");
  m.x(11) = m.x(12) = 99;
  m.run();
  EXPECT_EQ(m.x(11), 0u);
  EXPECT_EQ(m.x(12), 1u);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 42u);
}

TEST(Semantics, ScFailsOnAnotherLineAndAfterAnotherRun) {
  Machine m;
  m.x(5) = kData;
  m.x(6) = kData + 64;
  m.emit("lr.d", {.rd = 10, .rs1 = 5});
  m.emit("sc.d", {.rd = 11, .rs1 = 6, .rs2 = 6});
  m.emit("lr.d", {.rd = 10, .rs1 = 5});
  m.emit("ecall");
  m.emit("sc.d", {.rd = 12, .rs1 = 5, .rs2 = 6});
  m.emit("ecall");
  m.run();
  EXPECT_EQ(m.x(11), 1u);
  m.hart.pc += 4;  // another thread that ran meanwhile may have stored
  m.run();
  EXPECT_EQ(m.x(12), 1u);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0u);
}

TEST(Semantics, CountersComeFromTheirSourceAndInstretIsExact) {
  Machine m;
  m.emit("addi", {.rd = 5});
  m.emit("csrrs", {.rd = 6, .imm = csr::instret});
  m.emit("csrrs", {.rd = 7, .imm = csr::instret});
  m.emit("csrrs", {.rd = 8, .imm = csr::cycle});
  m.emit("csrrs", {.rd = 9, .imm = csr::time});
  m.emit("ecall");
  m.run();
  EXPECT_EQ(m.x(6), 1u);
  EXPECT_EQ(m.x(7), 2u);
  EXPECT_EQ(m.x(8), csr::cycle * 1000u);
  EXPECT_EQ(m.x(9), csr::time * 1000u);
}

}  // namespace
}  // namespace rubato::chip::isa::test
