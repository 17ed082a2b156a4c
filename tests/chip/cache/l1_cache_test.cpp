// The L1: hits by right, the filter's agreement with the array, true LRU, reservations (C20).
// SPDX-License-Identifier: MIT
#include "chip/cache/l1_cache.hpp"
#include "chip/cache/left_reservations.hpp"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <utility>
#include <vector>

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

TEST(L1Cache, TheVictimIsFoundAnewAfterAUseAFillOrAnInvalidation) {
  L1Cache l1 = small();
  put(l1, LineAddr{0}, LineState::shared);
  put(l1, LineAddr{4}, LineState::shared);
  EXPECT_EQ(l1.victim(LineAddr{8}).line, LineAddr{0});
  EXPECT_TRUE(l1.hit(LineAddr{0}, false));
  EXPECT_EQ(l1.victim(LineAddr{8}).line, LineAddr{4});
  const std::uint32_t slot = l1.find(LineAddr{0});
  l1.invalidate(slot);
  EXPECT_EQ(l1.victim(LineAddr{8}).state, LineState::invalid);
  EXPECT_EQ(l1.victim(LineAddr{8}).slot, slot);
  l1.fill(slot, LineAddr{8}, LineState::shared);
  EXPECT_EQ(l1.victim(LineAddr{12}).line, LineAddr{4});
}

TEST(L1Cache, ReservationsEndWithTheirUse) {
  L1Cache l1 = small();
  put(l1, LineAddr{1}, LineState::shared);
  l1.reserve(LineAddr{1});
  EXPECT_TRUE(l1.has_reservation(LineAddr{1}));
  EXPECT_FALSE(l1.has_reservation(LineAddr{2}));
  l1.clear_reservation();
  EXPECT_FALSE(l1.has_reservation(LineAddr{1}));
  l1.reserve(LineAddr{1});
  l1.set_state(l1.find(LineAddr{1}), LineState::exclusive);  // the holder's own upgrade keeps it
  EXPECT_TRUE(l1.has_reservation(LineAddr{1}));
}

TEST(L1Cache, AReservationOutlivesEvictionUntilAnotherCacheStores) {
  L1Cache l1 = small();
  const L1Cache other = small();
  LeftReservations left;
  l1.list_reservations(&left);
  put(l1, LineAddr{0}, LineState::shared);
  l1.reserve(LineAddr{0});
  put(l1, LineAddr{4}, LineState::shared);
  EXPECT_TRUE(l1.has_reservation(LineAddr{0}));
  EXPECT_TRUE(left.empty());
  put(l1, LineAddr{8}, LineState::shared);
  EXPECT_EQ(l1.find(LineAddr{0}), L1Cache::kNoSlot);
  EXPECT_TRUE(l1.has_reservation(LineAddr{0}));
  EXPECT_TRUE(left.has(LineAddr{0}, other));
  EXPECT_FALSE(left.has(LineAddr{0}, l1));
  EXPECT_FALSE(left.has(LineAddr{4}, other));
  left.on_store(LineAddr{0}, l1);  // its own
  left.on_store(LineAddr{4}, other);
  EXPECT_TRUE(l1.has_reservation(LineAddr{0}));
  left.on_store(LineAddr{0}, other);
  EXPECT_FALSE(l1.has_reservation(LineAddr{0}));
  EXPECT_TRUE(left.empty());
}

TEST(L1Cache, AReservationThatEndedAfterItsLineLeftIsListedNoLonger) {
  L1Cache l1 = small();
  const L1Cache other = small();
  LeftReservations left;
  l1.list_reservations(&left);
  put(l1, LineAddr{0}, LineState::shared);
  l1.reserve(LineAddr{0});
  l1.invalidate(l1.find(LineAddr{0}));
  l1.clear_reservation();
  EXPECT_FALSE(left.has(LineAddr{0}, other));
  left.on_store(LineAddr{12}, other);
  EXPECT_TRUE(left.empty());
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

// ---- Marks (C15) ----

struct Uses final : L1Recorder {
  std::vector<std::pair<std::uint64_t, bool>> seen;
  void on_first_use(LineAddr line, bool write) override { seen.emplace_back(line.value, write); }
};

TEST(L1Marks, WhatIsThereWhenMarksBeginIsGoodForReadsAndWrites) {
  L1Cache l1 = small();
  put(l1, LineAddr{0}, LineState::modified);
  put(l1, LineAddr{1}, LineState::shared);
  l1.begin_marks();
  EXPECT_TRUE(l1.hit(LineAddr{0}, true));
  EXPECT_TRUE(l1.hit(LineAddr{1}, false));
  EXPECT_FALSE(l1.hit(LineAddr{1}, true));  // marked, but no right
  put(l1, LineAddr{2}, LineState::modified);
  EXPECT_FALSE(l1.hit(LineAddr{2}, false));  // came later, unchecked
}

TEST(L1Marks, ARefusalChangesNothing) {
  L1Cache l1 = small();
  l1.begin_marks();
  put(l1, LineAddr{0}, LineState::exclusive);
  put(l1, LineAddr{4}, LineState::shared);
  EXPECT_FALSE(l1.hit(LineAddr{0}, true));
  EXPECT_FALSE(l1.hit(LineAddr{0}, false));
  EXPECT_EQ(l1.state(LineAddr{0}), LineState::exclusive);
  EXPECT_EQ(l1.hits(), 0U);
  EXPECT_EQ(l1.victim(LineAddr{8}).line, LineAddr{0});  // still the older one
}

TEST(L1Marks, ACheckForReadsIsNoneForWrites) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  l1.begin_task(&uses);
  put(l1, LineAddr{3}, LineState::modified);
  l1.mark(LineAddr{3}, false);
  EXPECT_TRUE(l1.hit(LineAddr{3}, false));
  EXPECT_TRUE(l1.hit(LineAddr{3}, false));
  EXPECT_FALSE(l1.hit(LineAddr{3}, true));  // the filter knows no more than the mark
  l1.mark(LineAddr{3}, true);
  EXPECT_TRUE(l1.hit(LineAddr{3}, true));
  l1.mark(LineAddr{3}, false);  // a later check for reads takes nothing away
  EXPECT_TRUE(l1.hit(LineAddr{3}, true));
}

TEST(L1Marks, AnEarlierTaskFindsNothingCheckedAndAReadDoesNotRenewAWrite) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  l1.begin_task(&uses);
  put(l1, LineAddr{3}, LineState::modified);
  l1.mark(LineAddr{3}, true);
  EXPECT_TRUE(l1.hit(LineAddr{3}, true));
  l1.clear_marks();
  EXPECT_FALSE(l1.hit(LineAddr{3}, true));  // though the filter had it
  EXPECT_FALSE(l1.hit(LineAddr{3}, false));
  l1.mark(LineAddr{3}, false);
  EXPECT_TRUE(l1.hit(LineAddr{3}, false));
  EXPECT_FALSE(l1.hit(LineAddr{3}, true));
}

TEST(L1Marks, WhatANonSpeculativeTaskCheckedIsGoodForAllUntilASpeculativeOneUsesIt) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  for (const std::uint64_t line : {1, 2, 3}) {
    put(l1, LineAddr{line}, LineState::modified);
    l1.mark(LineAddr{line}, true);
  }
  put(l1, LineAddr{4}, LineState::modified);
  l1.mark(LineAddr{4}, false);
  l1.begin_task(&uses);
  EXPECT_TRUE(l1.hit(LineAddr{2}, false));
  EXPECT_TRUE(l1.hit(LineAddr{3}, true));
  EXPECT_TRUE(l1.covers(LineAddr{2}, true));  // of its own use it need not be afraid
  EXPECT_TRUE(l1.hit(LineAddr{4}, false));
  EXPECT_FALSE(l1.covers(LineAddr{4}, true));
  // An earlier task: no access to line 2 came between, so it may read; to write it must abort the later
  // reader.
  l1.clear_marks();
  l1.begin_task(&uses);
  for (const bool write : {false, true}) EXPECT_TRUE(l1.covers(LineAddr{1}, write));
  EXPECT_TRUE(l1.covers(LineAddr{2}, false));
  EXPECT_FALSE(l1.covers(LineAddr{2}, true));
  for (const bool write : {false, true}) EXPECT_FALSE(l1.covers(LineAddr{3}, write));
  // So must a non-speculative one.
  l1.begin_task(nullptr);
  for (const bool write : {false, true}) EXPECT_TRUE(l1.covers(LineAddr{1}, write));
  EXPECT_TRUE(l1.covers(LineAddr{2}, false));
  EXPECT_FALSE(l1.covers(LineAddr{2}, true));
  for (const bool write : {false, true}) EXPECT_FALSE(l1.covers(LineAddr{3}, write));
}

TEST(L1Marks, ASpeculativeTasksChecksAreGoodForSpeculativeOnesThoughOthersRanBetween) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  put(l1, LineAddr{1}, LineState::modified);
  l1.begin_task(&uses);
  l1.mark(LineAddr{1}, true);
  EXPECT_TRUE(l1.hit(LineAddr{1}, true));
  l1.begin_task(nullptr);
  EXPECT_FALSE(l1.hit(LineAddr{1}, false));  // though the filter had it
  l1.begin_task(&uses);
  EXPECT_TRUE(l1.hit(LineAddr{1}, true));
  l1.begin_task(nullptr);
  l1.mark(LineAddr{1}, false);
  EXPECT_TRUE(l1.covers(LineAddr{1}, false));
  EXPECT_FALSE(l1.covers(LineAddr{1}, true));
  l1.mark(LineAddr{1}, true);
  EXPECT_TRUE(l1.covers(LineAddr{1}, true));
  l1.mark(LineAddr{1}, false);  // a later check for reads takes nothing away
  EXPECT_TRUE(l1.covers(LineAddr{1}, true));
}

TEST(L1Marks, FillsAndLossesOfRightsDropTheMarkGainsKeepIt) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  l1.begin_task(&uses);
  put(l1, LineAddr{5}, LineState::modified);
  l1.mark(LineAddr{5}, true);
  l1.set_state(l1.find(LineAddr{5}), LineState::shared);
  EXPECT_FALSE(l1.hit(LineAddr{5}, false));
  l1.mark(LineAddr{5}, false);
  l1.set_state(l1.find(LineAddr{5}), LineState::modified);
  EXPECT_TRUE(l1.hit(LineAddr{5}, false));
  EXPECT_FALSE(l1.hit(LineAddr{5}, true));
  l1.invalidate(l1.find(LineAddr{5}));
  put(l1, LineAddr{5}, LineState::modified);
  EXPECT_FALSE(l1.hit(LineAddr{5}, false));
}

TEST(L1Marks, UntrackedLinesAreGoodWithRightsOnlyEvenIfTheFilterKnowsThem) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  put(l1, LineAddr{6}, LineState::modified);
  l1.mark_untracked(LineAddr{6});
  l1.begin_task(&uses);
  for (int i = 0; i < 3; ++i) {
    l1.set_rights(true);
    EXPECT_TRUE(l1.hit(LineAddr{6}, false));
    EXPECT_TRUE(l1.hit(LineAddr{6}, true));
    EXPECT_TRUE(l1.covers(LineAddr{6}, true));
    l1.set_rights(false);
    EXPECT_FALSE(l1.hit(LineAddr{6}, false));
    EXPECT_FALSE(l1.hit(LineAddr{6}, true));
    EXPECT_FALSE(l1.covers(LineAddr{6}, false));
  }
  EXPECT_TRUE(uses.seen.empty());
}

TEST(L1Marks, PrivateLinesAreAlwaysGoodAndNeverRecorded) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  put(l1, LineAddr{6}, LineState::modified);
  l1.mark_private(LineAddr{6});
  l1.set_rights(false);
  l1.clear_marks();
  l1.begin_task(&uses);
  EXPECT_TRUE(l1.hit(LineAddr{6}, false));
  EXPECT_TRUE(l1.hit(LineAddr{6}, true));
  EXPECT_TRUE(uses.seen.empty());
  l1.forget_untracked();
  EXPECT_FALSE(l1.hit(LineAddr{6}, false));
}

TEST(L1Marks, EveryTaskIsAskedForTheFirstReadAndTheFirstWriteOfALine) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  put(l1, LineAddr{3}, LineState::modified);
  l1.mark(LineAddr{3}, true);
  using Seen = std::vector<std::pair<std::uint64_t, bool>>;
  for (int task = 0; task < 100; ++task) {  // more than there are tags
    uses.seen.clear();
    l1.begin_task(&uses);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(l1.hit(LineAddr{3}, false));
    EXPECT_EQ(uses.seen, (Seen{{3, false}}));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(l1.hit(LineAddr{3}, true));
    EXPECT_EQ(uses.seen, (Seen{{3, false}, {3, true}}));
    EXPECT_TRUE(l1.hit(LineAddr{3}, false));
    EXPECT_EQ(uses.seen.size(), 2U);
    if (task % 2 == 0) continue;
    l1.stop_recording();
    l1.begin_task(nullptr);
    EXPECT_FALSE(l1.hit(LineAddr{3}, true));
    l1.mark(LineAddr{3}, true);
    EXPECT_TRUE(l1.hit(LineAddr{3}, true));
    EXPECT_EQ(uses.seen.size(), 2U);
  }
}

TEST(L1Marks, AUseIsRecordedOnceThoughTheFilterForgetsIt) {
  L1Cache l1({.bytes = 16384, .ways = 8});
  Uses uses;
  l1.begin_marks();
  for (const std::uint64_t line : {3, 67}) {  // one filter entry for both
    put(l1, LineAddr{line}, LineState::modified);
    l1.mark(LineAddr{line}, true);
  }
  l1.begin_task(&uses);
  for (int i = 0; i < 4; ++i)
    for (const std::uint64_t line : {3, 67})
      for (const bool write : {false, line == 3}) EXPECT_TRUE(l1.hit(LineAddr{line}, write));
  using Seen = std::vector<std::pair<std::uint64_t, bool>>;
  EXPECT_EQ(uses.seen, (Seen{{3, false}, {3, true}, {67, false}}));
  // The caller of mark() has recorded the line's use.
  uses.seen.clear();
  put(l1, LineAddr{4}, LineState::modified);
  l1.mark(LineAddr{4}, false);
  EXPECT_TRUE(l1.hit(LineAddr{4}, false));
  EXPECT_TRUE(uses.seen.empty());
  l1.mark(LineAddr{4}, true);
  EXPECT_TRUE(l1.hit(LineAddr{4}, true));
  EXPECT_TRUE(uses.seen.empty());
}

TEST(L1Marks, NoAddressLooksLikeAnotherTasksFilterEntry) {
  L1Cache l1 = small();
  l1.begin_marks();
  put(l1, LineAddr{3}, LineState::modified);
  l1.mark(LineAddr{3}, true);
  for (int task = 0; task < 64; ++task) {
    l1.begin_task(nullptr);
    EXPECT_TRUE(l1.hit(LineAddr{3}, true));
    // Every line number that differs from 3 in its highest bits only, up to the end of the address space.
    for (std::uint64_t high = 1; high < 32; ++high)
      EXPECT_FALSE(l1.hit(LineAddr{(high << 53 | 3) & (~std::uint64_t{0} >> kLineBits)}, false));
    EXPECT_FALSE(l1.hit(LineAddr{~std::uint64_t{0} >> kLineBits}, true));
  }
}

TEST(L1Marks, OldMarksStayOldWhenEpochsWrapAround) {
  L1Cache l1 = small();
  Uses uses;
  l1.begin_marks();
  l1.begin_task(&uses);
  put(l1, LineAddr{1}, LineState::modified);
  put(l1, LineAddr{2}, LineState::modified);
  l1.mark(LineAddr{1}, true);
  l1.mark_untracked(LineAddr{2});
  for (int i = 0; i < 200000; ++i) {
    l1.clear_marks();
    ASSERT_FALSE(l1.hit(LineAddr{1}, false)) << i;
    ASSERT_TRUE(l1.hit(LineAddr{2}, true)) << i;
  }
}

TEST(L1Marks, CoversSaysWhatHitWouldAndChangesNothing) {
  L1Cache l1({.bytes = 4096, .ways = 4});
  Uses uses;
  Rng rng(11);
  for (int i = 0; i < 50000; ++i) {
    if (i == 1000) l1.begin_marks();
    const LineAddr line{rng.below(80)};
    const std::uint32_t slot = l1.find(line);
    switch (rng.below(i < 1000 ? 3 : 8)) {
      case 0:
        if (slot == L1Cache::kNoSlot) put(l1, line, static_cast<LineState>(1 + rng.below(3)));
        break;
      case 1:
        if (slot != L1Cache::kNoSlot) l1.set_state(slot, static_cast<LineState>(1 + rng.below(3)));
        break;
      case 3:
        if (rng.below(10) == 0) l1.clear_marks();
        break;
      case 4:
        l1.begin_task(rng.below(2) == 0 ? &uses : nullptr);
        break;
      case 5:
        l1.mark(line, rng.below(2) == 0);
        break;
      default: {
        const bool write = rng.below(2) == 0;
        const bool covered = l1.covers(line, write);
        ASSERT_EQ(l1.hit(line, write), covered);
        ASSERT_EQ(l1.covers(line, write), covered);
      }
    }
  }
}

}  // namespace
}  // namespace rubato::chip
