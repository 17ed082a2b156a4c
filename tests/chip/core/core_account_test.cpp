// SPDX-License-Identifier: MIT
#include "chip/core/core_account.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

struct CoreAccountTest : testing::Test {
  std::uint64_t cycles(CycleClass c, CyclePart part) { return chip.of_core(CoreId{1}).at(c, part); }

  CycleAccount chip{2};
  StallAccount stalls;
  CoreAccount account{CoreId{1}, chip};
};

TEST_F(CoreAccountTest, WhatIsNoStallIsTheCoresOwn) {
  account.charge(CycleClass::idle, Cycle{10}, stalls);
  EXPECT_EQ(cycles(CycleClass::idle, CyclePart::core), 10U);
  stalls.charge(CyclePart::memory, 18);
  stalls.charge(CyclePart::l1, 2);
  account.charge(CycleClass::nonspeculative, Cycle{40}, stalls);
  EXPECT_EQ(cycles(CycleClass::nonspeculative, CyclePart::memory), 18U);
  EXPECT_EQ(cycles(CycleClass::nonspeculative, CyclePart::l1), 2U);
  EXPECT_EQ(cycles(CycleClass::nonspeculative, CyclePart::core), 10U);
  EXPECT_EQ(account.accounted(), Cycle{40});
  EXPECT_FALSE(stalls.any());
}

TEST_F(CoreAccountTest, NoCycleIsChargedTwiceNorMoreThanThereAre) {
  account.charge(CycleClass::idle, Cycle{10}, stalls);
  account.charge(CycleClass::stall, Cycle{7}, stalls);
  EXPECT_EQ(account.accounted(), Cycle{10});
  stalls.charge(CyclePart::llc, 100);
  account.charge(CycleClass::stall, Cycle{13}, stalls);
  EXPECT_EQ(cycles(CycleClass::stall, CyclePart::llc), 3U);
  EXPECT_EQ(chip.of_core(CoreId{1}).sum(), 13U);
  EXPECT_EQ(chip.of_core(CoreId{0}).sum(), 0U);
}

TEST_F(CoreAccountTest, AnAttemptsCyclesAreTheChipsOnlyWhenItsFateIsKnown) {
  AttemptCycles attempt;
  attempt.core = CoreId{1};
  stalls.charge(CyclePart::network, 4);
  account.charge(attempt, Cycle{20}, stalls);
  EXPECT_EQ(attempt.parts[static_cast<unsigned>(CyclePart::network)], 4U);
  EXPECT_EQ(attempt.parts[static_cast<unsigned>(CyclePart::core)], 16U);
  EXPECT_EQ(chip.of_core(CoreId{1}).sum(), 0U);
  chip.settle(attempt, CycleClass::aborted);
  EXPECT_EQ(cycles(CycleClass::aborted, CyclePart::core), 16U);
}

}  // namespace
}  // namespace rubato::chip
