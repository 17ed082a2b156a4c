// The send buffer: an entry counts until its acknowledgement has arrived and the next look finds it.
// SPDX-License-Identifier: MIT
#include "chip/task/send_buffer.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rubato::chip {
namespace {

struct Rig {
  std::uint32_t add(Timestamp timestamp) {
    task.descriptor.has_timestamp = true;
    task.descriptor.timestamp = timestamp;
    return buffer.add(&task, TileId{1});
  }
  Task task;
  SendBuffer buffer{2};
};

TEST(SendBuffer, AnEntryThatIsAcknowledgedLaterCountsUntilThen) {
  Rig rig;
  rig.buffer.remove_at(rig.add(7), Cycle{20});
  rig.add(9);
  EXPECT_FALSE(rig.buffer.has_room(0, Cycle{19}));
  Timestamp earliest = 0;
  ASSERT_TRUE(rig.buffer.earliest(earliest));
  EXPECT_EQ(earliest, 7U);

  EXPECT_TRUE(rig.buffer.has_room(0, Cycle{20}));
  EXPECT_EQ(rig.buffer.used(), 1U);
  ASSERT_TRUE(rig.buffer.earliest(earliest));
  EXPECT_EQ(earliest, 9U);
}

TEST(SendBuffer, SettlesInAnyOrderOfArrivals) {
  Rig rig;
  rig.buffer.remove_at(rig.add(1), Cycle{30});
  rig.buffer.remove_at(rig.add(2), Cycle{10});
  rig.buffer.settle(Cycle{10});
  Timestamp earliest = 0;
  ASSERT_TRUE(rig.buffer.earliest(earliest));
  EXPECT_EQ(earliest, 1U);
  rig.buffer.settle(Cycle{30});
  EXPECT_EQ(rig.buffer.used(), 0U);
}

TEST(SendBuffer, WhoeverWaitsTakesOverWhatIsStillToCome) {
  Rig rig;
  const std::uint32_t first = rig.add(1), second = rig.add(2);
  rig.buffer.remove_at(first, Cycle{10});
  rig.buffer.remove_at(second, Cycle{20});
  rig.buffer.settle(Cycle{10});
  std::vector<std::pair<std::uint64_t, std::uint32_t>> told;
  rig.buffer.take_leaving([&](Cycle at, std::uint32_t slot) { told.emplace_back(at.value, slot); });
  EXPECT_EQ(told, (std::vector<std::pair<std::uint64_t, std::uint32_t>>{{20, second}}));
  rig.buffer.settle(Cycle{100});
  EXPECT_EQ(rig.buffer.used(), 1U) << "it is not removed behind the back of who took it over";
  rig.buffer.remove(second);
  EXPECT_EQ(rig.buffer.used(), 0U);
}

}  // namespace
}  // namespace rubato::chip
