// Actions of a window core that wait for their cycle, without a core.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_actions.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

TEST(WindowActions, TheEarliestComesFirstAndOfOneCycleTheOldest) {
  WindowActions actions;
  actions.add({30, 1, 11});
  actions.add({20, 3, 13});
  actions.add({20, 2, 0});
  EXPECT_EQ(actions.next(), 20U);
  const WindowAction first = actions.take();
  EXPECT_EQ(first.stamp, 2U);
  EXPECT_TRUE(first.is_store());
  const WindowAction second = actions.take();
  EXPECT_EQ(second.stamp, 3U);
  EXPECT_FALSE(second.is_store());
  EXPECT_EQ(actions.take().at, 30U);
  EXPECT_EQ(actions.next(), WindowActions::kNone);
}

TEST(WindowActions, AnAbortForgetsAllOfThem) {
  WindowActions actions;
  actions.add({30, 1, 11});
  actions.add({20, 3, 13});
  actions.clear();
  EXPECT_EQ(actions.next(), WindowActions::kNone);
}

}  // namespace
}  // namespace rubato::chip
