// When a worker refreshes its epoch and looks at the clock (R7, R10), and how the prefetch distance climbs
// (R6).
// SPDX-License-Identifier: MIT
#include "native/worker/pace.hpp"

#include <gtest/gtest.h>

#include "native/worker/prefetch_tuner.hpp"

namespace {

using rubato::native::Pace;
using rubato::native::PrefetchTuner;
using rubato::native::ticks_of;
namespace policy = rubato::native::policy;

/// Tasks until a batch is over.
unsigned tasks_of_batch(Pace& pace) {
  for (unsigned tasks = 1;; ++tasks)
    if (pace.is_refresh_due() && pace.begin_next()) return tasks;
}

TEST(Pace, LooksAtTheClockEvery50ShortTasks) {
  Pace pace(false);
  std::uint64_t now = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(tasks_of_batch(pace), 50u);
    const Pace::Batch batch = pace.end_batch(now += ticks_of(50));
    EXPECT_TRUE(batch.is_full());
    EXPECT_EQ(batch.took, ticks_of(50));
    EXPECT_FALSE(batch.is_worth_timing);
    EXPECT_FALSE(pace.are_tasks_long()) << "a microsecond each, not more";
  }
}

TEST(Pace, RefreshesBeforeEveryTaskIfAskedTo) {
  Pace pace(true);
  for (unsigned i = 1; i < 50; ++i) {
    ASSERT_TRUE(pace.is_refresh_due());
    ASSERT_FALSE(pace.begin_next()) << i;
  }
  ASSERT_TRUE(pace.is_refresh_due());
  EXPECT_TRUE(pace.begin_next());
  pace.end_batch(1);
  EXPECT_EQ(tasks_of_batch(pace), 50u);
}

TEST(Pace, ShortensBatchesOfLongTasksAndDoublesThemAgain) {
  Pace pace(false);
  std::uint64_t now = 0;
  tasks_of_batch(pace);
  pace.end_batch(now += ticks_of(50 * policy::kBatchMicroseconds));
  EXPECT_EQ(tasks_of_batch(pace), 1u) << "one of them takes as long as a batch may";
  for (const unsigned expected : {2u, 4u, 8u, 16u, 32u, 50u, 50u}) {
    pace.end_batch(now += 1);
    EXPECT_EQ(tasks_of_batch(pace), expected);
  }
}

TEST(Pace, FindsTasksLongFromAMicrosecondAndWorthTimingFromTwenty) {
  Pace pace(false);
  EXPECT_TRUE(pace.are_tasks_long()) << "unknown";
  EXPECT_FALSE(pace.end_batch(ticks_of(50 * 20)).is_worth_timing);
  EXPECT_TRUE(pace.are_tasks_long());
  EXPECT_TRUE(pace.end_batch(ticks_of(50 * 20) + ticks_of(50 * 20) + 1).is_worth_timing);
  pace.end_batch(ticks_of(50 * 40) + 2);
  EXPECT_FALSE(pace.are_tasks_long());
  pace.expect_long_tasks();
  EXPECT_TRUE(pace.are_tasks_long());
}

/// Idle for a second, and a second between two runs: the tasks of the batch are short all the same.
TEST(Pace, LeavesOutTheTimeInWhichItsWorkerHasStopped) {
  Pace pace(false);
  std::uint64_t now = ticks_of(7'000'000);
  pace.go_on(now);
  pace.stop(now += ticks_of(20));
  pace.go_on(now += ticks_of(1'000'000));
  pace.go_on(now += ticks_of(1'000'000));
  const Pace::Batch batch = pace.end_batch(now += ticks_of(30));
  EXPECT_EQ(batch.took, ticks_of(20) + ticks_of(30));
  EXPECT_FALSE(batch.is_worth_timing);
  EXPECT_EQ(tasks_of_batch(pace), 50u);
}

TEST(Pace, CountsTheTimeOfItsTasksThoughItStopsInBetween) {
  Pace pace(false);
  std::uint64_t now = ticks_of(7'000'000);
  pace.go_on(now);
  for (int task = 0; task < 50; ++task) {
    pace.stop(now += ticks_of(21));
    pace.go_on(now += ticks_of(1'000));
  }
  EXPECT_TRUE(pace.end_batch(now).is_worth_timing);
}

/// After an exception of the engine's own it goes on without having stopped.
TEST(Pace, HasABatchOfNoTimeIfItGoesOnTwice) {
  Pace pace(false);
  pace.go_on(1000);
  pace.end_batch(3000);
  pace.go_on(5000);
  EXPECT_EQ(pace.end_batch(5000).took, 0u);
}

TEST(Pace, LooksAfterTheRestEveryFourthBatchOfShortTasks) {
  Pace pace(false);
  EXPECT_TRUE(pace.is_rest_due());
  pace.end_batch(1);
  ASSERT_FALSE(pace.are_tasks_long());
  for (int round = 0; round < 2; ++round) {
    for (unsigned i = 1; i < policy::kBatchesBeforeRest; ++i) EXPECT_FALSE(pace.is_rest_due());
    EXPECT_TRUE(pace.is_rest_due());
  }
  pace.expect_long_tasks();
  EXPECT_TRUE(pace.is_rest_due());
  EXPECT_TRUE(pace.is_rest_due());
}

/// The distance after a step, each batch of which took so long.
unsigned step(PrefetchTuner& tuner, unsigned distance, std::uint64_t took) {
  for (unsigned i = 1; i < policy::kBatchesAStep; ++i)
    EXPECT_EQ(tuner.next_distance(distance, took), distance);
  return tuner.next_distance(distance, took);
}

TEST(PrefetchTuner, GoesOnWhileTasksDoNotBecomeSlowerAndBackIfTheyDo) {
  PrefetchTuner tuner;
  unsigned distance = step(tuner, 4, 6400);
  EXPECT_EQ(distance, 3u) << "slower than nothing: back";
  EXPECT_EQ(distance = step(tuner, distance, 6400), 2u);
  EXPECT_EQ(distance = step(tuner, distance, 6500), 1u) << "1/64 more is noise";
  EXPECT_EQ(distance = step(tuner, distance, 6700), 2u) << "more than that is not";
  EXPECT_EQ(distance = step(tuner, distance, 6000), 3u);
}

TEST(PrefetchTuner, StaysBetweenOneAndTheLargest) {
  PrefetchTuner tuner;
  EXPECT_EQ(step(tuner, 1, 100), 1u);
  EXPECT_EQ(step(tuner, 1, 200), 2u);
  EXPECT_EQ(step(tuner, policy::kLargestDistance, 100), static_cast<unsigned>(policy::kLargestDistance));
}

}  // namespace
