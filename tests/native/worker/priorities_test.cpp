// Priorities (R5).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

std::vector<int> order;
void note(int who) { order.push_back(who); }

/// Tasks of each priority, the lowest first; they never run at once.
template <TaskType type>
void create_of_each_priority() {
  for (int i = 0; i < 3; ++i) create<type>(note, {.priority = Priority::low}, 0);
  for (int i = 0; i < 3; ++i) create<type>(note, {}, 1);
  for (int i = 0; i < 100; ++i) create<type>(note, {.priority = Priority::high}, 2);
}

void expect_order_by_priority() {
  ASSERT_EQ(order.size(), 106u);
  std::size_t first_normal = 0, first_low = 0;
  while (order[first_normal] != 1) ++first_normal;
  while (order[first_low] != 0) ++first_low;
  EXPECT_EQ(first_normal, 65u) << "the low one's turn came first";
  EXPECT_EQ(first_low, 64u);
  EXPECT_EQ(order.back(), 0);
}

TEST(Priorities, GoFirstWithinOneTimestampAndOneLowerRunsAfter64) {
  use_workers(1);
  order.clear();
  create<nonspec>(create_of_each_priority<nonspec>, {});
  run();
  expect_order_by_priority();
}

TEST(Priorities, OfSpecTasksCountOnSeveralWorkers) {
  use_workers(2);
  order.clear();
  create<nonspec>(create_of_each_priority<spec>, {});
  run();
  expect_order_by_priority();
}

void note_and_go_on(int left) {
  note(left);
  if (left == 0) return;
  create<nonspec>(note, {.on = std::uint64_t{7}}, 100);
  create<nonspec>(note_and_go_on, {.priority = Priority::high}, left - 1);
}

TEST(Priorities, HoldForTasksThatOnesOfHighPriorityAreYetToCreate) {
  use_workers(1);
  order.clear();
  create<nonspec>(note_and_go_on, {.priority = Priority::high}, 9);
  run();
  EXPECT_EQ(order,
            (std::vector<int>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 100, 100, 100, 100, 100, 100, 100, 100, 100}))
      << "none of normal priority may be taken to run behind one of high priority";
}

TEST(Priorities, DoNotBreakTimestampOrder) {
  use_workers(1);
  order.clear();
  create<nonspec>(note, {.at = 2, .priority = Priority::high}, 3);
  create<nonspec>(note, {.at = 1, .priority = Priority::low}, 2);
  create<nonspec>(note, {.at = 1, .priority = Priority::high}, 1);
  run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

}  // namespace
