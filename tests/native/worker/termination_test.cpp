// When a run has ended, while another worker is woken by threads outside, in every interleaving; and that a
// wrong end is caught. R10.
// SPDX-License-Identifier: MIT
#include "native/worker/termination.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::test::Explorer;

/// Two workers: both are idle, and one of them looks whether the run has ended. A thread outside, for which a
/// hold is open, creates a task and closes its hold. The other worker runs that task, which may open a hold,
/// as a timer does, or create a task for the worker that looks.
enum class Does : std::uint8_t { nothing, open_hold, hand_task };
struct Engine {
  unsigned idle = 2, inbox = 0, handed = 0;
  std::uint64_t ended_idling = 0;
  unsigned holds = 1;
  std::uint64_t created = 0, finished = 0;
  const Does does = Does::nothing;

  bool is_over() const { return idle == 2 && inbox == 0 && holds == 0 && created == finished; }

  // Each a step.
  template <class Act>
  static auto step(Act act) {
    Explorer::step();
    return act();
  }
  bool are_all_idle() {
    return step([&] { return idle == 2; });
  }
  bool is_held_open() {
    return step([&] { return holds != 0; });
  }
  bool has_inbox() {
    return step([&] { return inbox != 0; });
  }
  bool has_work() {
    return step([&] { return inbox + handed != 0; });
  }
  std::uint64_t idle_ends() {
    return step([&] { return ended_idling; });
  }
  Sums sums() {
    return step([&] { return Sums{created, finished}; });
  }

  void create_from_outside() {
    step([&] { ++inbox; });
    step([&] { --holds; });
  }
  void work() {
    Explorer::block([this] { return inbox != 0; });
    step([&] { --idle; });
    step([&] { ++ended_idling; });
    step([&] { --inbox; });
    step([&] { ++created; });
    if (does == Does::open_hold) step([&] { ++holds; });
    if (does == Does::hand_task) step([&] { ++created, ++handed; });
    step([&] { ++finished; });
    step([&] { ++idle; });
  }
};

struct Outcome {
  std::uint64_t schedules = 0, ended = 0, too_early = 0, missed = 0;
};
template <class Rules>
Outcome explore(Does does, bool stops_at_first) {
  Outcome outcome;
  std::unique_ptr<Engine> engine;
  outcome.schedules = Explorer::explore(
      [&] {
        engine.reset(new Engine{.does = does});
        return Explorer::Bodies{[&] {
                                  if (end_of_run<Rules>(*engine) == RunEnd::none) return;
                                  ++outcome.ended;
                                  outcome.too_early += engine->is_over() ? 0 : 1;
                                },
                                [&] { engine->work(); }, [&] { engine->create_from_outside(); }};
      },
      [&] {
        const RunEnd end = does == Does::nothing ? RunEnd::finished : RunEnd::none;
        outcome.missed += end_of_run<Rules>(*engine) == end ? 0 : 1;
      },
      [&] { return stops_at_first && outcome.too_early != 0; });
  return outcome;
}

TEST(RunEnd, ComesOnlyWhenNothingRunsOrIsHeldOpen) {
  for (const Does does : {Does::nothing, Does::open_hold, Does::hand_task}) {
    const Outcome outcome = explore<RunEndRules>(does, false);
    EXPECT_EQ(outcome.too_early, 0u) << "of " << outcome.ended << " in " << outcome.schedules;
    EXPECT_EQ(outcome.missed, 0u);
    EXPECT_EQ(outcome.ended != 0, does == Does::nothing);
    EXPECT_GT(outcome.schedules, 1000u);
  }
}

struct ForgetsHolds : RunEndRules {
  static constexpr bool kLooksForHolds = false;
};
struct ForgetsInbox : RunEndRules {
  static constexpr bool kLooksIntoInbox = false;
};
struct IgnoresSums : RunEndRules {
  static constexpr bool kComparesSums = false;
};
struct LooksOnce : RunEndRules {
  static constexpr bool kLooksForOthersAfterwards = false;
};
struct DoesNotCount : RunEndRules {
  static constexpr bool kCountsIdleEnds = false;
};

TEST(RunEnd, OfAWrongRuleIsCaught) {
  EXPECT_NE(explore<ForgetsHolds>(Does::open_hold, true).too_early, 0u);
  EXPECT_NE(explore<ForgetsInbox>(Does::open_hold, true).too_early, 0u);
  EXPECT_NE(explore<IgnoresSums>(Does::hand_task, true).too_early, 0u);
  EXPECT_NE(explore<LooksOnce>(Does::open_hold, true).too_early, 0u);
  EXPECT_NE(explore<DoesNotCount>(Does::open_hold, true).too_early, 0u);
}

/// Tasks are left that no worker can find.
TEST(RunEnd, TasksThatNothingLetsGoAreTold) {
  Engine engine;
  engine.holds = 0;
  engine.created = 1;
  EXPECT_EQ(end_of_run(engine), RunEnd::blocked);
  engine.inbox = 1;
  EXPECT_EQ(end_of_run(engine), RunEnd::none);
}

/// Two workers find that the tasks of run 1 wait for groups that cannot complete. Worker 0 ends the run when
/// the first says so, and begins run 2. @returns in how many schedules run 2 ended or failed by the second
template <class Rules>
std::uint64_t runs_that_a_late_worker_ends() {
  using End = EndFound<rubato::test::ExploredAtomics, Rules>;
  std::unique_ptr<End> found;
  std::uint64_t wrong = 0, ended = 0;
  bool is_woken = false;
  const auto find = [&] {
    found->note_blocked(1);
    is_woken = found->note_over(1) || is_woken;
  };
  Explorer::explore(
      [&] {
        found = std::make_unique<End>();
        is_woken = false;
        return Explorer::Bodies{find, find, [&] {
                                  Explorer::block([&] { return is_woken; });
                                  ended += found->is_over(1) && found->is_blocked(1) ? 1 : 0;
                                  wrong += found->is_over(2) || found->is_blocked(2) ? 1 : 0;
                                }};
      },
      [] {});
  EXPECT_GT(ended, 10u);
  return wrong;
}

struct TakesRunsForOne : RunEndRules {
  static constexpr bool kTellsRunsApart = false;
};

TEST(RunEnd, OfARunDoesNotEndTheNext) {
  EXPECT_EQ(runs_that_a_late_worker_ends<RunEndRules>(), 0u);
  EXPECT_NE(runs_that_a_late_worker_ends<TakesRunsForOne>(), 0u);
}

}  // namespace
