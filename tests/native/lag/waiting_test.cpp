// A45 to A49: what a worker that has found nothing waits for, and how long, by a clock that stands
// still.
// SPDX-License-Identifier: MIT
#include "native/lag/waiting.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using namespace rubato::native::lag;

/// Ten ticks a microsecond; a pause takes one tick, or what a test says.
struct Clock {
  static inline std::uint64_t time = 0, next_pause = 1;
  static std::uint64_t now() { return time; }
  static void pause() {
    time += next_pause;
    next_pause = 1;
  }
};
constexpr double kTicks = 10;

struct Always {
  double operator()() const { return 0.5; }
};
using Tested = Waiting<Clock, Always>;

Rules always_sampling() { return {.initial_rate = 1, .is_as_published = true}; }

TEST(Lag_ParkCost, IsTheMedianWithinBounds) {
  ParkCost cost(kTicks);
  EXPECT_EQ(cost.ticks(), 200u);  // unknown
  for (const unsigned microseconds : {5, 6, 7, 8, 9, 500, 600}) cost.note(microseconds * 10);
  EXPECT_EQ(cost.ticks(), 200u);
  cost.note(50);
  EXPECT_EQ(cost.ticks(), 80u);
  for (int i = 0; i < 16; ++i) cost.note(1);
  EXPECT_EQ(cost.ticks(), 20u);
  for (int i = 0; i < 16; ++i) cost.note(100'000);
  EXPECT_EQ(cost.ticks(), 1000u);
  EXPECT_EQ(ParkCost(kTicks, 7).ticks(), 70u);
}

TEST(Lag_Waiting, EndsWithWork) {
  Tested waiting(always_sampling(), Always{}, kTicks, 32);  // a delay is a microsecond
  const std::uint64_t begin = Clock::time;
  int looks = 0;
  EXPECT_EQ(waiting.give_up([&] { return ++looks == 25 ? Look::work : Look::nothing; }), Look::work);
  EXPECT_EQ(Clock::time - begin, 25u);
  EXPECT_EQ(waiting.events().samples, 1u);
  EXPECT_EQ(waiting.events().sample_hits, 1u);
  EXPECT_EQ(waiting.waited(), 25u);
}

TEST(Lag_Waiting, EndsAfterTheCostOfSleeping) {
  Tested waiting(always_sampling(), Always{}, kTicks, 32);
  EXPECT_EQ(waiting.give_up([] { return Look::nothing; }), Look::nothing);
  EXPECT_EQ(waiting.waited(), 320u);
}

TEST(Lag_Waiting, ARequestEndsItAndIsNoHit) {
  Tested waiting(always_sampling(), Always{}, kTicks, 32);
  EXPECT_EQ(waiting.give_up([] { return Look::end; }), Look::end);
  EXPECT_EQ(waiting.waited(), 1u);
  EXPECT_EQ(waiting.events().sample_hits, 0u);
}

TEST(Lag_Waiting, WhoLosesItsCpuLetsItBeForLongerAndLonger) {
  Tested waiting(always_sampling(), Always{}, kTicks, 32);
  for (const std::uint64_t rest : {100'000, 200'000, 400'000}) {
    Clock::next_pause = 501;  // over 50 microseconds
    EXPECT_TRUE(waiting.may_lag());
    EXPECT_EQ(waiting.give_up([] { return Look::nothing; }), Look::end);
    Clock::time += rest - 1;
    EXPECT_FALSE(waiting.may_lag());
    ++Clock::time;
    EXPECT_TRUE(waiting.may_lag());
  }
  EXPECT_EQ(waiting.preempted(), 3u);
  Clock::time += 20'000'000;  // long ago: as at first
  Clock::next_pause = 501;
  waiting.give_up([] { return Look::nothing; });
  Clock::time += 100'000;
  EXPECT_TRUE(waiting.may_lag());
}

}  // namespace
