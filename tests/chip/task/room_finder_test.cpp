// Attempts that make room for others: which one goes, for what, and when the quick predicates may say that
// none must (C9, C13, C17).
// SPDX-License-Identifier: MIT
#include "chip/task/room_finder.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.hpp"
#include "chip/task/commit_room.hpp"
#include "chip/task/work_choice.hpp"
#include "tests/chip/task/tile_rig.hpp"

namespace rubato::chip {
namespace {

Config small_queues() {
  Config config = test::small_config(4, 2);
  config.task.task_queue = 4;  // eight entries
  config.task.commit_queue = 4;
  config.task.throttle = "none";
  return config;
}

/// A tile of two cores with all that works on its state. Tasks of timestamp 0 are the earliest.
struct FinderRig : test::TileRig {
  explicit FinderRig(const Config& c = small_queues()) : TileRig(c) { suspensions.begin_region(0); }
  Task& attempt(std::uint32_t slot, Timestamp timestamp, std::int64_t locale = -1) {
    return run(slot, {.at = static_cast<std::int64_t>(timestamp), .on = locale, .type = TaskType::mayspec},
               true);
  }
  /// A MAYSPEC task is idle here.
  Task& idle(std::int64_t timestamp, std::int64_t locale = -1) {
    return put({.at = timestamp, .on = locale, .type = TaskType::mayspec});
  }
  Obstacle find() { return room.find(choice.candidates()); }
  /// The create on `slot` of a task with this timestamp finds no entry.
  void stall(std::uint32_t slot, std::int64_t timestamp) {
    state.slots[slot].destination = state.tile;
    admission.stall(slot, test::make({.at = timestamp}), Cycle{0});
  }

  Admission admission{state};
  AbortHandlers handlers{state};
  Spiller spiller{state, admission, 0x4000'0000, 1U << 24};
  Suspensions suspensions{state};
  Rollbacks rollbacks{state};
  CommitRoom commit_room{state};
  RoomFinder room{state, admission, handlers, spiller, suspensions, rollbacks};
  WorkChoice choice{state, admission, handlers, spiller, suspensions, commit_room, room};
};

void expect_obstacle(const Obstacle& found, const Task& holder, AbortCause cause, const Task* by) {
  ASSERT_EQ(found.attempt, holder.attempt);
  EXPECT_EQ(found.cause, cause);
  EXPECT_EQ(found.by, by);
}

TEST(RoomFinder, PreemptsTheLatestAttemptForATaskThatPrecedesAllThatRun) {
  FinderRig rig;
  rig.attempt(0, 10);
  const Task& latest = rig.attempt(1, 20);
  rig.idle(15);
  EXPECT_EQ(rig.find().attempt, nullptr);
  const Task& earlier = rig.idle(5);
  expect_obstacle(rig.find(), latest, AbortCause::preempted, &earlier);
}

TEST(RoomFinder, PreemptsNoneWhileACoreIsFree) {
  FinderRig rig;
  rig.attempt(0, 10);
  rig.idle(5);
  EXPECT_TRUE(rig.room.has_core());
  EXPECT_EQ(rig.find().attempt, nullptr);
}

TEST(RoomFinder, SparesAttemptsInCapsulesWhereAnotherRuns) {
  FinderRig rig;
  const Task& outside = rig.attempt(0, 10);
  const Task& inside = rig.attempt(1, 20);
  const Task& earlier = rig.idle(5);
  rig.host.in_capsules = {3};
  expect_obstacle(rig.find(), outside, AbortCause::preempted, &earlier);
  rig.host.in_capsules = {2, 3};
  expect_obstacle(rig.find(), inside, AbortCause::preempted, &earlier);
}

TEST(RoomFinder, AbortsALaterHolderOfALocaleOnly) {
  for (const std::int64_t timestamp : {10, 20, 30}) {
    FinderRig rig;
    const Task& holder = rig.attempt(0, 20, 7);
    const Task& waiter = rig.idle(timestamp, 7);
    EXPECT_EQ(rig.state.queue.earliest_free(Lane::timestamped), nullptr);  // hangs it on the holder
    if (timestamp < 20) {
      expect_obstacle(rig.find(), holder, AbortCause::locale, &waiter);
    } else {
      EXPECT_EQ(rig.find().attempt, nullptr) << timestamp;
    }
  }
}

TEST(RoomFinder, LeavesANonspeculativeHolderOfALocale) {
  FinderRig rig;
  rig.run(0, {.at = 20, .on = 7, .type = TaskType::mayspec}, false);
  rig.idle(10, 7);
  EXPECT_EQ(rig.state.queue.earliest_free(Lane::timestamped), nullptr);
  EXPECT_EQ(rig.find().attempt, nullptr);
}

TEST(RoomFinder, AbortsAnyAttemptThatHoldsThePromotedTasksLocale) {
  FinderRig rig;
  const Task& holder = rig.attempt(0, 20, 7);
  Task& promoted = rig.make_task({.at = 90, .on = 7});
  rig.state.promoted = &promoted;
  expect_obstacle(rig.find(), holder, AbortCause::locale, &promoted);
  promoted.descriptor.locale = 8;
  EXPECT_EQ(rig.find().attempt, nullptr);
}

TEST(RoomFinder, GivesTheCoreOfAWaitingAttemptToATaskThatTheGvtWaitsFor) {
  FinderRig rig;
  rig.run(0, 0, false);  // as early: the other task does not precede all
  const Task& waiting = rig.attempt(1, 20);
  const Task& earliest = rig.idle(0);
  EXPECT_EQ(rig.find().attempt, nullptr);
  rig.state.states.set(1, CoreState::finishing);
  expect_obstacle(rig.find(), waiting, AbortCause::preempted, &earliest);
}

/// The queue is full of tasks that cannot be spilled, since their parent may be aborted.
struct FullRig : FinderRig {
  FullRig() {
    parent = &attempt(0, 40);
    other = &attempt(1, 60);
    for (int i = 0; i < 4; ++i) {
      Task& child = make_task({.at = 70, .type = TaskType::mayspec});
      child.uncommitted_parent = parent;
      state.queue.insert(&child);
    }
  }
  Task *parent, *other;
};

TEST(RoomFinder, AbortsTheLatestSpillableAttemptForATaskOfACommittedParent) {
  FullRig rig;
  rig.stall(0, 80);
  EXPECT_EQ(rig.find().attempt, nullptr);  // the attempt that creates may itself be aborted
  rig.admission.forget_create(0, Cycle{0});
  rig.state.states.set(0, CoreState::running);
  Task& refused = rig.make_task({.at = 80});
  EXPECT_FALSE(rig.admission.receive(&refused, TileId{0}, 0, false, Cycle{0}));
  expect_obstacle(rig.find(), *rig.other, AbortCause::task_queue, nullptr);
  rig.other->uncommitted_parent = rig.parent;  // not spillable
  expect_obstacle(rig.find(), *rig.parent, AbortCause::task_queue, nullptr);
}

TEST(RoomFinder, WaitsForARollbackBeforeItAbortsAnotherForAnEntry) {
  FullRig rig;
  Task& refused = rig.make_task({.at = 80});
  EXPECT_FALSE(rig.admission.receive(&refused, TileId{0}, 0, false, Cycle{0}));
  Task& aborted = rig.make_task({.at = 90});
  rig.rollbacks.add(&aborted);
  EXPECT_EQ(rig.find().attempt, nullptr);
}

TEST(RoomFinder, TakesNoAttemptWhoseFateIsPendingToBeSpillable) {
  FinderRig rig;
  const Task& running = rig.attempt(0, 30);
  Task& finished = rig.attempt(1, 50);
  finished.attempt->state = Attempt::State::finished;
  rig.state.commit_queue.add(finished.attempt);
  rig.state.leave_core(1, CoreState::busy);
  EXPECT_EQ(rig.room.latest_spillable(), finished.attempt);
  rig.aborter.pending = {finished.attempt};
  EXPECT_EQ(rig.room.latest_spillable(), running.attempt);
}

TEST(RoomFinder, AbortsASuspendedAttemptForAnEarlierTaskWithoutAWorker) {
  FinderRig rig;
  const Task& first = rig.attempt(0, 30);
  const Task& second = rig.attempt(1, 50);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    DispatchedTask what;
    what.run = slot + 1;
    rig.suspensions.suspend(slot, what, Cycle{0});
  }
  rig.idle(60);
  EXPECT_EQ(rig.room.at_worker(rig.choice.candidates()).attempt, nullptr);
  const Task& earlier = rig.idle(40);
  expect_obstacle(rig.room.at_worker(rig.choice.candidates()), second, AbortCause::preempted, &earlier);
  EXPECT_NE(first.attempt, nullptr);
}

TEST(RoomFinder, GivesTheLatestCoreToACallThatIsDoneIfThatComesFirst) {
  for (const Timestamp timestamp : {10, 70}) {
    FinderRig rig;
    const Task& waits = rig.attempt(0, timestamp);
    DispatchedTask what;
    what.run = 1;
    rig.suspensions.suspend(0, what, Cycle{0});
    rig.attempt(0, 20);
    const Task& latest = rig.attempt(1, 60);
    EXPECT_EQ(rig.find().attempt, nullptr);
    rig.suspensions.resume(1);
    if (timestamp == 10) {
      expect_obstacle(rig.find(), latest, AbortCause::preempted, &waits);
    } else {
      EXPECT_EQ(rig.find().attempt, nullptr);
    }
  }
}

// ---- Patience ----

/// Attempts run on both cores, and a task without a timestamp waits for one of these.
struct PatienceRig : FinderRig {
  PatienceRig() {
    attempt(0, 20);
    latest = &attempt(1, 60);
    untimed = &put({.type = TaskType::mayspec});
  }
  void start(std::uint64_t now) { room.start_patience(choice.candidates(), Cycle{now}); }
  Obstacle end() { return room.end_patience(ScarceResource::core, choice.candidates()); }
  Task *latest, *untimed;
};

TEST(RoomFinder, AbortsAnAttemptThatKeepsItsCoreAllTheTimeAndHalvesItsPatience) {
  PatienceRig rig;
  rig.start(100);
  rig.start(101);  // is scheduled
  EXPECT_EQ(rig.hear(), (std::vector<test::TileRig::Heard>{{Cycle{16484}, TaskEvent::patience_ends, 0}}));
  expect_obstacle(rig.end(), *rig.latest, AbortCause::preempted, rig.untimed);
  for (const std::uint64_t patience : {8192, 4096, 2048, 1024, 1024}) {
    const Cycle now = rig.timeline.now();
    rig.start(now.value);
    EXPECT_EQ(rig.hear().at(0).at, now + patience);
    EXPECT_NE(rig.end().attempt, nullptr);
  }
}

TEST(RoomFinder, HasPatienceAnewWhenACoreHasAskedMeanwhile) {
  PatienceRig rig;
  rig.start(0);
  EXPECT_NE(rig.end().attempt, nullptr);
  rig.hear();
  rig.start(rig.timeline.now().value);
  rig.room.count_ask();
  EXPECT_EQ(rig.end().attempt, nullptr);
  rig.hear();
  const Cycle now = rig.timeline.now();
  rig.start(now.value);
  EXPECT_EQ(rig.hear().at(0).at, now + 16384);
}

// ---- Quick predicates ----

/// A random tile: attempts and other tasks on its cores, idle tasks of few timestamps and locales, all with a
/// timestamp on every other tile.
void fill(FinderRig& rig, Rng& rng) {
  const bool is_plain = rng.below(2) == 0;
  const auto make = [&] {
    const bool is_timed = is_plain || rng.below(3) != 0;
    const bool is_nonspec = !is_plain && rng.below(4) == 0;
    return test::Make{.at = is_timed ? static_cast<std::int64_t>(rng.below(6)) : -1,
                      .on = rng.below(2) == 0 ? static_cast<std::int64_t>(rng.below(2)) : -1,
                      .type = is_nonspec ? TaskType::nonspec : TaskType::mayspec};
  };
  constexpr CoreState kStates[] = {CoreState::running, CoreState::running, CoreState::stalled,
                                   CoreState::finishing};
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    if (rng.below(6) == 0) continue;
    test::Make what = make();
    if (what.on >= 0) what.on = slot;  // no locale twice
    const bool is_speculative = rng.below(4) != 0;
    if (is_speculative) what.type = TaskType::mayspec;
    rig.run(slot, what, is_speculative);
    const CoreState state = kStates[rng.below(4)];
    if (state == CoreState::stalled) {
      // For an entry of the send buffer of another tile: as far as this queue knows nothing waits.
      rig.state.slots[slot].destination = TileId{0};
      rig.admission.stall(slot, test::make({}), Cycle{0});
    } else {
      rig.state.states.set(slot, is_speculative ? state : CoreState::running);
    }
  }
  for (std::uint64_t n = rng.below(4); n != 0; --n) rig.put(make());
}

TEST(RoomFinder, SaysQuicklyThatNothingMustGoOnlyWhereNothingMust) {
  Rng rng(1);
  std::uint32_t quick_plain = 0, quick = 0, obstacles = 0;
  for (int i = 0; i < 4000; ++i) {
    FinderRig rig;
    fill(rig, rng);
    const bool is_plain = rig.room.is_plain();
    const bool has_free = rig.state.queue.earliest_free(Lane::timestamped) != nullptr;
    const bool none_on_plain = is_plain && !rig.room.may_have_obstacle(has_free);
    const Candidates candidates = rig.choice.candidates();
    const bool none = rig.room.is_unobstructed(candidates);
    const bool has_obstacle = rig.room.find(candidates).attempt != nullptr;
    ASSERT_FALSE(none_on_plain && has_obstacle) << "tile " << i;
    ASSERT_FALSE(none && has_obstacle) << "tile " << i;
    quick_plain += none_on_plain ? 1 : 0;
    quick += none ? 1 : 0;
    obstacles += has_obstacle ? 1 : 0;
  }
  // Each happens often, so the tiles are not all of one kind.
  EXPECT_GT(quick_plain, 400u);
  EXPECT_GT(quick, 400u);
  EXPECT_GT(obstacles, 400u);
}

}  // namespace
}  // namespace rubato::chip
