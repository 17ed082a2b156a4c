// SPDX-License-Identifier: MIT
#include "cached/maintenance/crawl_schedule.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace rubato::cached {
namespace {

constexpr unsigned kClass = 5;
constexpr std::uint64_t kBit = std::uint64_t{1} << kClass;
constexpr std::uint32_t kStart = 62;  // what the server's clock begins with

/// The seconds at which a class is looked at, where each look finds `census`.
std::vector<std::uint32_t> looks(const CrawlCensus::Class& census, std::uint32_t seconds) {
  CrawlSchedule schedule;
  const auto seen = std::make_unique<CrawlCensus>();
  seen->classes[kClass] = census;
  std::vector<std::uint32_t> at;
  for (std::uint32_t now = kStart; now < kStart + seconds; ++now) {
    if (!(schedule.due(now) & kBit)) continue;
    at.push_back(now - kStart);
    schedule.note(*seen, kBit, now);
  }
  return at;
}

// A wait of n minutes, 5 seconds more, and the second that has to have passed.
TEST(CrawlSchedule, LooksAtAnIdleClassAfterOneTwoThreeMinutes) {
  EXPECT_EQ(looks({}, 700), (std::vector<std::uint32_t>{0, 66, 192, 378, 624}));
}

TEST(CrawlSchedule, LooksOnceAnHourAtLeast) {
  const std::vector<std::uint32_t> at = looks({}, 40 * 3600);
  EXPECT_EQ(at.back() - at[at.size() - 2], 3606u);
}

TEST(CrawlSchedule, LooksEachSixSecondsWhereTheNextMinutePays) {
  CrawlCensus::Class census;
  census.alive = 1000, census.by_minute[0] = 11;  // one more than a hundredth and one are worth a look
  const std::vector<std::uint32_t> at = looks(census, 61);
  EXPECT_EQ(at, (std::vector<std::uint32_t>{0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60}));
}

TEST(CrawlSchedule, WaitsForTheMinuteInWhichEnoughWillHaveExpired) {
  CrawlCensus::Class census;
  census.alive = 1000, census.by_minute[3] = 900;
  const std::vector<std::uint32_t> at = looks(census, 1500);
  // The interval rises to three minutes, falls by one when that is reached, and so on.
  EXPECT_EQ(std::vector<std::uint32_t>(at.begin(), at.begin() + 6),
            (std::vector<std::uint32_t>{0, 66, 192, 378, 504, 690}));
}

TEST(CrawlSchedule, FewItemsThatExpireDoNotCountAsAHundredthOfMany) {
  CrawlCensus::Class few;
  few.alive = 1000, few.by_minute[0] = 10;  // not more than 1000 / 100 + 1
  EXPECT_EQ(looks(few, 20).size(), 4u);     // something expires, so it does not wait longer
  CrawlCensus::Class forever;
  forever.alive = forever.without_expiry = 100'000;
  EXPECT_EQ(looks(forever, 200), (std::vector<std::uint32_t>{0, 66, 192}));
}

TEST(CrawlSchedule, ALookThatWasCutOffIsDueAgainAfterFiveSeconds) {
  CrawlSchedule schedule;
  EXPECT_TRUE(schedule.due(kStart) & kBit);
  EXPECT_FALSE(schedule.due(kStart + 5) & kBit);
  EXPECT_TRUE(schedule.due(kStart + 6) & kBit);
}

TEST(CrawlSchedule, ClassesWaitEachByItself) {
  CrawlSchedule schedule;
  schedule.due(kStart);
  const auto seen = std::make_unique<CrawlCensus>();
  seen->classes[1].alive = 100, seen->classes[1].by_minute[0] = 100;
  schedule.note(*seen, ~std::uint64_t{0}, kStart);
  EXPECT_EQ(schedule.due(kStart + 6), std::uint64_t{1} << 1);
  EXPECT_EQ(schedule.wait_of(1), 0u);
  EXPECT_EQ(schedule.wait_of(2), 60u);
}

}  // namespace
}  // namespace rubato::cached
