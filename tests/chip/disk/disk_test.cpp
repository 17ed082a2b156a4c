// The device of chip/disk by schedules computed by hand (P79, P80).
// SPDX-License-Identifier: MIT
#include "chip/disk/disk.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

using Kind = Disk::Kind;
constexpr std::uint32_t kMhz = 2000;

/// Round numbers: a page read takes 2 us, a page written 4 us, a kilobyte read 1 us, one written 2 us.
DiskSection round_numbers() {
  DiskSection config;
  config.read_iops = 500'000;
  config.write_iops = 250'000;
  config.read_bandwidth = 4096;
  config.write_bandwidth = 2048;
  config.read_latency = 70;
  config.write_latency = 20;
  return config;
}

std::uint64_t count_of(const StatRegistry& registry, const char* name) {
  const Stat* const stat = registry.find(name);
  return stat->counter != nullptr ? *stat->counter : stat->total();
}

TEST(DiskTest, AReadOfAPageTakesItsLatency) {
  Disk disk(round_numbers(), kMhz);
  EXPECT_EQ(disk.request(Kind::read, 4096, 1000), 71'000u);
}

TEST(DiskTest, RequestsStartOneAfterTheOtherInOrderOfArrival) {
  Disk disk(round_numbers(), kMhz);
  EXPECT_EQ(disk.request(Kind::read, 4096, 0), 70'000u);     // occupies 0 to 2000
  EXPECT_EQ(disk.request(Kind::read, 512, 500), 72'000u);    // a sector costs a page: 2000 to 4000
  EXPECT_EQ(disk.request(Kind::write, 4096, 600), 24'000u);  // 4000 to 8000, done before the reads
  EXPECT_EQ(disk.request(Kind::read, 4096, 7999), 78'000u);
  EXPECT_EQ(disk.request(Kind::read, 4096, 10'000), 80'000u);  // the server is free at that instant
  EXPECT_EQ(disk.request(Kind::read, 4096, 50'000), 120'000u);
}

TEST(DiskTest, ALongRequestIsDoneLaterByWhatItTakesBeyondAPage) {
  Disk disk(round_numbers(), kMhz);
  EXPECT_EQ(disk.request(Kind::read, 3 * 4096, 0), 74'000u);    // three pages: 6 us, and 4 beyond one
  EXPECT_EQ(disk.request(Kind::read, 4097, 6000), 78'000u);     // two pages
  EXPECT_EQ(disk.request(Kind::write, 8192, 10'000), 34'000u);  // 8 us, 4 beyond one
}

TEST(DiskTest, BandwidthLimitsWhatRequestsDoNot) {
  DiskSection config = round_numbers();
  config.read_bandwidth = 1024;  // a page takes 4 us by its bytes, a sector 2 us by its page
  Disk disk(config, kMhz);
  EXPECT_EQ(disk.request(Kind::read, 4096, 0), 70'000u);  // 0 to 4000
  EXPECT_EQ(disk.request(Kind::read, 512, 0), 74'000u);   // 4000 to 6000
  EXPECT_EQ(disk.request(Kind::read, 8192, 0), 80'000u);  // from 6000, 8 us: 4 beyond one page
  EXPECT_EQ(disk.request(Kind::read, 4096, 0), 84'000u);  // from 14000
}

TEST(DiskTest, ARequestEntersAFullDeviceWhenAnotherOneIsDone) {
  DiskSection config = round_numbers();
  config.queue_depth = 2;
  Disk disk(config, kMhz);
  EXPECT_EQ(disk.request(Kind::read, 4096, 0), 70'000u);
  EXPECT_EQ(disk.request(Kind::read, 4096, 0), 72'000u);
  EXPECT_EQ(disk.request(Kind::read, 4096, 0), 140'000u);   // enters at 70000
  EXPECT_EQ(disk.request(Kind::write, 4096, 0), 92'000u);   // enters at 72000
  EXPECT_EQ(disk.request(Kind::write, 4096, 0), 112'000u);  // enters at 92000
  EXPECT_EQ(disk.request(Kind::write, 4096, 111'999),
            132'000u);  // at 112000: the read is inside until 140000
  EXPECT_EQ(disk.request(Kind::read, 4096, 140'000), 210'000u);
}

TEST(DiskTest, ADepthOfOneIsOneRequestAtATime) {
  DiskSection config = round_numbers();
  config.queue_depth = 1;
  Disk disk(config, kMhz);
  for (std::uint64_t i = 1; i <= 10; ++i) EXPECT_EQ(disk.request(Kind::read, 4096, 0), i * 70'000);
}

TEST(DiskTest, RoundingDoesNotAddUp) {
  Disk disk(DiskSection{}, kMhz);
  std::uint64_t done = 0;
  for (int i = 0; i < 440'001; ++i) done = disk.request(Kind::read, 4096, 0);
  // 440,000 reads take a second, but for less than a picosecond each.
  EXPECT_NEAR(static_cast<double>(done), 1e9 + 70'000, 441);
  EXPECT_LE(done, 1'000'070'000u);
}

TEST(DiskTest, KnowsWhenTheWritesAreDone) {
  Disk disk(round_numbers(), kMhz);
  EXPECT_EQ(disk.writes_done(), 0u);
  disk.request(Kind::read, 4096, 0);
  EXPECT_EQ(disk.writes_done(), 0u);
  disk.request(Kind::write, 8192, 0);  // from 2000: 20 us and 4
  EXPECT_EQ(disk.writes_done(), 26'000u);
  disk.request(Kind::write, 4096, 0);  // from 10000
  EXPECT_EQ(disk.writes_done(), 30'000u);
}

TEST(DiskTest, CountsWhatItDoes) {
  Disk disk(round_numbers(), kMhz);
  StatRegistry registry;
  disk.register_stats(registry, "disk");
  EXPECT_TRUE(registry.find("disk.reads")->is_hidden());
  disk.request(Kind::read, 4096, 0);
  disk.request(Kind::read, 8192, 0);
  disk.request(Kind::write, 512, 100'000);
  EXPECT_FALSE(registry.find("disk.reads")->is_hidden());
  EXPECT_EQ(count_of(registry, "disk.reads"), 2u);
  EXPECT_EQ(count_of(registry, "disk.writes"), 1u);
  EXPECT_EQ(count_of(registry, "disk.read_bytes"), 12'288u);
  EXPECT_EQ(count_of(registry, "disk.written_bytes"), 512u);
  EXPECT_EQ(count_of(registry, "disk.busy_cycles"), 2u * (2000 + 4000 + 4000));
  const Histogram& depth = *registry.find("disk.depth")->histogram;
  EXPECT_EQ(depth.sum(), 1u + 2 + 1);  // the first two are done when the third arrives
  const Histogram& latency = *registry.find("disk.latency")->histogram;
  EXPECT_EQ(latency.sum(), 2u * (70'000 + 74'000 + 20'000));
}

}  // namespace
}  // namespace rubato::chip
