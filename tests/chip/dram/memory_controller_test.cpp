// The memory controller: latency, bandwidth, gaps (C20).
// SPDX-License-Identifier: MIT
#include "chip/dram/memory_controller.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

std::uint64_t read(MemoryController& m, std::uint64_t now) { return m.read(Cycle{now}).value; }

TEST(MemoryController, ALineTakes120CyclesAndHoldsTheControllerForFive) {
  MemoryController m({.latency = 120, .bytes_per_cycle = 12.8});  // 64 / 12.8 = 5
  EXPECT_EQ(read(m, 100), 220U);
  EXPECT_EQ(read(m, 104), 225U);  // one cycle early: starts at 105
  EXPECT_EQ(m.queue_cycles(), 1U);
  EXPECT_EQ(read(m, 110), 230U);  // on time
  EXPECT_EQ(m.queue_cycles(), 1U);
}

TEST(MemoryController, AnEarlyRequestThatComesLateTakesTheGapIfItFits) {
  MemoryController m({.latency = 120, .bytes_per_cycle = 12.8});
  EXPECT_EQ(read(m, 100), 220U);
  EXPECT_EQ(read(m, 96), 225U);  // 96..99 are four cycles
  EXPECT_EQ(read(m, 95), 215U);  // 95..99 are five
}

TEST(MemoryController, WritesTakeBandwidthToo) {
  MemoryController m({.latency = 120, .bytes_per_cycle = 12.8});
  m.write(Cycle{100});
  EXPECT_EQ(read(m, 100), 225U);
  EXPECT_EQ(m.writes(), 1U);
  EXPECT_EQ(m.reads(), 1U);
}

TEST(MemoryController, FractionsOfACycleAddUp) {
  MemoryController m({.latency = 0, .bytes_per_cycle = 24});  // 2.67 cycles a line
  std::uint64_t last = 0;
  for (int i = 0; i < 300; ++i) last = read(m, 0);
  EXPECT_NEAR(static_cast<double>(last), 299 * 64 / 24.0, 3);
}

}  // namespace
}  // namespace rubato::chip
