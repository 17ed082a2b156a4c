// The latency of every path through the hierarchy of the 256-core machine, computed by hand from
// docs/memory-system.md: L1 2, L2 7, LLC 9, memory 120; a message takes its hops, 1 for a turn, and for a
// line 3 for its last flits. Tiles: 0 at (0,0), 1 at (1,0), 9 at (1,1), 18 at (2,2), 32 at (0,4) with a
// controller.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load;
constexpr auto kStore = AccessKind::store;
constexpr auto kFetch = AccessKind::fetch;

std::uint32_t core_of(std::uint32_t tile, std::uint32_t core = 0) { return tile * 4 + core; }

class Latencies : public testing::Test {
 protected:
  Rig rig{[] {
    Config c;
    c.coherence.check = true;
    return c;
  }()};
  LineAddr near_32 = rig.line_at(9, 32);  // home 9, controller at tile 32

  void expect(const AccessResult& r, std::uint64_t now, std::uint64_t latency, ServedBy by,
              AccessParts parts) {
    EXPECT_TRUE(r.done);
    EXPECT_EQ(r.cycle - Cycle{now}, latency);
    EXPECT_EQ(r.served_by, by);
    EXPECT_EQ(r.parts.l1, parts.l1);
    EXPECT_EQ(r.parts.l2, parts.l2);
    EXPECT_EQ(r.parts.llc, parts.llc);
    EXPECT_EQ(r.parts.memory, parts.memory);
    EXPECT_EQ(r.parts.network, parts.network);
  }
  std::uint64_t latency(std::uint32_t core, LineAddr line, AccessKind kind, std::uint64_t now) {
    return rig.access(core, line, kind, now).cycle - Cycle{now};
  }
};

TEST_F(Latencies, L1HitTakes2) {
  rig.access(0, near_32, kLoad, 0);
  expect(rig.access(0, near_32, kLoad, 1000), 1000, 2, ServedBy::l1, {.l1 = 2});
}

TEST_F(Latencies, MemoryTakesTheWayToTheHomeAndOnToTheController) {
  // 2 + 7; 0 to 9: 2 hops, turn = 3; slice 9; 9 (1,1) to 32 (0,4): 4 hops, turn = 5; 120; line back 5 + 3;
  // line to 0: 3 + 3. 2 + 7 + 9 + 120 + (3 + 5 + 8 + 6) = 160.
  expect(rig.access(0, near_32, kLoad, 100), 100, 160, ServedBy::memory,
         {.l1 = 2, .l2 = 7, .llc = 9, .memory = 120, .network = 22});
}

TEST_F(Latencies, FetchesAreLoadsOfTheL1I) {
  expect(rig.access(0, near_32, kFetch, 100), 100, 160, ServedBy::memory,
         {.l1 = 2, .l2 = 7, .llc = 9, .memory = 120, .network = 22});
  EXPECT_NE(rig.mesi.l1i(CoreId{0}).state(near_32), LineState::invalid);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::invalid);
  expect(rig.access(0, near_32, kLoad, 1000), 1000, 9, ServedBy::l2, {.l1 = 2, .l2 = 7});
}

TEST_F(Latencies, L2HitTakes9AndAnotherL1OfTheTile2More) {
  rig.access(core_of(0, 0), near_32, kStore, 0);
  // Core 1: core 0's L1 has it modified, is asked (2) and keeps a shared copy.
  expect(rig.access(core_of(0, 1), near_32, kLoad, 1000), 1000, 11, ServedBy::other_l1, {.l1 = 4, .l2 = 7});
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::shared);
  // Core 2: the L2 itself has the newest data now.
  expect(rig.access(core_of(0, 2), near_32, kLoad, 2000), 2000, 9, ServedBy::l2, {.l1 = 2, .l2 = 7});
  // Core 3 writes: the tile may write, three L1s lose their copies.
  expect(rig.access(core_of(0, 3), near_32, kStore, 3000), 3000, 11, ServedBy::l2, {.l1 = 4, .l2 = 7});
  for (std::uint32_t c = 0; c < 3; ++c) EXPECT_EQ(rig.mesi.l1d(CoreId{c}).state(near_32), LineState::invalid);
}

TEST_F(Latencies, LlcHitInTheOwnTileTakes18AndInAnotherItsDistanceMore) {
  const LineAddr local = rig.line_at(0);
  // Two readers and then neither has it alone: the LLC's copy serves the third.
  for (const LineAddr line : {local, near_32}) {
    rig.access(core_of(20), line, kLoad, 0);
    rig.access(core_of(21), line, kLoad, 1000);
  }
  expect(rig.access(0, local, kLoad, 5000), 5000, 18, ServedBy::llc, {.l1 = 2, .l2 = 7, .llc = 9});
  // 2 + 7 + 3 + 9 + line 3 + 3
  expect(rig.access(0, near_32, kLoad, 6000), 6000, 27, ServedBy::llc,
         {.l1 = 2, .l2 = 7, .llc = 9, .network = 9});
}

TEST_F(Latencies, ADirtyLineOfAnotherTileComesInThreeHops) {
  rig.access(core_of(18), near_32, kStore, 0);
  // 2 + 7; 0 to 9: 3; slice 9; forward 9 to 18: 3; its L2 7, its L1 2; line 18 to 0: 4 hops + turn + 3 = 8.
  expect(rig.access(0, near_32, kLoad, 1000), 1000, 41, ServedBy::other_tile,
         {.l1 = 4, .l2 = 14, .llc = 9, .network = 14});
  EXPECT_EQ(rig.mesi.l1d(CoreId{core_of(18)}).state(near_32), LineState::shared);
  // The dirty data went to the home too, which serves the next reader: tile 1 at (1,0) is one hop from 9.
  // 2 + 7 + 1 + 9 + 1 + 3
  expect(rig.access(core_of(1), near_32, kLoad, 2000), 2000, 23, ServedBy::llc,
         {.l1 = 2, .l2 = 7, .llc = 9, .network = 5});
}

TEST_F(Latencies, AStoreTakesADirtyLineFromAnotherTileInThreeHops) {
  rig.access(core_of(18), near_32, kStore, 0);
  expect(rig.access(0, near_32, kStore, 1000), 1000, 41, ServedBy::other_tile,
         {.l1 = 4, .l2 = 14, .llc = 9, .network = 14});
  EXPECT_EQ(rig.mesi.l1d(CoreId{core_of(18)}).state(near_32), LineState::invalid);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::modified);
}

TEST_F(Latencies, AnOwnerWhoseL1HasLostTheLineIsNotAskedThere) {
  rig.access(core_of(18), near_32, kStore, 0);
  // Eight lines of the same L1 set (32 sets) push it out of the L1; the L2 has 512 sets.
  for (std::uint64_t i = 1; i <= 8; ++i)
    rig.access(core_of(18), LineAddr{near_32.value + i * 32}, kLoad, i * 1000);
  expect(rig.access(0, near_32, kLoad, 20000), 20000, 39, ServedBy::other_tile,
         {.l1 = 2, .l2 = 14, .llc = 9, .network = 14});
}

// As above, a sample each, where the server is: the tile of the core, or the home.
TEST_F(Latencies, AreCountedByWhatServed) {
  const LineAddr other = rig.line_at(9, 32, 1);
  rig.access(core_of(18), near_32, kStore, 0);      // memory: 160, as tile 18 is as far from 9 as tile 0
  rig.access(0, near_32, kLoad, 1000);              // tile 18: 41
  rig.access(core_of(1), near_32, kLoad, 2000);     // slice 9: 23
  rig.access(core_of(1, 1), near_32, kLoad, 3000);  // L2 of tile 1: 9
  rig.access(core_of(1, 1), near_32, kLoad, 4000);  // an L1
  rig.access(core_of(0), other, kStore, 5000);      // memory: 160
  rig.access(core_of(0, 1), other, kLoad, 6000);    // L1 of the core beside: 11
  StatRegistry registry;
  rig.mesi.register_stats(registry);
  std::map<std::string, std::string> found;
  for (const Stat& stat : registry.stats())
    if (stat.histogram != nullptr && stat.histogram->samples() != 0)
      found[stat.name] =
          std::to_string(stat.histogram->samples()) + ": " + std::to_string(stat.histogram->sum());
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"tile.0.l2.latency_other_l1", "1: 11"},
                                                       {"tile.1.l2.latency", "1: 9"},
                                                       {"tile.9.llc.latency", "1: 23"},
                                                       {"tile.9.llc.latency_memory", "2: 320"},
                                                       {"tile.9.llc.latency_other_tile", "1: 41"}}));
}

TEST_F(Latencies, AnUpgradeWaitsForTheLastAcknowledgement) {
  rig.access(core_of(0), near_32, kLoad, 0);
  rig.access(core_of(1), near_32, kLoad, 1000);
  rig.access(core_of(18), near_32, kLoad, 2000);
  // At the home at 2 + 7 + 3 + 9 = 21. To 1 and back: 1 + 7 + 2 + 1 = 11; to 18 and back: 3 + 7 + 2 + 3 = 15,
  // which counts. Leave to write, 2 bytes: 3. 21 + 15 + 3 = 39.
  expect(rig.access(0, near_32, kStore, 3000), 3000, 39, ServedBy::llc,
         {.l1 = 4, .l2 = 14, .llc = 9, .network = 12});
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::modified);
  EXPECT_EQ(rig.mesi.l1d(CoreId{core_of(1)}).state(near_32), LineState::invalid);
  EXPECT_EQ(rig.mesi.l1d(CoreId{core_of(18)}).state(near_32), LineState::invalid);
}

TEST_F(Latencies, AStoreMissOnASharedLineWaitsForAcknowledgementsAndTheLine) {
  rig.access(core_of(1), near_32, kLoad, 1000);
  rig.access(core_of(18), near_32, kLoad, 2000);
  // As the upgrade, but the line travels: 21 + 15 + 6.
  expect(rig.access(0, near_32, kStore, 3000), 3000, 42, ServedBy::llc,
         {.l1 = 4, .l2 = 14, .llc = 9, .network = 15});
}

TEST_F(Latencies, AStoreOfAWholeLineNeedsNoDataFromMemoryOrTheSlice) {
  constexpr auto kLine = AccessKind::untracked_line_store;
  // To the home and leave to write back: 2 + 7 + 3 + 9 + 3.
  expect(rig.access(0, near_32, kLine, 100), 100, 24, ServedBy::llc,
         {.l1 = 2, .l2 = 7, .llc = 9, .network = 6});
  for (std::uint32_t m = 0; m < 4; ++m) EXPECT_EQ(rig.mesi.controller(m).reads(), 0U);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::modified);
  expect(rig.access(0, near_32, kStore, 1000), 1000, 2, ServedBy::l1, {.l1 = 2});
  // The same for a line that the slice has and no tile holds. A line of two readers: as an upgrade.
  const LineAddr read = rig.line_at(9, 32, 1);
  for (const std::uint32_t tile : {1U, 18U}) rig.access(core_of(tile), read, kLoad, 2000);
  expect(rig.access(0, read, kLine, 3000), 3000, 39, ServedBy::llc,
         {.l1 = 4, .l2 = 14, .llc = 9, .network = 12});
  for (const std::uint32_t tile : {1U, 18U})
    EXPECT_EQ(rig.mesi.l1d(CoreId{core_of(tile)}).state(read), LineState::invalid);
  // Another tile's dirty line is taken from it, in three hops.
  rig.access(core_of(18), read, kLine, 4000);
  EXPECT_EQ(latency(0, read, kLine, 5000), 41U);
}

TEST_F(Latencies, PrivateLinesStayAtTheTileThatUsesThem) {
  const LineAddr first{1 << 24};
  const LineAddr outside[] = {LineAddr{first.value - 1}, LineAddr{first.value + 64 * 100}};
  const TileId homes[] = {rig.mesi.home_of(outside[0]), rig.mesi.home_of(outside[1])};
  rig.mesi.set_private_lines(first, 100);
  for (std::uint32_t t = 0; t < 64; ++t)
    for (const std::uint64_t i : {0, 99})
      EXPECT_EQ(rig.mesi.home_of(LineAddr{first.value + t * 100 + i}), TileId{t});
  for (const int i : {0, 1}) EXPECT_EQ(rig.mesi.home_of(outside[i]), homes[i]);

  const LineAddr line{first.value + 5 * 100 + 7};
  expect(rig.access(core_of(5), line, AccessKind::untracked_line_store, 0), 0, 18, ServedBy::llc,
         {.l1 = 2, .l2 = 7, .llc = 9});
  EXPECT_EQ(rig.mesi.check_invariants(), "");
}

TEST_F(Latencies, ALoneReaderMayWriteWithoutAskingAndASecondReaderMayNot) {
  rig.access(0, near_32, kLoad, 0);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::exclusive);
  EXPECT_TRUE(rig.mesi.l1d(CoreId{0}).hit(near_32, true));
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(near_32), LineState::modified);
  rig.access(core_of(1), near_32, kLoad, 1000);
  EXPECT_EQ(rig.mesi.l1d(CoreId{core_of(1)}).state(near_32), LineState::shared);
  EXPECT_FALSE(rig.mesi.l1d(CoreId{core_of(1)}).hit(near_32, true));
  EXPECT_FALSE(rig.mesi.l1d(CoreId{0}).hit(near_32, true));
}

TEST_F(Latencies, AnotherCoreOfTheTileWaitsForALineOnItsWayAndNotLonger) {
  for (const std::uint64_t early : {1, 0}) {
    Rig r{Config{}};
    EXPECT_EQ(r.access(0, near_32, kLoad, 0).cycle, Cycle{160});
    // Issued at 151 the L2 is done at 160, when the line arrives; core 0's L1 is asked: 2 more.
    EXPECT_EQ(r.access(1, near_32, kLoad, 151 - early).cycle, Cycle{162});
  }
  Rig r{Config{}};
  r.access(0, near_32, kLoad, 0);
  EXPECT_EQ(r.access(1, near_32, kLoad, 152).cycle, Cycle{163});
}

TEST_F(Latencies, ALineIsBusyAtItsHomeUntilItIsBackFromMemory) {
  // Tile 0's line is back at home 9 in cycle 154. Tile 1's request is there 2 + 7 + 1 cycles after its issue,
  // goes on after 9 cycles to tile 0, which has it alone: 3 + 7 + 2; line to tile 1: 1 + 3.
  for (const auto& [now, latency_llc] : {std::pair{144, 9}, std::pair{143, 10}, std::pair{100, 53}}) {
    Rig r{Config{}};
    r.access(0, near_32, kLoad, 0);
    const AccessResult result = r.access(core_of(1), near_32, kLoad, static_cast<std::uint64_t>(now));
    EXPECT_EQ(result.cycle, Cycle{154 + 9 + 3 + 7 + 2 + 4});
    EXPECT_EQ(result.parts.llc, static_cast<std::uint32_t>(latency_llc));
  }
}

TEST_F(Latencies, TheL2PortTakesOneAccessACycle) {
  std::vector<LineAddr> lines;
  for (unsigned i = 0; i < 4; ++i) {
    lines.push_back(rig.line_at(9, 32, i));
    rig.access(core_of(0, 3), lines[i], kFetch, i * 1000);
  }
  EXPECT_EQ(latency(core_of(0, 0), lines[0], kLoad, 9000), 9U);
  EXPECT_EQ(latency(core_of(0, 1), lines[1], kLoad, 9000), 10U);  // the same cycle: one later
  EXPECT_EQ(latency(core_of(0, 2), lines[2], kLoad, 9002), 9U);   // the port is free again
  EXPECT_EQ(latency(core_of(0, 2), lines[3], kLoad, 8999), 9U);   // called last, but earlier in time
}

TEST_F(Latencies, TheLlcPortTakesOneRequestACycle) {
  std::vector<LineAddr> lines;
  for (unsigned i = 0; i < 3; ++i) {
    lines.push_back(rig.line_at(9, 32, i));
    rig.access(core_of(20), lines[i], kFetch, i * 1000);
    rig.access(core_of(21), lines[i], kFetch, 10000 + i * 1000);
  }
  // From 8 (0,1) and 10 (2,1), one hop each, both at 9 in 20010; the slice's port delays one.
  EXPECT_EQ(latency(core_of(8), lines[0], kLoad, 20000), 2 + 7 + 1 + 9 + 4U);
  EXPECT_EQ(latency(core_of(10), lines[1], kLoad, 20000), 2 + 7 + 1 + 10 + 4U);
  EXPECT_EQ(latency(core_of(10), lines[2], kLoad, 30000), 2 + 7 + 1 + 9 + 4U);
}

TEST_F(Latencies, AControllerTakesALineEveryFiveCycles) {
  // Homes 8 (0,1) and 16 (0,2) north of controller 32 (0,4): local requests of both tiles. From 16: 2 hops.
  const LineAddr a = rig.line_at(16, 32, 0), b = rig.line_at(16, 32, 1), c = rig.line_at(16, 32, 2);
  // 2 + 7 + 9 + 2 + 120 + 2 + 3
  EXPECT_EQ(latency(core_of(16, 0), a, kLoad, 1000), 145U);
  // Issued one cycle later it is at the controller at +1 and waits 4 for it.
  EXPECT_EQ(latency(core_of(16, 1), b, kLoad, 1001), 145U + 4);
  EXPECT_EQ(latency(core_of(16, 2), c, kLoad, 1010), 145U);
}

TEST_F(Latencies, WriteBacksTravelButNobodyWaits) {
  // Nine lines of one L2 set (512 sets): the first, modified, goes home; the load that evicts it is not
  // delayed.
  const LineAddr first = near_32;
  rig.access(0, first, kStore, 0);
  for (std::uint64_t i = 1; i <= 7; ++i) rig.access(0, LineAddr{first.value + i * 512}, kLoad, i * 1000);
  EXPECT_NE(rig.mesi.tile(TileId{0}).array().find(first), TileCaches::kNoSlot);
  const std::uint64_t before = rig.mesh->bytes(TrafficClass::memory);
  const LineAddr ninth = LineAddr{first.value + 8 * 512};
  const AccessResult r = rig.access(0, ninth, kLoad, 9000);
  EXPECT_EQ(r.parts.memory, 120U);
  EXPECT_EQ(rig.mesi.tile(TileId{0}).array().find(first), TileCaches::kNoSlot);
  EXPECT_EQ(rig.mesi.tile(TileId{0}).counters.write_backs, 1U);
  const std::uint32_t home = rig.mesi.home_of(ninth).value;
  const std::uint32_t controller = rig.mesi.controller_tile_of(ninth).value;
  const std::uint64_t own = (home != 0 ? 72U : 0U) + (home != controller ? 72U : 0U);
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::memory) - before, own + 64);
  // Read again: from the LLC, not memory. 27 as any hit of home 9.
  EXPECT_EQ(latency(0, first, kLoad, 20000), 27U);
}

}  // namespace
}  // namespace rubato::chip
