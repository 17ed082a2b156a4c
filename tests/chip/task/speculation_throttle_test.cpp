// SPDX-License-Identifier: MIT
#include "chip/task/speculation_throttle.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

constexpr TaskDescriptor kHot{.function = 0x1000, .locale = 7, .has_locale = true};
constexpr TaskDescriptor kCold{.function = 0x1000, .locale = 8, .has_locale = true};
constexpr TaskDescriptor kOther{.function = 0x2000};

void abort(SpeculationThrottle& throttle, const TaskDescriptor& task, Timestamp distance, int times) {
  for (int i = 0; i < times; ++i) throttle.aborted(task, distance);
}

TEST(ReachThrottle, LimitsTheDistanceAtTheSixteenthAbortAndNotBefore) {
  ReachThrottle throttle(64);
  const TaskDescriptor task{.function = 0x3000};
  abort(throttle, task, 100, 15);
  EXPECT_TRUE(throttle.admits(task, ~Timestamp{0}));
  abort(throttle, task, 100, 1);
  EXPECT_TRUE(throttle.admits(task, 64));  // the octave of 100
  EXPECT_FALSE(throttle.admits(task, 65));
  EXPECT_TRUE(throttle.admits(kOther, 65));
}

TEST(ReachThrottle, TwoAbortsACommitLimitNothing) {
  ReachThrottle throttle(64);
  for (int i = 0; i < 1000; ++i) {
    abort(throttle, kOther, 100, 2);
    throttle.committed(kOther);
  }
  EXPECT_TRUE(throttle.admits(kOther, ~Timestamp{0}));
}

TEST(ReachThrottle, RisesHalfAnOctaveForTwoCommitsFromNothingAtAllToNoLimit) {
  ReachThrottle throttle(64);
  abort(throttle, kOther, 0, 16);
  EXPECT_TRUE(throttle.admits(kOther, 0));
  EXPECT_FALSE(throttle.admits(kOther, 1));
  throttle.committed(kOther);
  EXPECT_FALSE(throttle.admits(kOther, 1));
  throttle.committed(kOther);
  EXPECT_TRUE(throttle.admits(kOther, 1));
  EXPECT_FALSE(throttle.admits(kOther, 2));
  for (int i = 0; i < 2 * 128; ++i) throttle.committed(kOther);
  EXPECT_TRUE(throttle.admits(kOther, ~Timestamp{0}));
}

TEST(ReachThrottle, CountsNoAbortOfWhatBeganUnderAnEarlierLimit) {
  ReachThrottle throttle(64);
  abort(throttle, kOther, 100, 16);
  abort(throttle, kOther, 65, 1000);
  EXPECT_TRUE(throttle.admits(kOther, 64));
  abort(throttle, kOther, 64, 16);
  EXPECT_TRUE(throttle.admits(kOther, 48));  // half an octave less
  EXPECT_FALSE(throttle.admits(kOther, 49));
}

TEST(ReachThrottle, LimitsAHotLocaleButNotTheOthersOfItsFunction) {
  ReachThrottle throttle(64);
  abort(throttle, kHot, 100, 17);  // the first counts for the function
  EXPECT_FALSE(throttle.admits(kHot, 65));
  EXPECT_TRUE(throttle.admits(kCold, ~Timestamp{0}));
}

TEST(MakeSpeculationThrottle, MakesNoneWhereNothingIsToBeThrottled) {
  Config config;
  EXPECT_NE(make_speculation_throttle(config), nullptr);
  config.task.throttle = "none";
  EXPECT_EQ(make_speculation_throttle(config), nullptr);
}

}  // namespace
}  // namespace rubato::chip
