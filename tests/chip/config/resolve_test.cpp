// Automatic values and checks across keys.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "chip/config/config.hpp"

namespace rubato::chip {
namespace {

Config with_cores(std::uint32_t cores) {
  Config config;
  config.chip.cores = cores;
  return resolve(config);
}
std::string error_of(const Config& config) {
  try {
    resolve(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Resolve, MakesThePublicationsMachineFromTheDefaults) {
  const Config c = resolve(Config{});
  EXPECT_EQ(c.tiles(), 64u);
  EXPECT_EQ(c.chip.cores_per_tile, 4u);
  EXPECT_EQ(c.chip.mesh_width, 8u);
  EXPECT_EQ(c.chip.mesh_height, 8u);
  EXPECT_EQ(c.l2.size, 256u << 10);
  EXPECT_EQ(c.llc.size, 1u << 20);
}

TEST(Resolve, MakesTheSerialBaselineFromOneCore) {
  const Config c = with_cores(1);
  EXPECT_EQ(c.tiles(), 1u);
  EXPECT_EQ(c.l2.size, 64u << 10);
  EXPECT_EQ(c.llc.size, 256u << 10);
}

TEST(Resolve, ShapesTilesAndMeshForAnyNumberOfCores) {
  struct Row {
    std::uint32_t cores, cores_per_tile, width, height;
  };
  for (const Row& row : {Row{2, 2, 1, 1}, Row{3, 1, 3, 1}, Row{4, 4, 1, 1}, Row{6, 2, 3, 1}, Row{8, 4, 2, 1},
                         Row{16, 4, 2, 2}, Row{32, 4, 4, 2}, Row{64, 4, 4, 4}, Row{128, 4, 8, 4},
                         Row{7, 1, 7, 1}, Row{1021, 1, 1021, 1}, Row{1024, 4, 16, 16}}) {
    const Config c = with_cores(row.cores);
    EXPECT_EQ(c.chip.cores_per_tile, row.cores_per_tile) << row.cores;
    EXPECT_EQ(c.chip.mesh_width, row.width) << row.cores;
    EXPECT_EQ(c.chip.mesh_height, row.height) << row.cores;
  }
}

TEST(Resolve, IsIdempotentAndAcceptsEveryNumberOfCores) {
  for (std::uint32_t cores = 1; cores <= 1024; ++cores) {
    const Config once = with_cores(cores);
    const Config twice = resolve(once);
    EXPECT_EQ(once.chip.mesh_width * once.chip.mesh_height * once.chip.cores_per_tile, cores);
    EXPECT_EQ(once.l2.size, twice.l2.size);
  }
}

TEST(Resolve, CompletesAMeshFromOneSide) {
  Config c;
  c.chip.mesh_width = 16;
  EXPECT_EQ(resolve(c).chip.mesh_height, 4u);
  c.chip.mesh_width = 0;
  c.chip.mesh_height = 2;
  EXPECT_EQ(resolve(c).chip.mesh_width, 32u);
}

TEST(Resolve, KeepsCachesAPowerOfTwoOfSetsOnTilesOfThreeCores) {
  Config c;
  c.chip.cores = 9;
  c.chip.cores_per_tile = 3;
  EXPECT_EQ(resolve(c).l2.size, 256u << 10);
}

TEST(Resolve, SaysWhichShapeDoesNotFit) {
  Config c;
  c.chip.cores_per_tile = 3;
  EXPECT_EQ(error_of(c), "chip.cores_per_tile is 3, which does not divide chip.cores = 256");
  c = {};
  c.chip.mesh_width = 7;
  EXPECT_EQ(error_of(c),
            "chip.mesh_width is 7, which does not divide the chip's 64 tiles (256 cores, 4 a tile)");
  c.chip.mesh_height = 9;
  EXPECT_EQ(error_of(c),
            "chip.mesh_width x chip.mesh_height is 7x9, but the chip has 64 tiles (256 cores, 4 a tile)");
  c.chip.mesh_width = 0;
  c.chip.mesh_height = 100;
  EXPECT_EQ(error_of(c),
            "chip.mesh_height is 100, which does not divide the chip's 64 tiles (256 cores, 4 a tile)");
  c = {};
  c.chip.cores = 0;
  EXPECT_EQ(error_of(c), "configuration: chip.cores is 0, expected 1 to 1024 cores");
  c.chip.cores = 8;
  c.chip.cores_per_tile = 9;
  EXPECT_EQ(error_of(c), "configuration: chip.cores_per_tile is 9, expected 1 to 8 cores, or auto");
}

TEST(Resolve, RefusesHopsThatTakeLongerStraightOn) {
  Config c;
  c.net.straight = c.net.turn = 3;
  EXPECT_EQ(resolve(c).net.straight, 3u);
  c.net.turn = 2;
  EXPECT_EQ(error_of(c),
            "net.straight is 3 cycles, more than net.turn = 2: a hop that turns takes at least as long");
}

TEST(Resolve, RefusesCachesWhoseSetsAreNoPowerOfTwo) {
  Config c;
  c.l2.size = 96 << 10;
  EXPECT_EQ(error_of(c),
            "l2.size is 98304 bytes, which with 8 ways of 64-byte lines is not a power of two of sets");
  c.l2.size = 128 << 10;
  EXPECT_EQ(error_of(c), "no error");
  c.l1d.size = 1000;
  EXPECT_EQ(error_of(c),
            "l1d.size is 1000 bytes, which with 8 ways of 64-byte lines is not a power of two of sets");
}

TEST(Resolve, RefusesOuterCachesOfFewerThanFourSets) {
  Config c;
  c.l2 = {.size = 16 << 10, .ways = 64, .latency = 7};
  EXPECT_EQ(error_of(c), "no error");
  c.llc = {.size = 16 << 10, .ways = 64, .latency = 9};
  EXPECT_EQ(error_of(c), "no error");
  c.l1i = c.l1d = {.size = 1 << 10, .ways = 8, .latency = 2};
  c.l2.size = 8 << 10;
  EXPECT_EQ(
      error_of(c),
      "l2.size is 8192 bytes, which with 64 ways is fewer than 4 sets: make it larger, or l2.ways less");
  c.l2 = {.size = 4 << 10, .ways = 8, .latency = 7};
  c.llc.size = 8 << 10;
  EXPECT_EQ(
      error_of(c),
      "llc.size is 8192 bytes, which with 64 ways is fewer than 4 sets: make it larger, or llc.ways less");
}

TEST(Resolve, RefusesBanksThatASliceCannotHave) {
  Config c;
  c.llc = {.size = 32 << 10, .ways = 64, .latency = 9};
  c.l1i = c.l1d = {.size = 1 << 10, .ways = 8, .latency = 2};
  c.l2.size = 4 << 10;
  c.llc.banks = 8;
  EXPECT_EQ(error_of(c), "no error");
  c.llc.banks = 16;
  EXPECT_EQ(error_of(c),
            "llc.banks is 16, but llc.size = 32768 and llc.ways = 64 make 8 sets: a bank has one or more");
  c.llc.banks = 3;
  EXPECT_EQ(error_of(c), "llc.banks is 3, but must be a power of two");
}

TEST(Resolve, RefusesCachesThatCannotIncludeTheInnerOnes) {
  Config c;
  c.l2.size = 8 << 10;
  EXPECT_EQ(error_of(c), "l2.size is 8192 bytes, less than l1i.size = 16384, but l2 includes what l1i holds");
  c.l2.size = 16 << 10;
  EXPECT_EQ(error_of(c), "no error");
  c.llc.size = 8 << 10;
  EXPECT_EQ(error_of(c), "llc.size is 8192 bytes, less than l2.size = 16384, but llc includes what l2 holds");
  c.coherence.protocol = "late";
  EXPECT_EQ(error_of(c), "llc.size is 8192 bytes, less than l2.size = 16384, but llc includes what l2 holds");
}

TEST(Resolve, AllowsSlicesSmallerThanAnL2WhereTheyIncludeNothing) {
  Config c;
  c.l2.size = 16 << 10;
  c.llc.size = 8 << 10;
  for (const char* const protocol : {"sparse", "mosaic", "flask", "tokenb"}) {
    c.coherence.protocol = protocol;
    EXPECT_EQ(error_of(c), "no error") << protocol;
  }
}

TEST(Resolve, RefusesTablesThatAreNoPowerOfTwo) {
  Config c;
  c.core.btb_entries = 3;
  EXPECT_EQ(error_of(c), "core.btb_entries is 3, but must be a power of two");
}

}  // namespace
}  // namespace rubato::chip
