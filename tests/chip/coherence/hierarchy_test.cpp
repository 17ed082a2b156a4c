// The hierarchy without a protocol: what it builds, its ports and memory, warming, and the check of uses.
// SPDX-License-Identifier: MIT
#include "chip/coherence/hierarchy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kLine{4096};
constexpr std::size_t kNoHomes = 0;

TEST(Hierarchy, ATileHasTheL1sOfItsCores) {
  const Hierarchy parts(resolve(tiny_caches(6, 2)), kNoHomes);
  ASSERT_EQ(parts.l1s.size(), 12U);
  ASSERT_EQ(parts.tiles.size(), 3U);
  const CoreId core{3};  // the second one of tile 1
  EXPECT_EQ(parts.tile_of(core), TileId{1});
  for (const AccessKind kind : {AccessKind::fetch, AccessKind::store})
    EXPECT_EQ(&parts.tiles[1].l1s()[parts.l1_in_tile(core, kind)], &parts.l1s[Hierarchy::l1_of(core, kind)]);
  EXPECT_EQ(Hierarchy::l1_of(core, AccessKind::fetch), 6U);
  EXPECT_EQ(Hierarchy::l1_of(core, AccessKind::load), 7U);
}

TEST(Hierarchy, APortTakesOneAccessACycle) {
  Hierarchy parts(resolve(tiny_caches(2, 1)), kNoHomes);
  EXPECT_EQ(parts.look_up_l2(TileId{0}, Cycle{10}), Cycle{17});
  EXPECT_EQ(parts.look_up_l2(TileId{0}, Cycle{10}), Cycle{18});
  EXPECT_EQ(parts.look_up_l2(TileId{1}, Cycle{10}), Cycle{17}) << "a port of its own";
  ArrayAccesses slice;
  EXPECT_EQ(parts.look_up_llc(TileId{0}, slice, kLine, Cycle{10}), Cycle{19})
      << "the slice's, beside the L2's";
  EXPECT_EQ(parts.tiles[0].accesses.lookups, 2U);
  EXPECT_EQ(slice.lookups, 1U);
}

TEST(Hierarchy, ABankOfASliceHasAPortOfItsOwn) {
  Config config = tiny_caches(2, 1);
  config.llc.banks = 2;
  Hierarchy parts(resolve(config), kNoHomes);
  const LineAddr other{kLine.value + 1};
  ASSERT_NE(parts.banks.of(kLine), parts.banks.of(other));
  EXPECT_EQ(parts.book_llc(TileId{0}, kLine, Cycle{10}), Cycle{10});
  EXPECT_EQ(parts.book_llc(TileId{0}, other, Cycle{10}), Cycle{10});
  EXPECT_EQ(parts.book_llc(TileId{0}, LineAddr{kLine.value + 2}, Cycle{10}), Cycle{11}) << "the first's bank";
  EXPECT_EQ(parts.book_llc(TileId{1}, kLine, Cycle{10}), Cycle{10}) << "another home";
}

TEST(Hierarchy, WarmingTakesNoPortNoMemoryAndNoStatistic) {
  Hierarchy parts(resolve(tiny_caches(1, 1)), kNoHomes);
  std::uint64_t counter = 0;
  {
    const Warming::Scope scope(parts.warming);
    EXPECT_EQ(parts.book_l2(TileId{0}, Cycle{10}), Cycle{10});
    EXPECT_EQ(parts.book_l2(TileId{0}, Cycle{10}), Cycle{10});
    EXPECT_EQ(parts.read_memory(kLine, Cycle{10}), Cycle{10});
    parts.write_memory(kLine, Cycle{10});
    parts.look_up_l2(TileId{0}, Cycle{10});
    parts.warming.count(counter, 5);
  }
  EXPECT_EQ(parts.tiles[0].accesses.lookups + counter, 0U);
  EXPECT_EQ(parts.controllers[0].reads() + parts.controllers[0].writes(), 0U);
  EXPECT_EQ(parts.book_l2(TileId{0}, Cycle{10}), Cycle{10}) << "still free";
  EXPECT_GT(parts.read_memory(kLine, Cycle{10}), Cycle{10});
  parts.warming.count(counter, 5);
  EXPECT_EQ(counter, 5U);
}

struct TwoCopies : testing::Test {
  TwoCopies() : parts(resolve(tiny_caches(2, 1)), kNoHomes) {
    parts.report = [this](const std::string& what) { reports.push_back(what); };
    for (const std::uint32_t l1 : {1U, 3U}) {
      L1Cache& cache = parts.l1s[l1];
      cache.fill(cache.victim(kLine).slot, kLine, l1 == 1 ? LineState::modified : LineState::shared);
    }
  }
  Hierarchy parts;
  std::vector<std::string> reports;
};

TEST_F(TwoCopies, AHitOfAnOldOneIsReported) {
  EXPECT_TRUE(parts.l1s[3].hit(kLine, false));
  EXPECT_TRUE(reports.empty());
  EXPECT_TRUE(parts.l1s[1].hit(kLine, true));
  EXPECT_TRUE(parts.l1s[1].hit(kLine, false));
  EXPECT_TRUE(reports.empty()) << "its own store is the newest";
  EXPECT_TRUE(parts.l1s[3].hit(kLine, false));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0], "core 1 uses an old copy of line 0x40000");
}

TEST_F(TwoCopies, AStoreThatReplacesAllBytesMayBeginWithAnOldOne) {
  parts.check_use(1, parts.l1s[1].find(kLine), kLine, true);
  const std::uint32_t slot = parts.l1s[3].find(kLine);
  parts.check_use(3, slot, kLine, true, true);
  parts.check_use(3, slot, kLine, false);
  EXPECT_TRUE(reports.empty());
  parts.check_use(1, parts.l1s[1].find(kLine), kLine, false);
  EXPECT_EQ(reports.size(), 1U);
}

TEST(Hierarchy, AnExclusiveL2IsRefusedInTilesOfTwoCores) {
  Config config = resolve(tiny_caches(2, 2));
  config.l2.inclusion = "exclusive";
  EXPECT_THROW(Hierarchy(config, kNoHomes), UsageError);
}

}  // namespace
}  // namespace rubato::chip
