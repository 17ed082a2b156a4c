// Occupancy calendars: first gap at or after, runs, sliding window; against a set of taken cycles (C20).
// SPDX-License-Identifier: MIT
#include "chip/noc/calendar.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

std::uint64_t book(Calendars& c, std::uint64_t at, std::uint32_t length = 1) {
  return c.book(0, Cycle{at}, RunLength{length}).value;
}

TEST(Calendar, GivesTheFirstFreeCycleAtOrAfterTheRequest) {
  Calendars c(1);
  EXPECT_EQ(book(c, 100), 100U);
  EXPECT_EQ(book(c, 100), 101U);
  EXPECT_EQ(book(c, 101), 102U);
  EXPECT_EQ(book(c, 103), 103U);
}

TEST(Calendar, LetsALateCallerHaveAnEarlierGap) {
  Calendars c(1);
  EXPECT_EQ(book(c, 500, 4), 500U);
  EXPECT_EQ(book(c, 490, 4), 490U);  // called later, earlier in time: before what was booked first
  EXPECT_EQ(book(c, 494, 6), 494U);  // exactly the six cycles between them
  EXPECT_EQ(book(c, 490, 1), 504U);
}

TEST(Calendar, ARunThatIsOneCycleTooLongGoesBehind) {
  Calendars c(1);
  book(c, 100, 4);
  EXPECT_EQ(book(c, 95, 6), 104U);  // 95..99 are five
  EXPECT_EQ(book(c, 95, 5), 95U);
}

TEST(Calendar, RunsCrossWordBorders) {
  Calendars c(1);
  EXPECT_EQ(book(c, 62, 4), 62U);
  EXPECT_EQ(book(c, 60, 3), 66U);
  EXPECT_EQ(book(c, 0, 200), 69U);
  EXPECT_EQ(book(c, 0, 62), 0U);
  EXPECT_EQ(book(c, 0, 1), 269U);
}

TEST(Calendar, WhatIsOlderThanTheWindowIsFreeAndUnbooked) {
  Calendars c(1);
  EXPECT_EQ(book(c, 0), 0U);
  EXPECT_EQ(book(c, Calendars::kWindow), Calendars::kWindow);  // the ring's word is taken over
  EXPECT_EQ(book(c, 0), 0U);
  EXPECT_EQ(book(c, 0), 0U);
  EXPECT_EQ(book(c, Calendars::kWindow), Calendars::kWindow + 1);
  EXPECT_EQ(book(c, 64), 64U);  // the next word is still remembered
  EXPECT_EQ(book(c, 64), 65U);
}

TEST(Calendar, ResourcesDoNotDisturbEachOther) {
  Calendars c(3);
  EXPECT_EQ(c.book(1, Cycle{100}, RunLength{4}), Cycle{100});
  EXPECT_EQ(c.book(0, Cycle{100}, RunLength{4}), Cycle{100});
  EXPECT_EQ(c.book(2, Cycle{100}), Cycle{100});
  EXPECT_EQ(c.book(1, Cycle{100}), Cycle{104});
}

TEST(Calendar, AllResourcesRememberTheSameCycles) {
  Calendars c(2);
  EXPECT_EQ(c.book(0, Cycle{100}), Cycle{100});
  EXPECT_EQ(c.book(1, Cycle{Calendars::kWindow}), Cycle{Calendars::kWindow});
  EXPECT_EQ(c.book(0, Cycle{100}), Cycle{101});  // its row is still there
  EXPECT_EQ(c.book(1, Cycle{Calendars::kWindow + 64}), Cycle{Calendars::kWindow + 64});
  EXPECT_EQ(c.book(0, Cycle{100}), Cycle{100});  // and now it is not
}

TEST(Calendar, AgreesWithASetOfTakenCycles) {
  Calendars c(1);
  std::set<std::uint64_t> taken;
  Rng rng(3);
  std::uint64_t now = 1000;
  for (int i = 0; i < 20000; ++i) {
    now += rng.below(16);
    const std::uint64_t at = now + rng.below(300) - rng.below(300);
    const auto length = static_cast<std::uint32_t>(i % 100 == 0 ? 1 + rng.below(150) : 1 + rng.below(10));
    std::uint64_t expected = at;
    for (std::uint64_t run = 0; run < length; ++run)
      if (taken.count(expected + run) != 0) {
        expected += run + 1;
        run = ~std::uint64_t{0};
      }
    for (std::uint64_t k = 0; k < length; ++k) taken.insert(expected + k);
    ASSERT_EQ(book(c, at, length), expected) << i;
  }
}

}  // namespace
}  // namespace rubato::chip
