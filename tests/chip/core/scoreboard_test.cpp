// SPDX-License-Identifier: MIT
#include "chip/core/scoreboard.hpp"

#include <gtest/gtest.h>

#include "chip/core/stall_account.hpp"

namespace rubato::chip {
namespace {

constexpr unsigned kSink = isa::Insn::kSink;

struct ScoreboardTest : testing::Test {
  static isa::Insn insn(unsigned rd, unsigned rs1, unsigned rs2 = kSink) {
    isa::Insn i{};
    i.rd = static_cast<std::uint8_t>(rd);
    i.rs1 = static_cast<std::uint8_t>(rs1);
    i.rs2 = static_cast<std::uint8_t>(rs2);
    i.rs3 = kSink;
    return i;
  }
  std::uint64_t taken(CyclePart part) { return stalls.take()[static_cast<unsigned>(part)]; }

  StallAccount stalls;
  Scoreboard board{stalls};
  AccessParts parts{.l1 = 2, .memory = 18, .network = 10};
};

TEST_F(ScoreboardTest, AnInstructionWaitsForTheLatestOfItsSourcesAndItsDestination) {
  board.expect(5, {10, 13, ResultSource::core, nullptr});
  board.expect(6, {11, 20, ResultSource::core, nullptr});
  EXPECT_TRUE(board.is_busy(19));
  EXPECT_FALSE(board.is_busy(20));
  EXPECT_EQ(board.stall(insn(7, 5), 12), 13U);
  EXPECT_EQ(board.stall(insn(7, 5, 6), 12), 20U);
  EXPECT_EQ(board.stall(insn(6, 7), 12), 20U) << "write after write";
  EXPECT_EQ(board.stall(insn(7, 8), 12), 12U) << "of other registers";
}

TEST_F(ScoreboardTest, ResultsOfTheCoreChargeNothingThoseOfTheL1ItsPart) {
  board.expect(5, {10, 13, ResultSource::core, nullptr});
  board.stall(insn(7, 5), 11);
  EXPECT_FALSE(stalls.any());
  board.expect(6, {10, 14, ResultSource::l1, nullptr});
  board.stall(insn(7, 6), 11);
  EXPECT_EQ(taken(CyclePart::l1), 3U);
}

TEST_F(ScoreboardTest, AWaitForAnAccessIsChargedFromItsFarEnd) {
  board.expect(5, {10, 40, ResultSource::access, &parts});
  EXPECT_EQ(board.stall(insn(7, 5), 20), 40U);
  const auto charged = stalls.take();  // 20 of the access's 30 cycles: 18 in memory, 2 of the network's 10
  EXPECT_EQ(charged[static_cast<unsigned>(CyclePart::memory)], 18U);
  EXPECT_EQ(charged[static_cast<unsigned>(CyclePart::network)], 2U);
  EXPECT_EQ(charged[static_cast<unsigned>(CyclePart::l1)], 0U);
}

TEST_F(ScoreboardTest, NobodyWaitsForTheSink) {
  board.expect(kSink, {10, 40, ResultSource::core, nullptr});
  EXPECT_EQ(board.stall(insn(kSink, kSink), 12), 12U);
}

TEST_F(ScoreboardTest, OtherInstructionsFindEveryRegisterReady) {
  board.expect(5, {10, 40, ResultSource::core, nullptr});
  board.clear(12);
  EXPECT_FALSE(board.is_busy(12));
  EXPECT_EQ(board.stall(insn(7, 5), 12), 12U);
}

TEST_F(ScoreboardTest, WhatADeferredAccessBringsIsUnknownUntilItDoes) {
  board.expect(5, {10, Scoreboard::kUnknown, ResultSource::core, nullptr});
  EXPECT_EQ(board.stall(insn(7, 5), 12), Scoreboard::kUnknown);
  EXPECT_FALSE(stalls.any());
  board.bring(5, 50, parts);
  board.settle();
  EXPECT_TRUE(board.is_busy(49));
  EXPECT_FALSE(board.is_busy(50));
  EXPECT_EQ(board.stall(insn(7, 5), 45), 50U);
  EXPECT_EQ(taken(CyclePart::memory), 5U);
  board.expect(5, {60, Scoreboard::kUnknown, ResultSource::core, nullptr});
  board.forget(5);
  board.settle();
  EXPECT_FALSE(board.is_busy(60)) << "its access is gone";
}

TEST(StallAccount, ChargesNoMoreThanTheStallAndNoMoreThanThePartsHave) {
  StallAccount stalls;
  const AccessParts parts{.l1 = 2, .l2 = 5, .llc = 7};
  std::uint64_t issue = 100;
  stalls.wait(issue, 90, parts);
  EXPECT_EQ(issue, 100U);
  EXPECT_FALSE(stalls.any());
  stalls.wait(issue, 110, parts);
  EXPECT_EQ(issue, 110U);
  const auto first = stalls.take();
  EXPECT_EQ(first[static_cast<unsigned>(CyclePart::llc)], 7U);
  EXPECT_EQ(first[static_cast<unsigned>(CyclePart::l2)], 3U);
  EXPECT_EQ(first[static_cast<unsigned>(CyclePart::l1)], 0U);
  EXPECT_FALSE(stalls.any()) << "taken";
  stalls.charge(parts, 1000);
  std::uint64_t sum = 0;
  for (const std::uint64_t cycles : stalls.take()) sum += cycles;
  EXPECT_EQ(sum, 14U);
}

}  // namespace
}  // namespace rubato::chip
