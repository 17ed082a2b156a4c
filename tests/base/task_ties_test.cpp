// Ties, on both sides of each rule: order by timestamps, creation, synchronization and chains of them;
// exclusion by locale and by atomicity.
// SPDX-License-Identifier: MIT
#include "base/task_ties.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr std::uint64_t kWord = 0x1000, kOther = 0x2000;

class TaskTiesTest : public testing::Test {
 protected:
  void create(TaskTies::Id id, TaskTies::Task task = {.at = 5}, TaskTies::Id parent = 0,
              TaskTies::Position position = 0) {
    ties_.create(id, task, parent, position);
  }
  bool write(TaskTies::Id id, TaskTies::Position position = 1, std::uint64_t address = kWord) {
    return ties_.access(id, position, address, 8, true).has_value();
  }
  bool read(TaskTies::Id id, TaskTies::Position position = 1, std::uint64_t address = kWord) {
    return ties_.access(id, position, address, 8, false).has_value();
  }
  TaskTies ties_;
};

TEST_F(TaskTiesTest, TwoWritesOfOneTimestampTieAndTheTieNamesBoth) {
  create(1);
  create(2);
  EXPECT_FALSE(write(1));
  const auto tie = ties_.access(2, 1, kWord + 4, 4, false);
  ASSERT_TRUE(tie.has_value());
  EXPECT_EQ(tie->first, 1u);
  EXPECT_EQ(tie->second, 2u);
  EXPECT_TRUE(tie->first_writes);
  EXPECT_FALSE(tie->second_writes);
  EXPECT_EQ(tie->address, kWord + 4);
}

TEST_F(TaskTiesTest, TwoReadsDoNotTieAndAWriteBehindThemDoes) {
  for (const TaskTies::Id id : {1, 2, 3}) create(id);
  EXPECT_FALSE(read(1));
  EXPECT_FALSE(read(2));
  EXPECT_TRUE(write(3));
}

TEST_F(TaskTiesTest, OnlyCommonBytesTie) {
  create(1);
  create(2);
  EXPECT_FALSE(ties_.access(1, 1, kWord, 4, true).has_value());
  EXPECT_FALSE(ties_.access(2, 1, kWord + 4, 4, true).has_value());
  EXPECT_TRUE(ties_.access(2, 2, kWord + 3, 1, false).has_value());
}

TEST_F(TaskTiesTest, AnAccessAcrossTwoWordsIsOneOfBoth) {
  create(1);
  create(2);
  EXPECT_FALSE(ties_.access(1, 1, kWord + 8, 1, true).has_value());
  const auto tie = ties_.access(2, 1, kWord + 6, 4, true);
  ASSERT_TRUE(tie.has_value());
  EXPECT_EQ(tie->address, kWord + 8);
}

TEST_F(TaskTiesTest, DifferentTimestampsOrder) {
  create(1, {.at = 5});
  create(2, {.at = 6});
  EXPECT_FALSE(write(1));
  EXPECT_FALSE(write(2));
}

TEST_F(TaskTiesTest, NoTimestampIsInNoOrderWithAny) {
  create(1, {.at = 5});
  create(2, {});
  EXPECT_FALSE(write(1));
  EXPECT_TRUE(write(2));
}

// By way of an earlier timestamp: 3 comes behind 2, and 2 behind what 1 released.
TEST_F(TaskTiesTest, ATaskWithoutTimestampThatHasReleasedMayComeBeforeATimestamp) {
  create(1, {});
  create(2, {.at = 4});
  create(3, {.at = 5});
  EXPECT_FALSE(write(1, 1));
  ties_.synchronize(1, 2, 77);
  ties_.synchronize(2, 1, 77);
  EXPECT_FALSE(write(3, 1));
}

TEST_F(TaskTiesTest, AChildComesBehindWhatItsCreatorDidBeforeAndNotBehindTheRest) {
  create(1);
  EXPECT_FALSE(write(1, 1));
  create(2, {.at = 5}, 1, 1);
  EXPECT_FALSE(write(1, 2, kOther));
  EXPECT_FALSE(write(2, 1));
  EXPECT_TRUE(write(2, 2, kOther));
}

TEST_F(TaskTiesTest, AGrandchildWithoutTimestampComesBehindAnEarlierTimestamp) {
  create(1, {.at = 4});
  create(2, {.at = 5});
  create(3, {}, 2, 1);
  EXPECT_FALSE(write(1));
  EXPECT_FALSE(write(3));
}

TEST_F(TaskTiesTest, SpeculativeChildrenAndChildrenOfSpeculativeTasksComeBehindAllOfTheirCreators) {
  create(1, {.at = 5, .is_atomic = true});
  EXPECT_FALSE(write(1, 7));
  create(2, {.at = 5}, 1, 3);
  EXPECT_FALSE(write(2));
  create(3, {.at = 9});
  EXPECT_FALSE(write(3, 7));
  create(4, {.at = 9, .is_atomic = true}, 3, 3);
  EXPECT_FALSE(write(4));
}

TEST_F(TaskTiesTest, SiblingsTie) {
  create(1);
  create(2, {.at = 5}, 1, 1);
  create(3, {.at = 5}, 1, 2);
  EXPECT_FALSE(write(2));
  EXPECT_TRUE(write(3));
}

TEST_F(TaskTiesTest, OneLocaleKeepsApartAndTwoDoNot) {
  create(1, {.at = 5, .locale = 1});
  create(2, {.at = 5, .locale = 1});
  create(3, {.at = 5, .locale = 2});
  EXPECT_FALSE(write(1));
  EXPECT_FALSE(write(2));
  EXPECT_TRUE(write(3));
}

TEST_F(TaskTiesTest, ReadersOfALocaleRunAtOnce) {
  create(1, {.at = 5, .locale = 1, .reads = true});
  create(2, {.at = 5, .locale = 1, .reads = true});
  create(3, {.at = 5, .locale = 1});
  EXPECT_FALSE(read(1));
  EXPECT_FALSE(write(3));
  EXPECT_FALSE(read(2));
  EXPECT_TRUE(write(1, 2));
}

TEST_F(TaskTiesTest, TwoAtomicTasksAreApartAndOneIsNot) {
  create(1, {.at = 5, .is_atomic = true});
  create(2, {.at = 5, .is_atomic = true});
  create(3, {.at = 5});
  EXPECT_FALSE(write(1));
  EXPECT_FALSE(write(2));
  EXPECT_TRUE(write(3));
}

TEST_F(TaskTiesTest, AReleaseBeforeAnAcquireOrdersAndNotTheOtherWay) {
  for (const TaskTies::Id id : {1, 2, 3}) create(id);
  EXPECT_FALSE(write(1, 1));
  ties_.synchronize(1, 2, 77);
  EXPECT_FALSE(write(1, 3, kOther));
  ties_.synchronize(2, 1, 77);
  EXPECT_FALSE(write(2, 2));
  EXPECT_TRUE(write(2, 3, kOther));
  ties_.synchronize(3, 1, 78);
  EXPECT_TRUE(write(3, 2));
}

TEST_F(TaskTiesTest, AChainOfUsesOrders) {
  for (const TaskTies::Id id : {1, 2, 3}) create(id);
  EXPECT_FALSE(write(1, 1));
  ties_.synchronize(1, 2, 77);
  ties_.synchronize(2, 1, 77);
  ties_.synchronize(2, 2, 78);
  ties_.synchronize(3, 1, 78);
  EXPECT_FALSE(write(3, 2));
}

TEST_F(TaskTiesTest, WhatATaskPublishedUnderALocaleIsFoundThroughIt) {
  create(1, {.at = 5, .locale = 1});
  create(2, {.at = 5, .locale = 1});
  ties_.turn(1, 0);
  EXPECT_FALSE(write(1, 1));
  ties_.turn(1, 1);
  ties_.turn(2, 0);
  create(3, {.at = 5, .locale = 9}, 2, 0);
  EXPECT_FALSE(read(3, 1));
  create(4, {.at = 5, .locale = 9});
  EXPECT_TRUE(write(4, 1));
}

TEST_F(TaskTiesTest, SoIsWhatAtomicTasksPublish) {
  create(1, {.at = 5, .is_atomic = true});
  create(2, {.at = 5, .is_atomic = true});
  ties_.turn(1, 0);
  EXPECT_FALSE(write(1, 1));
  ties_.turn(1, 1);
  ties_.turn(2, 0);
  create(3, {.at = 5}, 2, 0);
  EXPECT_FALSE(read(3, 1));
}

TEST_F(TaskTiesTest, AWordThatWasUsedToSynchronizeSynchronizesByPlainAccessesToo) {
  create(1);
  create(2);
  EXPECT_FALSE(write(1, 1));
  ties_.synchronize_words(1, 2, kOther, 4);
  EXPECT_FALSE(write(1, 3, kOther));  // the lock is let go
  EXPECT_FALSE(read(2, 1, kOther));
  EXPECT_FALSE(write(2, 2));
}

TEST_F(TaskTiesTest, TasksOfOneWorkerDoNotTie) {
  for (const TaskTies::Id id : {1, 2, 3}) create(id);
  EXPECT_FALSE(ties_.access(1, 1, kWord, 8, true, 4).has_value());
  EXPECT_FALSE(ties_.access(2, 1, kWord, 8, true, 4).has_value());
  EXPECT_TRUE(ties_.access(3, 1, kWord, 8, true, 5).has_value());
}

TEST_F(TaskTiesTest, WhatWasBeforeTheRunIsBeforeAll) {
  create(1);
  EXPECT_FALSE(write(1));
  ties_.clear();
  create(2);
  EXPECT_FALSE(write(2));
}

TEST_F(TaskTiesTest, ManyReadersAreForgottenAndTheWriterIsNot) {
  create(1);
  EXPECT_FALSE(write(1, 1));
  for (TaskTies::Id id = 2; id < 100; ++id) {
    create(id, {.at = 5}, 1, 1);
    EXPECT_FALSE(read(id));
  }
  create(100);
  EXPECT_TRUE(read(100));
}

// A search is bounded: so long a chain counts as an order, whether or not there is one.
TEST_F(TaskTiesTest, ALongChainOfCreationsEndsTheSearchWithoutATie) {
  create(1);
  EXPECT_FALSE(write(1, 1, kOther));
  create(2);
  for (TaskTies::Id id = 3; id < 10'000; ++id) {
    create(id, {.at = 5}, id - 1, 1);
    EXPECT_FALSE(write(id, 1));
  }
  EXPECT_FALSE(write(9'999, 2, kOther));
}

}  // namespace
}  // namespace rubato
