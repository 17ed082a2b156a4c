// Memory where a core keeps its handlers (P44).
// SPDX-License-Identifier: MIT
#include "chip/capsule/handler_area.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

TEST(HandlerArea, GivesTheRecordThatCameBackLastFirst) {
  HandlerArea area(CoreId{3}, 4);
  const LineAddr first = area.take(), second = area.take();
  EXPECT_EQ(second.value, first.value + 1);
  EXPECT_EQ(area.left(), 2U);
  area.give_back(second);
  area.give_back(first);
  EXPECT_EQ(area.left(), 4U);
  EXPECT_EQ(area.front(), first);
  EXPECT_EQ(area.take(), first);
  EXPECT_EQ(area.take(), second);
  EXPECT_EQ(area.take().value, second.value + 1);
  EXPECT_EQ(area.left(), 1U);
}

TEST(HandlerArea, AreasOfCoresAreDisjoint) {
  HandlerArea area(CoreId{7}, HandlerArea::kMostRecords);
  EXPECT_EQ(HandlerArea::core_of(area.front()), CoreId{7});
  while (area.left() > 1) area.take();
  EXPECT_EQ(HandlerArea::core_of(area.take()), CoreId{7});
  EXPECT_EQ(HandlerArea(CoreId{8}, 1).front().value, line_of(HandlerArea::kBase).value + 8ULL * (1 << 16));
}

// So a call that goes on on another core finds the room that it was promised where it began (P50).
TEST(HandlerArea, PromisedRecordsAreNotLeftForOthers) {
  HandlerArea area(CoreId{0}, 5);
  area.take();
  area.promise(3);
  EXPECT_EQ(area.left(), 1U);
  const LineAddr record = area.front();
  area.redeem(1);
  EXPECT_EQ(area.take(), record);
  EXPECT_EQ(area.left(), 1U);
  area.redeem(2);  // not needed
  EXPECT_EQ(area.left(), 3U);
  area.give_back(record);
  EXPECT_EQ(area.left(), 4U);
}

TEST(HandlerArea, ACacheOfFourSetsHasTagsForTheLastOne) {
  HandlerArea area(CoreId{kMaxCores - 1}, HandlerArea::kMostRecords);
  while (area.left() > 1) area.take();
  EXPECT_LT(area.take().value / 4, (std::uint64_t{1} << 32) - 1);
}

}  // namespace
}  // namespace rubato::chip
