// The L1: hits by right, the filter's agreement with the array, true LRU, reservations (C20).
// SPDX-License-Identifier: MIT
#include "chip/cache/l1_cache.hpp"

#include <gtest/gtest.h>

#include <list>
#include <map>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

// 4 sets of 2 ways: lines 0, 4, 8, ... share set 0.
L1Cache small() { return L1Cache({.bytes = 512, .ways = 2}); }

void put(L1Cache& l1, LineAddr line, LineState state) { l1.fill(l1.victim(line).slot, line, state); }

TEST(L1Cache, RefusesWhatItDoesNotHoldAndCountsOnlyHits) {
  L1Cache l1 = small();
  EXPECT_FALSE(l1.hit(LineAddr{0}, false));
  put(l1, LineAddr{0}, LineState::shared);
  EXPECT_TRUE(l1.hit(LineAddr{0}, false));
  EXPECT_TRUE(l1.hit(LineAddr{0}, false));
  EXPECT_FALSE(l1.hit(LineAddr{0}, true));
  EXPECT_FALSE(l1.hit(LineAddr{64}, false));  // the same filter entry, another line
  EXPECT_EQ(l1.hits(), 2U);
}

TEST(L1Cache, AWriteMakesAnExclusiveLineModifiedEvenAfterFilteredReads) {
  L1Cache l1 = small();
  put(l1, LineAddr{3}, LineState::exclusive);
  EXPECT_TRUE(l1.hit(LineAddr{3}, false));
  EXPECT_TRUE(l1.hit(LineAddr{3}, false));
  EXPECT_EQ(l1.state(LineAddr{3}), LineState::exclusive);
  EXPECT_TRUE(l1.hit(LineAddr{3}, true));
  EXPECT_EQ(l1.state(LineAddr{3}), LineState::modified);
  EXPECT_TRUE(l1.hit(LineAddr{3}, true));
}

TEST(L1Cache, DowngradeAndInvalidationReachTheFilter) {
  L1Cache l1 = small();
  put(l1, LineAddr{5}, LineState::modified);
  EXPECT_TRUE(l1.hit(LineAddr{5}, true));
  EXPECT_TRUE(l1.hit(LineAddr{5}, true));
  l1.set_state(l1.find(LineAddr{5}), LineState::shared);
  EXPECT_FALSE(l1.hit(LineAddr{5}, true));
  EXPECT_TRUE(l1.hit(LineAddr{5}, false));
  l1.invalidate(l1.find(LineAddr{5}));
  EXPECT_FALSE(l1.hit(LineAddr{5}, false));
}

TEST(L1Cache, ReservationsEndWithTheLineOrItsUse) {
  L1Cache l1 = small();
  put(l1, LineAddr{1}, LineState::shared);
  l1.reserve(LineAddr{1});
  EXPECT_TRUE(l1.take_reservation(LineAddr{1}));
  EXPECT_FALSE(l1.take_reservation(LineAddr{1}));
  l1.reserve(LineAddr{1});
  EXPECT_FALSE(l1.take_reservation(LineAddr{2}));
  EXPECT_FALSE(l1.has_reservation(LineAddr{1}));
  l1.reserve(LineAddr{1});
  l1.set_state(l1.find(LineAddr{1}), LineState::exclusive);  // the holder's own upgrade keeps it
  EXPECT_TRUE(l1.has_reservation(LineAddr{1}));
  l1.invalidate(l1.find(LineAddr{1}));
  EXPECT_FALSE(l1.has_reservation(LineAddr{1}));
}

TEST(L1Cache, EvictionEndsAReservation) {
  L1Cache l1 = small();
  put(l1, LineAddr{0}, LineState::shared);
  l1.reserve(LineAddr{0});
  put(l1, LineAddr{4}, LineState::shared);
  EXPECT_TRUE(l1.has_reservation(LineAddr{0}));
  put(l1, LineAddr{8}, LineState::shared);
  EXPECT_FALSE(l1.has_reservation(LineAddr{0}));
}

TEST(L1Cache, EvictsTheLeastRecentlyUsedWhetherTheFilterKnewItOrNot) {
  // Against a list per set, most recent first.
  L1Cache l1({.bytes = 4096, .ways = 4});  // 16 sets
  std::map<std::uint64_t, std::list<std::uint64_t>> sets;
  Rng rng(7);
  for (int i = 0; i < 100000; ++i) {
    const LineAddr line{rng.below(150)};
    auto& set = sets[line.value % 16];
    const bool here = std::find(set.begin(), set.end(), line.value) != set.end();
    ASSERT_EQ(l1.hit(line, false), here);
    set.remove(line.value);
    if (!here) {
      const L1Cache::Victim v = l1.victim(line);
      if (set.size() == 4) {
        ASSERT_EQ(v.line.value, set.back());
        ASSERT_EQ(v.state, LineState::shared);
        set.pop_back();
      } else {
        ASSERT_EQ(v.state, LineState::invalid);
      }
      l1.fill(v.slot, line, LineState::shared);
    }
    set.push_front(line.value);
  }
}

}  // namespace
}  // namespace rubato::chip
