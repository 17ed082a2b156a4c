// When waiting tasks count as lost: each condition is broken once, and nothing is found then.
// SPDX-License-Identifier: MIT
#include "chip/task/group_waits.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

constexpr Addr kFunction = 0x1000, kEntry = 0x2000, kGroup = 0x9000;

class GroupWaitsTest : public testing::Test {
 protected:
  /// A task of the program, by its number, that waits for a group.
  static TaskDescriptor waiting(std::uint64_t number, std::optional<Timestamp> at, bool is_again = true) {
    TaskDescriptor d;
    d.function = kEntry;
    d.arguments = {kFunction, number, kGroup};
    d.argument_count = 3;
    d.is_named = true;
    d.is_again = is_again;
    d.has_timestamp = at.has_value();
    d.timestamp = at.value_or(0);
    return d;
  }
  Task* add(const TaskDescriptor& d, std::uint64_t parent) {
    Task* const task = pool.acquire();
    task->descriptor = d;
    task->id = ++last_id;
    task->parent = parent;
    return task;
  }
  std::size_t found() {
    const auto blocked = waits.look(pool);
    return blocked ? blocked->tasks.size() : 0;
  }

  TaskPool pool;
  GroupWaits waits;
  std::uint64_t last_id = 100;
};

TEST_F(GroupWaitsTest, TasksOfTheEarliestTimestampThatAllLookedInVainAreLost) {
  waits.progressed(50);
  add(waiting(1, 3), 50);
  add(waiting(2, 3), 60);
  add(waiting(3, 4, false), 10);  // later: it cannot commit
  EXPECT_EQ(found(), 2u);
  EXPECT_EQ(waits.look(pool)->sentence(),
            "no task can run: 2 tasks wait for TaskGroups that cannot complete, the first is task 0x1000 at "
            "timestamp 3");
  EXPECT_EQ(waits.look(pool)->details(),
            "task 0x1000 at timestamp 3 waits for the TaskGroup 0x9000, and 1 more like it\n");
}

TEST_F(GroupWaitsTest, OneWhoseLastLookMayHaveBeenBeforeTheLastChangeIsNot) {
  waits.progressed(50);
  add(waiting(1, 3), 50);
  add(waiting(2, 3), 49);
  EXPECT_EQ(found(), 0u);
}

TEST_F(GroupWaitsTest, OneThatHasNotLookedYetIsNot) {
  waits.progressed(50);
  add(waiting(1, 3), 50);
  add(waiting(2, 3, false), 60);
  EXPECT_EQ(found(), 0u);
}

TEST_F(GroupWaitsTest, AnEarlierTaskOrOneWithoutTimestampMayStillCompleteTheGroup) {
  waits.progressed(50);
  add(waiting(1, 3), 50);
  Task* const earlier = add(waiting(2, 2, false), 60);
  EXPECT_EQ(found(), 0u);
  pool.release(earlier);
  EXPECT_EQ(found(), 1u);
  Task* const untimestamped = add(waiting(2, std::nullopt, false), 60);
  EXPECT_EQ(found(), 0u);
  untimestamped->uncommitted_parent = add(waiting(3, 7, false), 60);  // a later task's child
  EXPECT_EQ(found(), 1u);
}

TEST_F(GroupWaitsTest, ATaskThatTheProgramKeepsIsFoundBesideOthersAndWhenTheRegionHasEnded) {
  waits.progressed(50);
  EXPECT_TRUE(waits.kept().tasks.empty());
  waits.waited(*add(waiting(1, std::nullopt, false), 0), pool);
  EXPECT_EQ(waits.kept().tasks.size(), 1u);
  waits.created_again(waiting(1, std::nullopt));
  EXPECT_TRUE(waits.kept().tasks.empty());
  waits.discarded_again(waiting(1, std::nullopt));  // the attempt that created it was aborted
  EXPECT_EQ(waits.kept().tasks.size(), 1u);
}

TEST_F(GroupWaitsTest, AnAttemptMayCreateAgainBeforeTheEndOfTheTaskItReleasesIsPermanent) {
  waits.created_again(waiting(1, std::nullopt));
  EXPECT_TRUE(waits.kept().tasks.empty());
  waits.waited(*add(waiting(1, std::nullopt, false), 0), pool);
  EXPECT_TRUE(waits.kept().tasks.empty());
}

TEST_F(GroupWaitsTest, OneThatOnlyAnAttemptOfALaterTaskReleasedStillWaits) {
  waits.progressed(50);
  add(waiting(1, 3), 50);
  Task* const later = add(waiting(2, 7, false), 40);
  Task* const ending = add(waiting(3, std::nullopt, false), 0);
  waits.waited(*ending, pool);
  pool.release(ending);
  waits.created_again(waiting(3, std::nullopt));
  add(waiting(3, std::nullopt), later->id)->uncommitted_parent = later;
  EXPECT_EQ(found(), 2u);
}

TEST_F(GroupWaitsTest, ATaskCountsOnceThoughTwoRecordsStandForIt) {
  waits.progressed(50);
  Task* const ending = add(waiting(1, 3), 50);
  waits.created_again(ending->descriptor);
  add(waiting(1, 3), ending->id);
  waits.waited(*ending, pool);
  EXPECT_EQ(found(), 1u);
}

TEST_F(GroupWaitsTest, ItIsTimeToLookAfterAsManyWaitsAsThePoolHasRecordsAndNotBeforeTwiceAsManyAgain) {
  const Task& task = *add(waiting(1, 3), 50);
  const auto waits_until_look = [&] {
    std::uint64_t count = 1;
    while (!waits.waited(task, pool)) ++count;
    return count;
  };
  EXPECT_EQ(waits_until_look(), pool.capacity());
  for (std::uint64_t patience = 64; patience <= pool.capacity(); patience *= 2) waits.look(pool);
  EXPECT_EQ(waits_until_look(), 2 * pool.capacity());
  waits.progressed(200);
  EXPECT_EQ(waits_until_look(), pool.capacity());
}

TEST_F(GroupWaitsTest, TasksThatWaitInSystemCallsAreSaid) {
  waits.progressed(50);
  add(waiting(1, 3), 50);
  add(waiting(2, std::nullopt, false), 60)->is_suspended = true;
  const auto blocked = waits.look(pool);
  ASSERT_TRUE(blocked);
  EXPECT_TRUE(blocked->has_suspended);
}

}  // namespace
}  // namespace rubato::chip
