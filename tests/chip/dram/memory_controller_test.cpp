// The memory controller: latency, bandwidth, gaps (C20).
// SPDX-License-Identifier: MIT
#include "chip/dram/memory_controller.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

TEST(MemoryController, PerturbationAddsFromNothingToItsCyclesByTheSeed) {
  const auto times = [](std::uint64_t seed) {
    MemoryController m({.latency = 120, .bytes_per_cycle = 64, .perturb = 3, .seed = seed});
    std::vector<std::uint64_t> more;
    for (std::uint64_t i = 0; i < 400; ++i) more.push_back(read(m, i * 10) - (i * 10 + 120));
    return more;
  };
  const auto first = times(1);
  EXPECT_EQ(first, times(1)) << "the same seed, the same run";
  EXPECT_NE(first, times(2));
  for (std::uint64_t cycles = 0; cycles <= 3; ++cycles)  // 100 expected, standard deviation 8.7
    EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), cycles)), 100, 40) << cycles;
  EXPECT_EQ(*std::max_element(first.begin(), first.end()), 3U);
}

TEST(MemoryController, WithoutPerturbationTheSeedChangesNothing) {
  MemoryController m({.latency = 120, .bytes_per_cycle = 64, .perturb = 0, .seed = 7});
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(read(m, i * 10), i * 10 + 120);
}

}  // namespace
}  // namespace rubato::chip
