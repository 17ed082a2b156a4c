// SPDX-License-Identifier: MIT
#include "chip/task/speculation_trials.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rubato::chip {
namespace {

/// A chip whose GVT has a new timestamp every 200 cycles, until when some tasks commit and some are aborted.
struct Chip {
  SpeculationTrials trials;
  Cycle now{};
  Timestamp gvt = 0;

  Chip() { trials.begin_region(now); }
  void step(std::uint64_t commits, std::uint64_t aborts) {
    now = now + 200;
    for (std::uint64_t i = 0; i < commits; ++i) trials.committed({gvt, tie_breaker(now, CoreId{0})});
    for (std::uint64_t i = 0; i < aborts; ++i) trials.aborted();
    trials.found(++gvt, now);
  }
  /// `cycles` with what commits and is aborted in 200 cycles of each reach. @returns those of each reach.
  struct Step {
    std::uint64_t commits, aborts;
  };
  std::array<std::uint64_t, 3> run(Latency cycles, std::array<Step, 3> of_reach) {
    std::array<std::uint64_t, 3> spent{};
    for (const Cycle end = now + cycles; now < end;) {
      const auto reach = static_cast<std::size_t>(trials.reach());
      if (trials.is_waiting()) trials.no_attempt_runs(now);
      spent[reach] += 200;
      step(of_reach[reach].commits, of_reach[reach].aborts);
    }
    return spent;
  }
};

TEST(SpeculationTrials, TryNothingWhileFewAttemptsAreAborted) {
  Chip chip;
  const auto spent = chip.run(1'000'000, {{{2, 0}, {2, 2}, {200, 0}}});
  EXPECT_EQ(spent[1], 1'000'000u);
}

TEST(SpeculationTrials, GiveUpALimitThatIsSlowerThanNone) {
  Chip chip;
  const auto spent = chip.run(500'000, {{{8, 40}, {2, 4}, {1, 0}}});  // free, limited, none
  EXPECT_GT(spent[0], 450'000u);
  EXPECT_EQ(chip.trials.reach(), SpeculationReach::free);
}

TEST(SpeculationTrials, KeepALimitThatIsFaster) {
  Chip chip;
  const auto spent = chip.run(500'000, {{{2, 60}, {8, 20}, {1, 0}}});
  EXPECT_GT(spent[1], 400'000u);
}

/// Attempts that a trial has begun wait for locks long after it, and nothing else commits until they have
/// ended.
TEST(SpeculationTrials, CostASmallPartOfTheTimeWithWhatTheyLeaveBehind) {
  Chip chip;
  constexpr std::uint64_t kSteps = 2500, kLeftBehind = 150;  // of 200 cycles
  std::uint64_t commits = 0, left = kLeftBehind;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    const bool is_none = chip.trials.reach() == SpeculationReach::none;
    if (is_none && left != 0) {
      chip.step(0, --left % 16 == 0 ? 1 : 0);
      continue;
    }
    if (is_none && chip.trials.is_waiting()) chip.trials.no_attempt_runs(chip.now);
    left = is_none ? 0 : kLeftBehind;
    commits += is_none ? 1 : 0;
    chip.step(is_none ? 1 : 0, is_none ? 0 : 10);
  }
  EXPECT_GT(commits, kSteps * 70 / 100);
}

TEST(SpeculationTrials, ComeAtOnceWhereFarMoreAttemptsAreAbortedThanTasksCommit) {
  Chip chip;
  while (chip.trials.reach() == SpeculationReach::limited) {
    ASSERT_LT(chip.now.value, 600u);
    chip.step(4, 20);
  }
  EXPECT_EQ(chip.trials.reach(), SpeculationReach::none);
}

/// Commits come in bursts: as many as elsewhere on average, but none in most epochs.
TEST(SpeculationTrials, AreNotWonByOneBadEpochOfTheBest) {
  Chip chip;
  std::uint64_t free = 0, cycles = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    if (chip.trials.is_waiting()) chip.trials.no_attempt_runs(chip.now);
    const bool is_free = chip.trials.reach() == SpeculationReach::free;
    const bool is_none = chip.trials.reach() == SpeculationReach::none;
    chip.step(is_none ? 1 : !is_free ? 5 : i % 8 < 2 ? 34 : 2, is_none ? 0 : 40);
    if (i >= 1000) {
      free += is_free ? 1 : 0;
      ++cycles;
    }
  }
  EXPECT_GT(free, cycles * 9 / 10) << "10 a step on average, beside 5";
}

TEST(SpeculationTrials, StopAttemptsWhereTasksCommitFasterWithout) {
  Chip chip;
  const auto spent = chip.run(500'000, {{{0, 10}, {1, 10}, {4, 0}}});
  EXPECT_GT(spent[2], 450'000u);
}

TEST(SpeculationTrials, ComeBackWhenTheProgramHasChanged) {
  Chip chip;
  chip.run(100'000, {{{0, 10}, {1, 10}, {4, 0}}});
  ASSERT_EQ(chip.trials.reach(), SpeculationReach::none);
  const auto spent = chip.run(1'000'000, {{{20, 0}, {20, 0}, {1, 0}}});
  EXPECT_GT(spent[1], 700'000u);
}

TEST(SpeculationTrials, CountOnlyWhatWasDispatchedInATrialOfANarrowerReach) {
  Chip chip;
  for (int i = 0; i < 1000 && chip.trials.reach() != SpeculationReach::none; ++i) chip.step(2, 6);
  ASSERT_EQ(chip.trials.reach(), SpeculationReach::none);
  chip.trials.no_attempt_runs(chip.now);
  // Commits of attempts that had finished before the trial.
  while (chip.trials.reach() == SpeculationReach::none) {
    chip.now = chip.now + 200;
    for (int i = 0; i < 50; ++i) chip.trials.committed({chip.gvt, tie_breaker(Cycle{1}, CoreId{0})});
    chip.trials.found(++chip.gvt, chip.now);
    ASSERT_LT(chip.now.value, 200'000u);
  }
  EXPECT_EQ(chip.trials.reach(), SpeculationReach::limited);
}

TEST(SpeculationTrials, WaitForAttemptsThatHoldLocksUntilEnoughOtherTasksHaveCommitted) {
  Chip chip;
  for (int i = 0; i < 1000 && chip.trials.reach() != SpeculationReach::none; ++i) chip.step(0, 10);
  ASSERT_TRUE(chip.trials.is_waiting());
  for (int i = 0; i < 150; ++i) chip.step(0, 0);  // 30,000 cycles
  EXPECT_TRUE(chip.trials.is_waiting());
  for (int i = 0; i < 1000 && chip.trials.is_waiting(); ++i) chip.step(1, 0);
  for (int i = 0; i < 100; ++i) chip.step(1, 0);
  EXPECT_EQ(chip.trials.reach(), SpeculationReach::none) << "the trial is won";
}

TEST(SpeculationTrials, WaitNoLongerThanSoLongForAttemptsThatMayNeverEnd) {
  Chip chip;
  for (int i = 0; i < 1000 && chip.trials.reach() != SpeculationReach::none; ++i) chip.step(2, 6);
  ASSERT_TRUE(chip.trials.is_waiting());
  for (Latency waited = 0; chip.trials.is_waiting(); waited += 200) {
    ASSERT_LE(waited, SpeculationTrials::kLongestWait);
    chip.step(0, 0);
  }
}

}  // namespace
}  // namespace rubato::chip
