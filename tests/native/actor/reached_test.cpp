// Cells that threads outside reach: places are a thread's, and closing waits for the threads that are within.
// SPDX-License-Identifier: MIT
#include "native/memory/reached.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace rubato::inline v0::native {
namespace {

TEST(Reached, SeesACellOnlyWithinAScope) {
  static Reached reached;  // its places are never freed
  const int cell = 0, other = 0;
  Reached::Place& place = reached.take();
  {
    const Reached::Scope scope(reached, place, &cell);
    EXPECT_TRUE(reached.is_reached(&cell));
    EXPECT_FALSE(reached.is_reached(&other));
  }
  EXPECT_FALSE(reached.is_reached(&cell));
}

TEST(Reached, GivesAPlaceToOneThreadAtATime) {
  static Reached reached;  // its places are never freed
  Reached::Place& first = reached.take();
  Reached::Place& second = reached.take();
  EXPECT_NE(&first, &second);
  Reached::give(first);
  EXPECT_EQ(&reached.take(), &first);
  const int cell = 0;
  const Reached::Scope scope(reached, first, &cell);
  EXPECT_TRUE(reached.is_reached(&cell));  // behind the other one in the list
}

TEST(Reached, ClosingWaitsForWhoIsWithinAndKeepsOthersOut) {
  static Reached reached;  // its places are never freed
  const int cell = 0;
  std::atomic<bool> is_within{false}, has_left{false}, has_entered_again{false}, is_closed{false};
  std::thread outside([&] {
    Reached::Place& place = reached.take();
    {
      const Reached::Scope scope(reached, place, &cell);
      is_within = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(is_closed);
      has_left = true;
    }
    while (!is_closed) std::this_thread::yield();
    const Reached::Scope scope(reached, place, &cell);
    has_entered_again = true;
  });
  while (!is_within) std::this_thread::yield();
  reached.close();
  EXPECT_TRUE(has_left);
  is_closed = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_entered_again);
  reached.open();
  outside.join();
  EXPECT_TRUE(has_entered_again);
}

}  // namespace
}  // namespace rubato::inline v0::native
