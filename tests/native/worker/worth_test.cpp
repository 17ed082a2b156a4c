// Worth of a worker's tasks to others (R2), and the choice of tasks that are timed (R11).
// SPDX-License-Identifier: MIT
#include "native/worker/worth.hpp"

#include <gtest/gtest.h>

#include "native/worker/task_timer.hpp"

namespace {

using rubato::native::TaskTimer;
using rubato::native::ticks_of;
using rubato::native::TraceLane;
using rubato::native::TraceSpan;
using rubato::native::Worth;
using rubato::native::worth_ticks;
namespace policy = rubato::native::policy;

/// `ran` tasks of so many ticks each, 1 apart.
bool measure(Worth& worth, std::uint64_t ticks, std::uint64_t ran, bool has_cpu = true) {
  static std::uint64_t now = 0, finished = 0;
  worth.begin(now, finished);
  return worth.measure(now += ticks * (ran + 1), finished += ran, false, has_cpu);
}

TEST(Worth, OfUnknownTasksIsThatOfLongOnes) {
  const Worth worth;
  EXPECT_TRUE(worth.is_unknown());
  EXPECT_EQ(worth.ticks_a_task(), policy::kUnknownTicks);
}

TEST(Worth, CountsTheTasksThatTakeEightMicroseconds) {
  Worth worth;
  const std::uint64_t quarter = worth_ticks() / 4;
  EXPECT_FALSE(measure(worth, quarter, 10));
  EXPECT_EQ(worth.ticks_a_task(), quarter + 1);
  EXPECT_EQ(worth.tasks(), 4u);
  EXPECT_FALSE(worth.is_task_worth_it());
  measure(worth, 1, 100'000);
  measure(worth, 1, 100'000);
  EXPECT_EQ(worth.tasks(), std::min<std::uint64_t>(policy::kDistributed, (worth_ticks() + 1) / 2));
}

TEST(Worth, TakesTheShorterOfTwoTimesUnlessTasksAreVeryLong) {
  Worth worth;
  measure(worth, 10, 10);
  EXPECT_FALSE(measure(worth, 1000, 10));
  EXPECT_EQ(worth.ticks_a_task(), 11u) << "it may have been preempted";
  EXPECT_FALSE(measure(worth, 1000, 10));
  EXPECT_EQ(worth.ticks_a_task(), 1001u) << "twice it was not";
  EXPECT_FALSE(measure(worth, ticks_of(policy::kSharedMicroseconds), 10, false))
      << "a worker without a CPU waits";
  measure(worth, 10, 10);
  EXPECT_TRUE(measure(worth, ticks_of(policy::kSharedMicroseconds), 10, true));
  EXPECT_TRUE(worth.is_task_worth_it());
}

TEST(Worth, LearnsNothingWhileATaskRunsOrIfNoneHas) {
  Worth worth;
  worth.begin(0, 5);
  EXPECT_FALSE(worth.measure(1000, 9, true, true));
  EXPECT_FALSE(worth.measure(2000, 9, false, true));
  EXPECT_TRUE(worth.is_unknown());
  EXPECT_EQ(worth.since(2500), 500u);
}

class TaskTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    task.code = &code;
    task.words[0] = 7;
  }
  rubato::engine::TaskCode code{nullptr, nullptr, nullptr, false, true, 0, rubato::engine::kNoPointer};
  rubato::engine::Task task{};
};

TEST_F(TaskTimerTest, TimesTheFirstThousandAndAThousandAfterARestart) {
  TaskTimer timer(nullptr);
  for (int round = 0; round < 2; ++round) {
    for (unsigned i = 0; i < policy::kTimedTasks; ++i) {
      ASSERT_TRUE(timer.is_on());
      timer.begin(task);
      timer.end();
    }
    ASSERT_FALSE(timer.is_on());
    timer.restart();
  }
}

TEST_F(TaskTimerTest, NamesALongTaskUnlessItWasPutBack) {
  TaskTimer timer(nullptr);
  const auto run_long = [&] {
    timer.begin(task);
    const std::uint64_t begin = rubato::native::ticks();
    while (rubato::native::ticks() - begin < ticks_of(policy::kLongMicroseconds)) {
    }
  };
  run_long();
  const TraceSpan* const span = timer.end();
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(span->code, &code);
  EXPECT_EQ(span->first_word, 7u);
  run_long();
  timer.leave_out();
  EXPECT_EQ(timer.end(), nullptr);
}

TEST_F(TaskTimerTest, WithATraceItNeverEndsAndKeepsWhatRan) {
  TraceLane lane(policy::kTimedTasks + 2);
  TaskTimer timer(&lane);
  for (unsigned i = 0; i < policy::kTimedTasks + 1; ++i) {
    timer.begin(task);
    timer.end();
  }
  timer.begin(task);
  timer.leave_out();
  timer.end();
  EXPECT_TRUE(timer.is_on());
  EXPECT_EQ(lane.size(), policy::kTimedTasks + 1);
}

}  // namespace
