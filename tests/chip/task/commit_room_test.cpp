// Places in a tile's commit queue: which attempt finds one, which core hears of one, and which tasks wait so
// that cores do not run ahead of a full queue (C17).
// SPDX-License-Identifier: MIT
#include "chip/task/commit_room.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/chip/task/tile_rig.hpp"

namespace rubato::chip {
namespace {

using Woken = std::vector<std::pair<std::uint32_t, Cycle>>;

/// Two cores, a commit queue of two entries; the GVT is 0.
struct RoomRig : test::TileRig {
  RoomRig() : TileRig(2, true, 1) {}
  /// The attempt of `task`, on `slot`, finishes and has a place.
  Attempt& finish(std::uint32_t slot, Timestamp timestamp) {
    Attempt& attempt = *run(slot, timestamp, true).attempt;
    attempt.state = Attempt::State::finished;
    state.commit_queue.add(&attempt);
    state.leave_core(slot, CoreState::busy);
    return attempt;
  }
  /// The attempt on `slot` has ended and waits for a place.
  Attempt& wait(std::uint32_t slot, Timestamp timestamp) {
    Attempt& attempt = *run(slot, timestamp, true).attempt;
    state.states.set(slot, CoreState::finishing);
    return attempt;
  }
  CommitRoom room{state};
};

TEST(CommitRoom, HasAPlaceWhileTheQueueIsNotFull) {
  RoomRig rig;
  rig.finish(0, 10);
  EXPECT_TRUE(rig.room.has_place_for(*rig.run(1, 90, true).attempt));
}

TEST(CommitRoom, HasAPlaceInAFullQueueForAnEarlierAttemptOnly) {
  RoomRig rig;
  rig.finish(0, 10);
  rig.finish(0, 30);
  Attempt attempt;
  attempt.virtual_time = {20, 1};
  EXPECT_TRUE(rig.room.has_place_for(attempt));
  attempt.virtual_time = {31, 1};
  EXPECT_FALSE(rig.room.has_place_for(attempt));
  attempt.virtual_time = rig.state.commit_queue.times().back();
  EXPECT_FALSE(rig.room.has_place_for(attempt));
}

TEST(CommitRoom, MakesRoomByAbortingTheLatestAttemptForAnEarlierOne) {
  RoomRig rig;
  rig.finish(0, 10);
  const Attempt& latest = rig.finish(0, 30);
  const Task& later = rig.run(0, 40, true);
  EXPECT_FALSE(rig.room.make_room(*later.attempt, Cycle{5}));
  EXPECT_TRUE(rig.aborter.aborts.empty());
  const Task& earlier = rig.run(1, 20, true);
  EXPECT_TRUE(rig.room.make_room(*earlier.attempt, Cycle{6}));
  EXPECT_EQ(rig.aborter.aborts,
            (std::vector<test::FakeAborter::Abort>{{&latest, AbortCause::commit_queue, &earlier}}));
}

TEST(CommitRoom, MakesNoRoomWhereThereIsSome) {
  RoomRig rig;
  rig.finish(0, 30);
  EXPECT_TRUE(rig.room.make_room(*rig.run(1, 20, true).attempt, Cycle{6}));
  EXPECT_TRUE(rig.aborter.aborts.empty());
}

TEST(CommitRoom, WakesTheFinishesThatFindAPlace) {
  RoomRig rig;
  rig.finish(0, 10);
  rig.finish(0, 30);
  rig.wait(0, 20);
  rig.wait(1, 40);
  rig.room.wake_finishing(Cycle{7});
  EXPECT_EQ(rig.host.woken, (Woken{{2, Cycle{7}}}));  // core 0 of the second tile
  rig.host.woken.clear();
  rig.state.commit_queue.remove(rig.state.commit_queue.attempts().front());
  rig.room.wake_finishing(Cycle{9});
  EXPECT_EQ(rig.host.woken, (Woken{{2, Cycle{9}}, {3, Cycle{9}}}));
}

TEST(CommitRoom, WakesNoCoreThatIsLentToASpill) {
  RoomRig rig;
  rig.finish(0, 10);
  rig.wait(1, 5);
  rig.state.slots[1].borrowed = true;
  rig.room.wake_finishing(Cycle{7});
  EXPECT_TRUE(rig.host.woken.empty());
}

TEST(CommitRoom, HoldsTasksThatWouldBeLaterThanAllInAFullQueue) {
  RoomRig rig;
  EXPECT_EQ(rig.room.hold_from(false), std::nullopt);
  rig.finish(0, 10);
  EXPECT_EQ(rig.room.hold_from(true), std::nullopt);
  rig.finish(0, 30);
  EXPECT_EQ(rig.room.hold_from(false), Timestamp{30});
}

TEST(CommitRoom, HoldsAllTasksWhenManyOfTheEarliestTimestampHaveStartedAndMoreAreInMemory) {
  RoomRig rig;
  rig.room.count_start(0);
  EXPECT_FALSE(rig.room.has_started_many());
  rig.room.count_start(0);
  EXPECT_TRUE(rig.room.has_started_many());
  EXPECT_EQ(rig.room.hold_from(true), Timestamp{0});
  // The last of them run: cores run ahead as far as each attempt has a place.
  EXPECT_EQ(rig.room.hold_from(false), std::nullopt);
  rig.run(0, 40, true);
  EXPECT_EQ(rig.room.hold_from(false), std::nullopt);
  rig.run(1, 50, true);
  EXPECT_EQ(rig.room.hold_from(false), Timestamp{0});
}

TEST(CommitRoom, CountsStartsOfTheLastTimestampOnlyAndAnewInEachRegion) {
  RoomRig rig;
  rig.room.count_start(0);
  rig.room.count_start(5);
  rig.room.count_start(0);
  EXPECT_FALSE(rig.room.has_started_many());
  rig.room.count_start(0);
  EXPECT_TRUE(rig.room.has_started_many());
  rig.room.begin_region();
  EXPECT_FALSE(rig.room.has_started_many());
}

}  // namespace
}  // namespace rubato::chip
