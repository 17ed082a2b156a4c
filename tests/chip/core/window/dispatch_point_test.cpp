// The point of dispatch of a window core, without a core: its cycle, its limit, its stalls and the wait for
// code.
// SPDX-License-Identifier: MIT
#include "chip/core/window/dispatch_point.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace rubato::chip {
namespace {

DispatchPoint point_of(std::uint32_t width, std::uint32_t mispredict = 5) {
  CoreSection core;
  core.width = width;
  core.mispredict = mispredict;
  return DispatchPoint(core);
}

TEST(DispatchPoint, ACycleHasAsManySlotsAsTheCoreIsWide) {
  DispatchPoint point = point_of(2);
  for (const std::uint64_t cycle : {0U, 0U, 1U, 1U, 2U}) {
    point.find_slot();
    EXPECT_EQ(point.cycle(), cycle);
    point.use_slot();
  }
  EXPECT_FALSE(point.is_cycle_fresh());
}

TEST(DispatchPoint, OnlyALaterCycleHasFreshSlots) {
  DispatchPoint point = point_of(4);
  point.begin(10);
  point.use_slot();
  point.go_to(10);
  point.go_to(9);
  EXPECT_EQ(point.cycle(), 10U);
  EXPECT_FALSE(point.is_cycle_fresh());
  point.go_to(11);
  EXPECT_EQ(point.cycle(), 11U);
  EXPECT_TRUE(point.is_cycle_fresh());
}

TEST(DispatchPoint, AnInstructionThatOthersSeeWaitsForTheClock) {
  LookaheadWindow window(32);
  window.begin(Cycle{100}, Cycle{110}, kNever);  // strict before 110, ahead before 142
  DispatchPoint point = point_of(4);
  point.begin(109);
  EXPECT_TRUE(point.reaches_clock(window));
  EXPECT_EQ(point.end(window), 142U);
  point.go_to(110);
  EXPECT_FALSE(point.reaches_clock(window));
  EXPECT_EQ(point.end(window), 110U);
  point.use_slot();  // it was dispatched after all: the next one need not wait
  EXPECT_EQ(point.end(window), 142U);
}

TEST(DispatchPoint, TheLimitOnlyFallsUntilItIsSet) {
  DispatchPoint point = point_of(1);
  EXPECT_TRUE(point.is_at_limit());
  point.set_limit(20);
  point.lower_limit(30);
  point.go_to(19);
  EXPECT_FALSE(point.is_at_limit());
  point.lower_limit(19);
  EXPECT_TRUE(point.is_at_limit());
}

TEST(DispatchPoint, AStoreOrACommitEndsAWaitForRoomAndForOlderInstructions) {
  DispatchPoint point = point_of(1);
  point.await_room();
  EXPECT_TRUE(point.is_stalled());
  point.end_wait_for_older();
  EXPECT_FALSE(point.is_stalled());
  point.await_older();
  point.end_wait_for_older();
  EXPECT_FALSE(point.is_stalled());
}

TEST(DispatchPoint, ButNotAWaitForABranchOrALine) {
  DispatchPoint point = point_of(1);
  point.await_branch(7);
  point.end_wait_for_older();
  EXPECT_TRUE(point.is_stalled());
  point.forget_stall();
  point.await_line(LineAddr{3});
  point.end_wait_for_older();
  point.end_wait_for_branch(7, 50);
  EXPECT_TRUE(point.is_stalled());
}

TEST(DispatchPoint, GoesOnBehindAMispredictedBranchWhenThatOneIsComplete) {
  DispatchPoint point = point_of(1, 5);
  point.await_branch(7);
  point.end_wait_for_branch(6, 40);
  EXPECT_TRUE(point.is_stalled());
  point.end_wait_for_branch(7, 50);
  EXPECT_FALSE(point.is_stalled());
  EXPECT_EQ(point.cycle(), 54U);  // 50 - 1 + 5
}

TEST(DispatchPoint, GoesOnWhenItsOwnLineComes) {
  DispatchPoint point = point_of(1);
  point.await_line(LineAddr{3});
  EXPECT_FALSE(point.awaits(LineAddr{4}));
  point.end_wait_for_line(LineAddr{4}, 60);
  EXPECT_TRUE(point.is_stalled());
  point.end_wait_for_line(LineAddr{3}, 61);
  EXPECT_FALSE(point.is_stalled());
  EXPECT_EQ(point.cycle(), 61U);
}

TEST(DispatchPoint, SumsTheWaitsForCodeUntilTheyAreCharged) {
  DispatchPoint point = point_of(1);
  EXPECT_FALSE(point.has_fetch_parts());
  point.fetched({.l2 = 10});
  point.fetched({.l2 = 1, .memory = 100});
  EXPECT_TRUE(point.has_fetch_parts());
  EXPECT_EQ(point.fetch_parts().l2, 11U);
  EXPECT_EQ(point.fetch_parts().memory, 100U);
  point.forget_fetch();
  EXPECT_FALSE(point.has_fetch_parts());
  EXPECT_EQ(point.fetch_parts().l2, 0U);
}

TEST(DispatchPoint, ASquashGoesBackAndForgetsEachWait) {
  DispatchPoint point = point_of(2);
  point.begin(100);
  point.set_limit(200);
  point.use_slot();
  point.await_line(LineAddr{3});
  point.fetched({.l2 = 10});
  point.restart(90);
  EXPECT_EQ(point.cycle(), 90U);
  EXPECT_TRUE(point.is_cycle_fresh());
  EXPECT_FALSE(point.is_stalled());
  EXPECT_FALSE(point.has_fetch_parts());
  EXPECT_TRUE(point.is_at_limit());  // the loop that dispatches has to look again
}

}  // namespace
}  // namespace rubato::chip
