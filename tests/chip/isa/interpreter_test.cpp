// The functional interpreter: control flow, stopping, memory rights, reservations, code changes.
// SPDX-License-Identifier: MIT
#include "chip/isa/interpreter.hpp"

#include <gtest/gtest.h>

#include "tests/chip/isa/machine.hpp"

namespace rubato::chip::isa::test {
namespace {

TEST(Interpreter, SumsALoopAndStopsAtTheEcall) {
  Machine m;
  m.x(5) = 100;
  m.emit("add", {.rd = 6, .rs1 = 6, .rs2 = 5});
  m.emit("addi", {.rd = 5, .rs1 = 5, .imm = -1});
  m.emit("bne", {.rs1 = 5, .rs2 = 0, .imm = -8});
  m.emit("ecall");
  const RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::ecall);
  EXPECT_EQ(r.instructions, 301u);
  EXPECT_EQ(m.hart.pc, kCode + 12);
  EXPECT_EQ(m.x(6), 5050u);
}

TEST(Interpreter, TheBudgetEndsARunBetweenBlocksAndItGoesOnWhereItWas) {
  Machine m;
  m.x(5) = 100;
  m.emit("add", {.rd = 6, .rs1 = 6, .rs2 = 5});
  m.emit("addi", {.rd = 5, .rs1 = 5, .imm = -1});
  m.emit("bne", {.rs1 = 5, .rs2 = 0, .imm = -8});
  m.emit("ecall");
  RunResult r = m.run(30);
  EXPECT_EQ(r.reason, StopReason::budget);
  EXPECT_EQ(r.instructions, 30u);
  EXPECT_EQ(m.x(5), 90u);
  r = m.run(31);
  EXPECT_EQ(r.instructions, 33u) << "a block that has begun is completed";
  r = m.run();
  EXPECT_EQ(r.reason, StopReason::ecall);
  EXPECT_EQ(m.x(6), 5050u);
}

TEST(Interpreter, CallsAndReturnsThroughRegisters) {
  Machine m;
  m.emit("jal", {.rd = 1, .imm = 12});
  m.emit("addi", {.rd = 7, .rs1 = 7, .imm = 1});
  m.emit("ecall");
  m.emit("addi", {.rd = 8, .rs1 = 1, .imm = 0});
  m.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 1});  // bit 0 of the target is ignored
  const RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::ecall);
  EXPECT_EQ(r.instructions, 5u);
  EXPECT_EQ(m.x(8), kCode + 4);
  EXPECT_EQ(m.x(7), 1u);
}

}  // namespace
}  // namespace rubato::chip::isa::test
