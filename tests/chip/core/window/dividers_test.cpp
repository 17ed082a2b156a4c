// Dividers of a window core, against schedules computed by hand: one is busy from the issue of a division
// until its result is there. Times are as in window_core_test.cpp; an integer division takes 20 cycles, one
// of floating point 15, a square root 20.
// SPDX-License-Identifier: MIT
#include "chip/core/window/dividers.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/chip/core/window/window_machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

std::uint64_t cycles_of_four_divisions(std::uint32_t dividers) {
  WindowMachine m({.width = 4}, [&](Config& c) { c.core.int_dividers = dividers; });
  const char* const names[] = {"div", "remu", "divw", "remuw"};
  for (unsigned i = 0; i < 4; ++i) m.emit(names[i], {.rd = 12 + i, .rs1 = 6, .rs2 = 7});
  return m.run();
}

TEST(WindowDividers, DivisionsFollowOneAnother) {
  EXPECT_EQ(cycles_of_four_divisions(1), 81U);  // issue in 1, 21, 41, 61
  EXPECT_EQ(cycles_of_four_divisions(2), 41U);  // 1, 1, 21, 21
  EXPECT_EQ(cycles_of_four_divisions(3), 41U);
  EXPECT_EQ(cycles_of_four_divisions(4), 21U);
}

TEST(WindowDividers, WithoutAKeyThereIsOne) {
  WindowMachine m({.width = 4});
  m.emit("div", {.rd = 5, .rs1 = 6, .rs2 = 7});
  m.emit("div", {.rd = 8, .rs1 = 6, .rs2 = 7});
  EXPECT_EQ(m.run(), 41U);
}

TEST(WindowDividers, PipelinedOnesTakeAPortACycle) {
  WindowMachine m({.width = 4, .ports = 1}, [](Config& c) { c.core.int_dividers = 0; });
  for (unsigned i = 0; i < 4; ++i) m.emit("div", {.rd = 12 + i, .rs1 = 6, .rs2 = 7});
  EXPECT_EQ(m.run(), 24U);  // issue in 1 to 4
}

TEST(WindowDividers, TheirPortIsFreeInTheNextCycle) {
  WindowMachine m({.width = 4, .ports = 1});
  m.emit("div", {.rd = 8, .rs1 = 6, .rs2 = 7});  // issues in 1
  m.chain(25);                                   // 2 to 26
  EXPECT_EQ(m.run(), 27U);
}

TEST(WindowDividers, QuotientsAndRootsOfFloatingPointShareTheirs) {
  WindowMachine m({.width = 4});
  m.emit("fdiv.d", {.rd = 5, .rs1 = 6, .rs2 = 7});  // 1, 16
  m.emit("fsqrt.d", {.rd = 8, .rs1 = 6});           // 16, 36
  m.emit("fdiv.s", {.rd = 9, .rs1 = 6, .rs2 = 7});  // 36, 51
  m.emit("div", {.rd = 5, .rs1 = 6, .rs2 = 7});     // 1, 21: another unit
  EXPECT_EQ(m.run(), 51U);
  WindowMachine n({.width = 4}, [](Config& c) { c.core.fp_dividers = 2; });
  n.emit("fdiv.d", {.rd = 5, .rs1 = 6, .rs2 = 7});  // 1, 16
  n.emit("fsqrt.d", {.rd = 8, .rs1 = 6});           // 1, 21
  n.emit("fdiv.s", {.rd = 9, .rs1 = 6, .rs2 = 7});  // 16, 31
  EXPECT_EQ(n.run(), 31U);
}

TEST(WindowDividers, AnIdleOneServesWhatIsReadyFirst) {
  WindowMachine m({.width = 4});
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});  // there in 21
  m.emit("div", {.rd = 6, .rs1 = 5, .rs2 = 7});  // 21, 41
  m.emit("div", {.rd = 8, .rs1 = 7, .rs2 = 7});  // 1, 21: just in time
  m.emit("div", {.rd = 9, .rs1 = 7, .rs2 = 7});  // 41, 61
  EXPECT_EQ(m.run(), 61U);
}

struct WindowDividersMessages : WindowMessages {};

TEST_F(WindowDividersMessages, SquashedDivisionsThatHaveNotBegunLeaveThemIdle) {
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  for (int i = 0; i < 8; ++i) m.emit("div", {.rd = 6, .rs1 = 7, .rs2 = 7});  // from 1 on, until 161
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  m.memory.store<std::uint64_t>(kData, 1);
  comes(kData, 30);  // there in 50: dispatch in 54; issue in 55, 75, ... 195
  EXPECT_EQ(run(30), PipelineStop::ecall);
  EXPECT_EQ(m.pipeline->cycle().value, 215U);
}

TEST(Dividers, FindAGapThatIsLongEnough) {
  Dividers one(1);
  one.take(10, 5);
  one.take(22, 5);
  EXPECT_EQ(one.first(0, 10), 0U);
  EXPECT_EQ(one.first(1, 10), 27U);
  EXPECT_EQ(one.first(4, 7), 15U);
  EXPECT_EQ(one.first(12, 8), 27U);
  one.give_back(10, 5);
  EXPECT_EQ(one.first(1, 10), 1U);
}

}  // namespace
}  // namespace rubato::chip
