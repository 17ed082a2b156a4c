// The use order against a plain list, for every number of ways that takes another path.
// SPDX-License-Identifier: MIT
#include "chip/cache/use_order.hpp"

#include <gtest/gtest.h>

#include <list>
#include <memory_resource>
#include <vector>

#include "base/rng.hpp"
#include "chip/cache/set_array.hpp"

namespace rubato::chip {
namespace {

TEST(UseOrder, AgreesWithAListThatMovesWhatItUses) {
  for (const std::uint32_t ways : {1U, 2U, 3U, 8U, 15U, 16U, 17U, 64U}) {
    constexpr std::uint32_t kSets = 3;
    UseOrder order(kSets, ways, std::pmr::get_default_resource());
    std::vector<std::list<std::uint32_t>> lists(kSets);  // most recently used first
    for (auto& list : lists)
      for (std::uint32_t way = 0; way < ways; ++way) list.push_back(way);
    Rng rng(ways);
    for (int i = 0; i < 2000; ++i) {
      const auto set = static_cast<std::uint32_t>(rng.below(kSets));
      const auto way = static_cast<std::uint32_t>(rng.below(ways));
      lists[set].remove(way);
      if (rng.below(3) == 0) {
        order.retire(set, way);
        lists[set].push_back(way);
      } else {
        order.use(set, way);
        lists[set].push_front(way);
      }
      for (std::uint32_t s = 0; s < kSets; ++s) ASSERT_EQ(order.least_recent(s), lists[s].back()) << ways;
    }
  }
}

TEST(SetArray, FindsEachLineAmongAnyNumberOfWaysAndNoOther) {
  for (const std::uint32_t ways : {1U, 2U, 3U, 4U, 5U, 8U, 11U, 16U, 24U, 64U}) {
    for (const std::uint64_t sets : {1U, 4U, 6U, 8U}) {
      SetArray<int> array(ways * sets * kLineBytes, ways, std::pmr::get_default_resource());
      // Their tags differ in low and in high bits.
      const auto line = [&](std::uint64_t set, std::uint64_t i) {
        return LineAddr{((i * 37) << 20 | i) * sets + set};
      };
      for (std::uint64_t set = 0; set < sets; ++set)
        for (std::uint32_t way = 0; way < ways; ++way) {
          EXPECT_EQ(array.find(line(set, way)), array.kNoSlot);
          array.fill(array.victim(line(set, way)), line(set, way)) = static_cast<int>(set * ways + way);
        }
      for (std::uint64_t set = 0; set < sets; ++set) {
        for (std::uint32_t way = 0; way < ways; ++way) {
          const std::uint32_t slot = array.find(line(set, way));
          ASSERT_NE(slot, array.kNoSlot) << ways << " ways, " << sets << " sets";
          EXPECT_EQ(array[slot], static_cast<int>(set * ways + way));
          EXPECT_EQ(array.line_at(slot), line(set, way));
        }
        EXPECT_EQ(array.find(line(set, ways)), array.kNoSlot);
      }
    }
  }
}

TEST(SetArray, AVictimIsAnEmptySlotWhileThereIsOneThenTheLeastRecentlyUsedLine) {
  constexpr std::uint32_t kWays = 3, kSets = 5;  // neither a power of two
  SetArray<int> array(std::uint64_t{kWays} * kSets * kLineBytes, kWays, std::pmr::get_default_resource());
  const auto line = [](std::uint64_t i) { return LineAddr{2 + i * kSets}; };  // all of set 2
  for (std::uint64_t i = 0; i < kWays; ++i) {
    const std::uint32_t slot = array.victim(line(i));
    ASSERT_TRUE(array.is_empty(slot));
    array.fill(slot, line(i)) = static_cast<int>(i);
  }
  array.use(array.find(line(0)));
  EXPECT_EQ(array.line_at(array.victim(line(3))), line(1));
  array.erase(array.find(line(0)));
  const std::uint32_t slot = array.victim(line(3));
  EXPECT_TRUE(array.is_empty(slot));
  array.fill(slot, line(3));
  EXPECT_EQ(array.line_at(array.victim(line(4))), line(1));
  EXPECT_EQ(array.find(line(0)), array.kNoSlot);
  EXPECT_EQ(array[array.find(line(2))], 2);
}

}  // namespace
}  // namespace rubato::chip
