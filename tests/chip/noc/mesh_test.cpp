// The mesh: hand-computed arrivals, contention, accounting (C20, C22).
// SPDX-License-Identifier: MIT
#include "chip/noc/mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "chip/stats/registry.hpp"

namespace rubato::chip {
namespace {

constexpr Message kRequest{message::kRequest, TrafficClass::memory};  // 1 flit
constexpr Message kLine{message::kLine, TrafficClass::memory};        // 4 flits

Mesh mesh_8x8(bool contention = true) { return Mesh({.width = 8, .height = 8, .contention = contention}); }
std::uint64_t send(Mesh& m, std::uint32_t from, std::uint32_t to, Message message, std::uint64_t now) {
  return m.send(TileId{from}, TileId{to}, message, Cycle{now}).value;
}

TEST(Mesh, AHopTakesOneCycleStraightAndTwoOnTheTurn) {
  Mesh m = mesh_8x8();
  EXPECT_EQ(send(m, 0, 1, kRequest, 100), 101U);   // one hop
  EXPECT_EQ(send(m, 0, 7, kRequest, 200), 207U);   // seven straight
  EXPECT_EQ(send(m, 0, 9, kRequest, 300), 303U);   // one east, turn, one south: 1 + 2
  EXPECT_EQ(send(m, 63, 0, kRequest, 400), 415U);  // 14 hops, one of them a turn
  EXPECT_EQ(send(m, 56, 0, kRequest, 500), 507U);  // straight north
  EXPECT_EQ(send(m, 9, 16, kRequest, 600), 603U);  // west, turn, south
}

TEST(Mesh, TheLastFlitArrivesOneCycleAFlitLater) {
  Mesh m = mesh_8x8();
  EXPECT_EQ(send(m, 0, 1, kLine, 100), 104U);                     // 1 + 3
  EXPECT_EQ(send(m, 0, 9, kLine, 200), 206U);                     // 3 + 3
  EXPECT_EQ(send(m, 0, 1, {16, TrafficClass::task}, 300), 301U);  // exactly one slot
  EXPECT_EQ(send(m, 0, 1, {17, TrafficClass::task}, 400), 402U);
}

TEST(Mesh, AMulticastArrivesAsAMessageToEachWouldAndTakesEachLinkOnce) {
  for (const std::uint32_t from : {0U, 27U, 63U, 56U}) {
    const std::uint64_t to = 0x8100'0042'0810'0181 & ~(std::uint64_t{1} << from);
    Mesh all = mesh_8x8();
    std::array<Cycle, 64> arrivals{};
    const std::uint32_t links =
        all.multicast(TileId{from}, {SharerGroups(64), to}, kLine, Cycle{100}, arrivals);
    std::uint64_t carried = 0;
    for (std::uint32_t t = 0; t < 64; ++t) {
      for (unsigned d = 0; d < kDirections; ++d) {
        const std::uint64_t flits = all.flits(TileId{t}, static_cast<Direction>(d));
        EXPECT_TRUE(flits == 0 || flits == 4) << "tile " << t << " carries it more than once";
        carried += flits;
      }
      if ((to >> t & 1) == 0) continue;
      Mesh one = mesh_8x8();
      EXPECT_EQ(arrivals[t].value, send(one, from, t, kLine, 100)) << from << " to " << t;
    }
    EXPECT_EQ(carried, links * 4U);
    EXPECT_EQ(all.bytes(TrafficClass::memory), 64U);
  }
}

TEST(Mesh, AMulticastToARowAndAColumnSharesItsWay) {
  Mesh m({.width = 4, .height = 4});
  std::array<Cycle, 64> arrivals{};
  // From 0: east to 1, 2, 3 (three links), south from 3 to 7 and 11 (two), south from 0 to 4 (one).
  const TileSet to(SharerGroups(16), 1U << 2 | 1U << 7 | 1U << 11 | 1U << 4);
  EXPECT_EQ(m.multicast(TileId{0}, to, kRequest, Cycle{10}, arrivals), 6U);
  EXPECT_EQ(arrivals[2], Cycle{12});
  EXPECT_EQ(arrivals[7], Cycle{15});  // 3 straight, 2 for the turn
  EXPECT_EQ(arrivals[11], Cycle{16});
  EXPECT_EQ(arrivals[4], Cycle{11});
}

TEST(Mesh, AMulticastReachesMoreTilesThanASetHasBits) {
  const TileSet to(SharerGroups(256), 1ULL << 63 | 1ULL << 17 | 1, TileId{69});  // four tiles a bit
  EXPECT_EQ(to.count(), 11U);
  EXPECT_TRUE(to.has(TileId{68}) && to.has(TileId{255}) && !to.has(TileId{69}) && !to.has(TileId{4}));
  Mesh all({.width = 16, .height = 16});
  std::vector<Cycle> arrivals(256);
  all.multicast(TileId{40}, to, kLine, Cycle{100}, arrivals);
  std::uint32_t tiles = 0;
  to.for_each([&](TileId t) {
    Mesh one({.width = 16, .height = 16});
    EXPECT_EQ(arrivals[t.value].value, send(one, 40, t.value, kLine, 100)) << t.value;
    ++tiles;
  });
  EXPECT_EQ(tiles, to.count());
}

TEST(Mesh, AMessageWaitsForTheLinkAndNotOneCycleLonger) {
  Mesh m = mesh_8x8();
  EXPECT_EQ(send(m, 0, 1, kLine, 100), 104U);     // holds the link in 100..103
  EXPECT_EQ(send(m, 0, 1, kRequest, 103), 105U);  // one cycle early: waits for 104
  EXPECT_EQ(send(m, 0, 1, kLine, 200), 204U);
  EXPECT_EQ(send(m, 0, 1, kRequest, 204), 205U);  // on time
}

TEST(Mesh, MessagesOnDifferentLinksOfATileDoNotMeet) {
  Mesh m = mesh_8x8();
  EXPECT_EQ(send(m, 9, 10, kLine, 100), 104U);
  EXPECT_EQ(send(m, 9, 8, kLine, 100), 104U);
  EXPECT_EQ(send(m, 9, 1, kLine, 100), 104U);
  EXPECT_EQ(send(m, 9, 17, kLine, 100), 104U);
  EXPECT_EQ(send(m, 10, 9, kLine, 100), 104U);  // the other direction of a used link
}

TEST(Mesh, ADelayOnOneLinkIsFeltOnTheNext) {
  Mesh m = mesh_8x8();
  // From 1 to 2 the line holds link 1-east in 100..103. From 0 to 3 the head is at 1 in 100: it waits until
  // 104 there, leaves link 1-east at 105, link 2-east at 106; the tail follows three cycles behind.
  EXPECT_EQ(send(m, 1, 2, kLine, 100), 104U);
  EXPECT_EQ(send(m, 0, 3, kLine, 99), 109U);
}

TEST(Mesh, AnEarlyMessageSentLateTakesTheGapBefore) {
  Mesh m = mesh_8x8();
  EXPECT_EQ(send(m, 0, 1, kLine, 100), 104U);
  EXPECT_EQ(send(m, 0, 1, kLine, 96), 100U);  // 96..99 are free
  EXPECT_EQ(send(m, 0, 1, kLine, 93), 108U);  // 93..95 are three: behind both, 104..107
  EXPECT_EQ(send(m, 0, 1, kRequest, 93), 94U);
}

TEST(Mesh, WithoutContentionLinksAreNeverTaken) {
  Mesh m = mesh_8x8(false);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(send(m, 0, 9, kLine, 100), 106U);
  EXPECT_EQ(m.flits(TileId{0}, Direction::east), 20U);
}

TEST(Mesh, AccountsBytesByClassAndFlitsByLinkAndNothingWithinATile) {
  Mesh m = mesh_8x8();
  send(m, 0, 10, kLine, 100);
  send(m, 0, 1, {message::kAcknowledgement, TrafficClass::coherence}, 100);
  EXPECT_EQ(send(m, 5, 5, kLine, 100), 100U);
  EXPECT_EQ(m.bytes(TrafficClass::memory), 64U);
  EXPECT_EQ(m.bytes(TrafficClass::coherence), 2U);
  EXPECT_EQ(m.bytes(TrafficClass::task), 0U);
  EXPECT_EQ(m.flits(TileId{0}, Direction::east), 5U);
  EXPECT_EQ(m.flits(TileId{1}, Direction::east), 4U);
  EXPECT_EQ(m.flits(TileId{2}, Direction::south), 4U);  // X before Y
  EXPECT_EQ(m.flits(TileId{0}, Direction::south), 0U);
}

TEST(Mesh, EveryPairOfARectangleIsReachedInItsDistance) {
  Mesh m({.width = 5, .height = 3, .contention = false});
  for (std::uint32_t a = 0; a < 15; ++a)
    for (std::uint32_t b = 0; b < 15; ++b) {
      const int dx = std::abs(static_cast<int>(a % 5) - static_cast<int>(b % 5));
      const int dy = std::abs(static_cast<int>(a / 5) - static_cast<int>(b / 5));
      const auto expected = static_cast<std::uint64_t>(dx + dy + (dx != 0 && dy != 0 ? 1 : 0));
      EXPECT_EQ(send(m, a, b, kRequest, 50), 50 + expected);
      EXPECT_EQ(m.hops(TileId{a}, TileId{b}), static_cast<std::uint32_t>(dx + dy));
    }
}

TEST(Mesh, FourControllersAreAtTheMiddlesOfTheEdges) {
  const auto at = [](std::uint32_t w, std::uint32_t h, std::uint32_t k, std::uint32_t n) {
    return controller_tile(w, h, k, n).value;
  };
  EXPECT_EQ(at(8, 8, 0, 4), 3U);   // top row
  EXPECT_EQ(at(8, 8, 1, 4), 31U);  // right column, row 3
  EXPECT_EQ(at(8, 8, 2, 4), 60U);  // bottom row
  EXPECT_EQ(at(8, 8, 3, 4), 32U);  // left column, row 4
  EXPECT_EQ(at(1, 1, 2, 4), 0U);
  EXPECT_EQ(at(2, 1, 0, 2), 0U);
  EXPECT_EQ(at(2, 1, 1, 2), 1U);
  EXPECT_EQ(at(2, 2, 3, 4), 2U);
}

TEST(Mesh, ControllersSitOnTheBorderOfAnyRectangle) {
  for (std::uint32_t w = 1; w <= 6; ++w)
    for (std::uint32_t h = 1; h <= 6; ++h)
      for (std::uint32_t n = 1; n <= 9; ++n)
        for (std::uint32_t k = 0; k < n; ++k) {
          const std::uint32_t t = controller_tile(w, h, k, n).value;
          ASSERT_LT(t, w * h);
          ASSERT_TRUE(t % w == 0 || t % w == w - 1 || t / w == 0 || t / w == h - 1) << w << "x" << h;
        }
}

TEST(Mesh, RegistersOneStatisticALinkThatExists) {
  Mesh m({.width = 3, .height = 2});
  StatRegistry registry;
  m.register_stats(registry);
  const auto links = std::count_if(registry.stats().begin(), registry.stats().end(),
                                   [](const Stat& s) { return s.name.find(".link.") != std::string::npos; });
  EXPECT_EQ(links, 2 * (2 * 2 + 3));  // both directions of 4 horizontal and 3 vertical links
}

}  // namespace
}  // namespace rubato::chip
