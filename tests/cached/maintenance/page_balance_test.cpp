// SPDX-License-Identifier: MIT
#include "cached/maintenance/page_balance.hpp"

#include <gtest/gtest.h>

namespace rubato::cached {
namespace {

constexpr double kRatio = 0.8;

/// Ten pages of a hundred chunks, of which so many are free.
ClassLoad load_with(std::uint64_t free_chunks) {
  ClassLoad load;
  load.chunks_per_page = 100, load.pages = 10, load.spare_pages = 9, load.free_chunks = free_chunks,
  load.age = 100;
  return load;
}

TEST(PageBalance, AClassAtRestGivesWhatItHasFreeToThePool) {
  PageBalance balance;
  ClassLoads loads{};
  loads[7] = load_with(251);
  EXPECT_FALSE(balance.choose(loads, kRatio, false));  // it has grown since the start
  EXPECT_FALSE(balance.choose(loads, kRatio, false));
  EXPECT_FALSE(balance.choose(loads, kRatio, false));
  const auto move = balance.choose(loads, kRatio, false);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->from, 7u);
  EXPECT_EQ(move->to, 0u);
}

TEST(PageBalance, TwoAndAHalfPagesStayWithTheirClass) {
  PageBalance balance;
  ClassLoads loads{};
  loads[7] = load_with(250);
  for (int second = 0; second < 100; ++second) EXPECT_FALSE(balance.choose(loads, kRatio, false));
}

TEST(PageBalance, AClassThatGrowsOrEvictsGivesNothing) {
  PageBalance balance;
  ClassLoads loads{};
  loads[7] = load_with(900);
  for (int second = 0; second < 100; ++second) {
    if (second % 3 == 0) ++(second % 2 ? loads[7].pages : loads[7].out_of_memory);
    EXPECT_FALSE(balance.choose(loads, kRatio, false)) << second;
  }
}

TEST(PageBalance, TheClassThatEvictsThreeSecondsInARowTakesFromTheOldest) {
  PageBalance balance;
  ClassLoads loads{};
  loads[3] = load_with(0), loads[4] = load_with(0), loads[5] = load_with(0);
  loads[4].age = 200, loads[5].age = 126;
  for (int second = 0; second < 2; ++second) {
    loads[3].evicted += 10;
    EXPECT_FALSE(balance.choose(loads, kRatio, false));
  }
  loads[3].evicted += 10;
  const auto move = balance.choose(loads, kRatio, false);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->from, 4u);
  EXPECT_EQ(move->to, 3u);
}

TEST(PageBalance, OfClassesThatEvictMostInTurnsOneTakesAPageInTenSeconds) {
  PageBalance balance;
  ClassLoads loads{};
  for (unsigned c = 3; c < 7; ++c) loads[c] = load_with(0);
  loads[6].age = 300;
  for (int second = 1; second <= 30; ++second) {
    for (unsigned c = 3; c < 6; ++c) loads[c].evicted += c == 3u + second % 3 ? 100 : 1;
    const auto move = balance.choose(loads, kRatio, false);
    ASSERT_EQ(move.has_value(), second % 10 == 0) << second;
    if (!move) continue;
    EXPECT_EQ(move->from, 6u);
    EXPECT_EQ(move->to, 3u + second % 3) << "the one that evicted most lately";
  }
}

TEST(PageBalance, AClassThatDoesNotEvictInEachOfThreeSecondsTakesNothing) {
  PageBalance balance;
  ClassLoads loads{};
  loads[3] = load_with(0), loads[4] = load_with(0);
  loads[4].age = 1000;
  for (int second = 0; second < 100; ++second) {
    loads[3].evicted += second % 3 ? 10 : 0;
    EXPECT_FALSE(balance.choose(loads, kRatio, false)) << second;
  }
}

TEST(PageBalance, ByTheRatioNearlyTheSameAgeIsTheSame) {
  PageBalance balance;
  ClassLoads loads{};
  loads[3] = load_with(0), loads[4] = load_with(0);
  loads[4].age = 125;  // 100 / 0.8: not older
  loads[3].evicted = 10;
  EXPECT_FALSE(balance.choose(loads, kRatio, /*eager=*/true));
  loads[4].age = 126, loads[3].evicted += 10;
  EXPECT_TRUE(balance.choose(loads, kRatio, /*eager=*/true));
}

TEST(PageBalance, CountsThatWereResetAreNoEvictions) {
  PageBalance balance;
  ClassLoads loads{};
  loads[3] = load_with(0), loads[4] = load_with(0);
  loads[3].evicted = 1000, loads[4].age = 1000;
  EXPECT_TRUE(balance.choose(loads, kRatio, true));
  loads[3].evicted = 0;
  EXPECT_FALSE(balance.choose(loads, kRatio, true));
}

}  // namespace
}  // namespace rubato::cached
