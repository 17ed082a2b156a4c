// SPDX-License-Identifier: MIT
#include "chip/core/lookahead_window.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

TEST(LookaheadWindow, StrictActionsEndAtTheNextEventOfOthersTheRestLaterByTheLookahead) {
  LookaheadWindow window{64};
  window.begin(Cycle{100}, Cycle{120}, kNever);
  EXPECT_TRUE(window.is_strict(119));
  EXPECT_FALSE(window.is_strict(120));
  EXPECT_EQ(window.run_end(), 184U);
}

TEST(LookaheadWindow, WhatIsToHappenNowMayThoughOthersHaveAnEventNow) {
  LookaheadWindow window{0};
  window.begin(Cycle{100}, Cycle{100}, kNever);
  EXPECT_TRUE(window.is_strict(100));
  EXPECT_FALSE(window.is_strict(101));
  EXPECT_EQ(window.run_end(), 101U);
}

TEST(LookaheadWindow, APauseCutsItOnlyWhereNothingElseHappensForLong) {
  LookaheadWindow window{64};
  window.begin(Cycle{100}, Cycle{200 + (1 << 14)}, Cycle{200});
  EXPECT_EQ(window.run_end(), 200U + (1 << 14) + 64U) << "others have an event soon after the pause";
  window.begin(Cycle{100}, Cycle{201 + (1 << 14)}, Cycle{200});
  EXPECT_EQ(window.run_end(), 200U);
  EXPECT_TRUE(window.is_strict(300)) << "a pause makes nothing less strict";
  window.begin(Cycle{100}, kNever, Cycle{50});
  EXPECT_EQ(window.run_end(), 101U) << "a pause that is over";
}

TEST(LookaheadWindow, AnEventThatTheCoreHasCausedNarrowsItButNotToBeforeTheClock) {
  LookaheadWindow window{64};
  window.begin(Cycle{100}, Cycle{1000}, kNever);
  window.narrow(Cycle{2000});
  EXPECT_EQ(window.strict_end(), 1000U);
  EXPECT_EQ(window.run_end(), 1064U);
  window.narrow(Cycle{300});
  EXPECT_EQ(window.strict_end(), 300U);
  EXPECT_EQ(window.run_end(), 364U);
  window.narrow(Cycle{90});
  EXPECT_EQ(window.strict_end(), 101U);
  EXPECT_EQ(window.run_end(), 165U);
}

}  // namespace
}  // namespace rubato::chip
