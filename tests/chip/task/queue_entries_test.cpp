// The entries of a task queue: which tasks may have the last ones (C13).
// SPDX-License-Identifier: MIT
#include "chip/task/queue_entries.hpp"

#include <gtest/gtest.h>

namespace {

using rubato::chip::QueueEntries;

struct Entries : QueueEntries {
  using QueueEntries::count_active, QueueEntries::count_guest, QueueEntries::count_held,
      QueueEntries::count_spilling, QueueEntries::count_uncommitted, QueueEntries::QueueEntries;
};

TEST(QueueEntries, TheLastOneIsForTheEarliestTaskAndOneForARefill) {
  Entries entries(8, 0.5);
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(entries.has_room(false, false)) << i;
    entries.count_guest(1);
  }
  EXPECT_EQ(entries.used(), 7u) << "the refill's entry counts without one";
  EXPECT_FALSE(entries.has_room(false, false));
  EXPECT_TRUE(entries.has_room(true, false));
  entries.add_refill();
  EXPECT_EQ(entries.used(), 7u);
  EXPECT_EQ(entries.entries(), 7u);
  entries.count_guest(1);
  EXPECT_FALSE(entries.has_room(true, false));
}

TEST(QueueEntries, ChildrenOfUncommittedParentsGetTheirShareAndNoMore) {
  Entries entries(16, 0.25);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(entries.has_room(false, true)) << i;
    entries.promise(true);
  }
  EXPECT_FALSE(entries.has_uncommitted_share());
  EXPECT_FALSE(entries.has_room(true, true)) << "not even the earliest";
  EXPECT_TRUE(entries.has_room(false, false));
  entries.redeem(true);
  EXPECT_TRUE(entries.has_room(false, true));
}

TEST(QueueEntries, TheShareIsOneAtLeastAndLeavesRoomForWhatCanBeSpilled) {
  Entries none(16, 0.0), all(16, 1.0);
  EXPECT_TRUE(none.has_uncommitted_share());
  none.count_uncommitted(1);
  EXPECT_FALSE(none.has_uncommitted_share());
  all.count_uncommitted(16 - 2 - 2 - 1);
  EXPECT_TRUE(all.has_uncommitted_share());
  all.count_uncommitted(1);
  EXPECT_FALSE(all.has_uncommitted_share()) << "two refills, the earliest and one other have entries besides";
}

TEST(QueueEntries, CountsEveryKindOnce) {
  Entries entries(32, 1.0);
  entries.count_guest(3);
  entries.promise(false);
  entries.count_spilling(2);
  entries.count_held(1);
  entries.count_active(4);
  entries.add_refill();
  EXPECT_EQ(entries.entries(), 12u);
  entries.count_active(~0U);
  entries.release_spilling();
  EXPECT_EQ(entries.entries(), 10u);
  EXPECT_FALSE(entries.unlimited());
  EXPECT_TRUE(Entries(0, 1.0).unlimited());
  EXPECT_TRUE(Entries(0, 1.0).has_room(false, true));
}

}  // namespace
