// A46 and A47: which switches between turns are timed, and what they come to.
// SPDX-License-Identifier: MIT
#include "native/lag/turn_switch.hpp"

#include <gtest/gtest.h>

namespace {

using rubato::native::lag::TurnSwitch;

/// How many giving-ups there are up to the next that is to be timed.
unsigned until_due(TurnSwitch& cost) {
  for (unsigned n = 1; n <= 5000; ++n)
    if (cost.is_due()) return n;
  return 0;
}

TEST(Lag_TurnSwitch, IsUnknownUntil33AreThereAndTheMedianThen) {
  TurnSwitch cost;
  for (unsigned i = 0; i < 32; ++i) cost.note(i < 16 ? 10 : 1000);
  EXPECT_EQ(cost.ticks(), 0u);
  EXPECT_FALSE(cost.is_worth_lagging(1));
  cost.note(70);
  EXPECT_EQ(cost.ticks(), 70u);
  for (unsigned i = 0; i < 17; ++i) cost.note(500);  // in place of the 16 of 10, and one of 1000
  EXPECT_EQ(cost.ticks(), 500u);
}

TEST(Lag_TurnSwitch, OneOf32IsTimedAtFirstAndOneOf1024Later) {
  TurnSwitch cost;
  for (unsigned i = 0; i < 33; ++i) {
    EXPECT_EQ(until_due(cost), 32u) << i;
    cost.note(50);
  }
  EXPECT_EQ(until_due(cost), 32u);  // chosen before the last was noted
  EXPECT_EQ(until_due(cost), 1024u);
}

TEST(Lag_TurnSwitch, ACallerThatCountsItselfTimesTheSameOnes) {
  TurnSwitch cost;
  EXPECT_EQ(cost.skip(), 32u);
  EXPECT_TRUE(cost.is_due());
  EXPECT_FALSE(cost.is_due()) << "the first of 32";
  EXPECT_EQ(cost.skip(), 31u);
  EXPECT_TRUE(cost.is_due());
  EXPECT_EQ(TurnSwitch(300).skip(), ~std::uint64_t{0});
}

TEST(Lag_TurnSwitch, OneThatIsGivenIsNotTimed) {
  TurnSwitch cost(300);
  EXPECT_EQ(until_due(cost), 0u);
  EXPECT_EQ(cost.ticks(), 300u);
}

TEST(Lag_TurnSwitch, ASwitchOfFewerThanFourLooksIsNotWorthIt) {
  EXPECT_FALSE(TurnSwitch(399).is_worth_lagging(100));
  EXPECT_TRUE(TurnSwitch(400).is_worth_lagging(100));
}

}  // namespace
