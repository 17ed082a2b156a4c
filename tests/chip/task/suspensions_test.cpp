// Runs that wait in system calls: what they keep, what the tile may do meanwhile, and in which order they go
// on.
// SPDX-License-Identifier: MIT
#include "chip/task/suspensions.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/chip/task/tile_rig.hpp"

namespace rubato::chip {
namespace {

struct SuspensionsRig : test::TileRig {
  explicit SuspensionsRig(std::uint32_t spare_workers, bool speculates = true) : TileRig(4, speculates) {
    suspensions.begin_region(spare_workers);
  }
  /// The task on `slot` waits from cycle `at` on, as run `number`.
  void suspend(std::uint32_t slot, std::uint64_t number, std::uint64_t at = 0) {
    DispatchedTask what;
    what.run = number;
    suspensions.suspend(slot, what, Cycle{at});
  }
  Suspensions suspensions{state};
};

TEST(Suspensions, FreeACoreThatNeedsAWorkerForItsNextTask) {
  SuspensionsRig rig(1);
  const Task& task = rig.run(2, 10, false);
  rig.suspend(2, 7);
  EXPECT_TRUE(task.is_suspended);
  EXPECT_EQ(rig.state.slots[2].task, nullptr);
  EXPECT_EQ(rig.state.states[2], CoreState::busy);
  EXPECT_TRUE(rig.suspensions.may_run_guest(2));  // with the one to spare
  rig.suspensions.take_worker(2);
  EXPECT_EQ(rig.suspensions.spare_workers(), 0u);
  rig.run(2, 20, false);
  rig.suspend(2, 8);
  EXPECT_FALSE(rig.suspensions.may_run_guest(2));
  EXPECT_TRUE(rig.suspensions.may_run_guest(1));  // it has its own
  EXPECT_EQ(rig.suspensions.count(), 2u);
  EXPECT_EQ(rig.state.counts.suspended, 2u);
  EXPECT_EQ(rig.state.counts.suspended_attempts, 0u);
}

TEST(Suspensions, GoOnInTheOrderInWhichTheirCallsAreDoneAndBringTheirWorkers) {
  SuspensionsRig rig(0);
  const Task& first = rig.run(0, 10, false);
  const Task& second = rig.run(1, 20, false);
  rig.suspend(0, 1);
  rig.suspend(1, 2);
  EXPECT_FALSE(rig.suspensions.has_resumable());
  rig.suspensions.resume(2);
  rig.suspensions.resume(1);
  // The run goes on on a core that has a worker: that one is to spare now.
  EXPECT_EQ(rig.suspensions.start_next(3, Cycle{50}).task, &second);
  EXPECT_EQ(rig.suspensions.spare_workers(), 1u);
  EXPECT_EQ(rig.state.slots[3].task, &second);
  EXPECT_EQ(rig.state.states[3], CoreState::running);
  EXPECT_FALSE(second.is_suspended);
  // And on one without: it is that core's.
  EXPECT_EQ(rig.suspensions.start_next(0, Cycle{60}).task, &first);
  EXPECT_EQ(rig.suspensions.spare_workers(), 1u);
  EXPECT_TRUE(rig.suspensions.may_run_guest(0));
  EXPECT_FALSE(rig.suspensions.any());
}

TEST(Suspensions, StopAnAttemptAndMoveItToTheCoreThatItGoesOnOn) {
  SuspensionsRig rig(1);
  const Task& task = rig.run(1, 10, true);
  Attempt& attempt = *task.attempt;
  rig.suspend(1, 5, 100);
  EXPECT_EQ(attempt.state, Attempt::State::suspended);
  EXPECT_EQ(rig.speculation.stopped, (std::vector<std::uint32_t>{5}));  // core 1 of the second tile
  EXPECT_TRUE(rig.suspensions.has_attempt());
  EXPECT_FALSE(rig.suspensions.has_nonspeculative());
  rig.suspensions.resume(5);
  rig.suspensions.start_next(3, Cycle{140});
  EXPECT_EQ(attempt.state, Attempt::State::running);
  EXPECT_EQ(attempt.core, CoreId{7});
  EXPECT_TRUE(attempt.has_moved);
  EXPECT_EQ(attempt.cycles_before.size(), 1u);
  EXPECT_EQ(rig.speculation.gone_on, (std::vector<const Attempt*>{&attempt}));
  EXPECT_EQ(rig.state.counts.suspended_cycles, 40u);
}

TEST(Suspensions, LeaveAnAttemptThatComesBackToItsCoreWhereItWas) {
  SuspensionsRig rig(1);
  Attempt& attempt = *rig.run(1, 10, true).attempt;
  rig.suspend(1, 5);
  rig.suspensions.resume(5);
  rig.suspensions.start_next(1, Cycle{9});
  EXPECT_FALSE(attempt.has_moved);
  EXPECT_TRUE(attempt.cycles_before.empty());
}

TEST(Suspensions, PutWhatMustGoOnBeforeAttemptsAndTheEarliestOfThoseFirst) {
  SuspensionsRig rig(3);
  const Task& late = rig.run(0, 30, true);
  const Task& early = rig.run(1, 10, true);
  const Task& certain = rig.run(2, 50, false);
  rig.suspend(0, 1);
  rig.suspend(1, 2);
  rig.suspend(2, 3);
  EXPECT_EQ(rig.suspensions.most_urgent(), nullptr);
  rig.suspensions.resume(1);
  EXPECT_EQ(rig.suspensions.most_urgent(), &late);
  rig.suspensions.resume(2);
  EXPECT_EQ(rig.suspensions.most_urgent(), &early);
  rig.suspensions.resume(3);
  EXPECT_EQ(rig.suspensions.most_urgent(), &certain);
}

TEST(Suspensions, KeepADoomedRunWithoutItsTask) {
  SuspensionsRig rig(1);
  Task& task = rig.run(0, 10, true);
  rig.suspend(0, 4);
  EXPECT_FALSE(rig.suspensions.is_doomed(4));
  rig.suspensions.doom(*task.attempt);
  EXPECT_TRUE(rig.suspensions.is_doomed(4));
  EXPECT_FALSE(task.is_suspended);  // it may run anew
  EXPECT_TRUE(rig.suspensions.any());
  EXPECT_FALSE(rig.suspensions.has_attempt());
  rig.suspensions.resume(4);
  EXPECT_EQ(rig.suspensions.most_urgent(), nullptr);
  EXPECT_TRUE(rig.suspensions.start_next(2, Cycle{30}).is_doomed());
  EXPECT_EQ(rig.state.states[2], CoreState::doomed);
  EXPECT_EQ(rig.state.slots[2].task, nullptr);
}

TEST(Suspensions, LetNoTaskRunBesideASpecTaskThatWaitsWhereNothingSpeculates) {
  SuspensionsRig rig(3, false);
  rig.run(0, 10, false, TaskType::spec);
  rig.run(1, 20, false, TaskType::nonspec);
  rig.suspend(1, 1);
  EXPECT_FALSE(rig.suspensions.is_closed());
  rig.suspend(0, 2);
  EXPECT_TRUE(rig.suspensions.is_closed());
  rig.suspensions.resume(1);
  EXPECT_TRUE(rig.suspensions.is_closed());  // that task waits on
  rig.suspensions.resume(2);
  EXPECT_FALSE(rig.suspensions.is_closed());  // it goes on before the other one
  EXPECT_EQ(rig.suspensions.start_next(0, Cycle{5}).what.run, 2u);
}

TEST(Suspensions, KeepSpecTasksWaitingUntilNoneIsSuspendedOrNothingElseCanProceed) {
  SuspensionsRig rig(3, false);
  EXPECT_FALSE(rig.suspensions.keeps_spec_waiting());
  rig.run(0, 10, false, TaskType::nonspec);
  rig.suspend(0, 1);
  EXPECT_TRUE(rig.suspensions.keeps_spec_waiting());
  EXPECT_TRUE(rig.suspensions.let_spec_start());
  EXPECT_FALSE(rig.suspensions.let_spec_start());  // they did before
  EXPECT_FALSE(rig.suspensions.keeps_spec_waiting());
  rig.suspensions.resume(1);
  rig.suspensions.start_next(0, Cycle{5});
  rig.suspend(0, 2);
  EXPECT_TRUE(rig.suspensions.keeps_spec_waiting());  // anew
}

TEST(Suspensions, CountStartsOnlyWhileASpecTaskWaits) {
  SuspensionsRig rig(3, false);
  for (int i = 0; i < 1000; ++i) rig.suspensions.count_start(false);
  EXPECT_FALSE(rig.suspensions.is_spec_overdue());
  for (int i = 0; i < 255; ++i) rig.suspensions.count_start(i == 0);
  EXPECT_FALSE(rig.suspensions.is_spec_overdue());
  rig.suspensions.count_start(false);
  EXPECT_TRUE(rig.suspensions.is_spec_overdue());
}

}  // namespace
}  // namespace rubato::chip
