// Blocks by address: those that live, those under new ones, and random ones beside a plain list.
// SPDX-License-Identifier: MIT
#include "chip/alloc/allocated_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace rubato::chip {
namespace {

constexpr std::uint64_t kSegment = AllocatedBlocks::kSegmentBytes;

TEST(AllocatedBlocks, FindABlockByEachOfItsBytesAndNoOther) {
  AllocatedBlocks blocks;
  blocks.add({0x1010, 24, 3});
  EXPECT_FALSE(blocks.at(0x100f));
  EXPECT_EQ(blocks.at(0x1010), (AllocatedBlock{0x1010, 24, 3}));
  EXPECT_EQ(blocks.at(0x1027), (AllocatedBlock{0x1010, 24, 3}));
  EXPECT_FALSE(blocks.at(0x1028));
}

TEST(AllocatedBlocks, TheSameMemoryOnceMoreIsTheNewBlock) {
  AllocatedBlocks blocks;
  blocks.add({0x1000, 64, 1});
  blocks.add({0x1000, 48, 2});
  EXPECT_EQ(blocks.at(0x1000)->site, 2U);
  EXPECT_FALSE(blocks.at(0x1030)) << "the rest of the old block is gone with it";
  EXPECT_EQ(blocks.size(), 1U);
}

TEST(AllocatedBlocks, ABlockEndsAllThatItLiesOver) {
  AllocatedBlocks blocks;
  for (Addr a = 0x1000; a < 0x1100; a += 32) blocks.add({a, 32, 1});
  blocks.add({0x1030, 64, 2});
  EXPECT_EQ(blocks.size(), 6U);
  EXPECT_EQ(blocks.at(0x1000)->site, 1U);
  EXPECT_FALSE(blocks.at(0x1020)) << "a part of it is the new block's";
  EXPECT_EQ(blocks.at(0x1030)->site, 2U);
  EXPECT_EQ(blocks.at(0x106f)->site, 2U);
  EXPECT_EQ(blocks.at(0x1080)->site, 1U);
}

TEST(AllocatedBlocks, SmallBlocksMayCrossASegment) {
  AllocatedBlocks blocks;
  blocks.add({kSegment - 16, kSegment, 1});
  EXPECT_EQ(blocks.at(2 * kSegment - 17)->site, 1U);
  EXPECT_FALSE(blocks.at(2 * kSegment - 16));
  blocks.add({kSegment, 16, 2});
  EXPECT_FALSE(blocks.at(kSegment - 16));
  EXPECT_EQ(blocks.at(kSegment)->site, 2U);
}

TEST(AllocatedBlocks, LargeBlocksEndSmallOnesAndTheOtherWayRound) {
  AllocatedBlocks blocks;
  blocks.add({8 * kSegment, 32, 1});
  blocks.add({kSegment, 20 * kSegment, 2});
  EXPECT_EQ(blocks.at(8 * kSegment)->site, 2U);
  EXPECT_EQ(blocks.size(), 1U);
  blocks.add({9 * kSegment, 32, 3});
  EXPECT_FALSE(blocks.at(8 * kSegment));
  EXPECT_EQ(blocks.at(9 * kSegment)->site, 3U);
}

TEST(AllocatedBlocks, ListThoseInARangeByAddress) {
  AllocatedBlocks blocks;
  blocks.add({0x1020, 16, 2});
  blocks.add({0x0ff0, 0x18, 1});
  blocks.add({0x1040, 16, 3});
  const std::vector<AllocatedBlock> found = blocks.in(0x1000, 0x1040);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].site, 1U);
  EXPECT_EQ(found[1].site, 2U);
}

TEST(AllocatedBlocks, AreThoseOfAPlainList) {
  std::mt19937_64 random(7);
  AllocatedBlocks blocks;
  std::vector<AllocatedBlock> plain;
  constexpr Addr kEnd = 8 * kSegment;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    const bool is_large = random() % 50 == 0;
    const std::uint64_t bytes = 1 + random() % (is_large ? 3 * kSegment : 200);
    const AllocatedBlock block{random() % kEnd, bytes, i};
    blocks.add(block);
    std::erase_if(plain,
                  [&](const AllocatedBlock& b) { return b.begin < block.end() && block.begin < b.end(); });
    plain.push_back(block);
    const Addr asked = random() % kEnd;
    const auto found = std::find_if(plain.begin(), plain.end(), [&](const AllocatedBlock& b) {
      return b.begin <= asked && asked < b.end();
    });
    ASSERT_EQ(blocks.at(asked), found != plain.end() ? std::optional(*found) : std::nullopt);
    ASSERT_EQ(blocks.size(), plain.size());
  }
  std::sort(plain.begin(), plain.end(),
            [](const AllocatedBlock& a, const AllocatedBlock& b) { return a.begin < b.begin; });
  EXPECT_EQ(blocks.in(0, kEnd + 4 * kSegment), plain);
}

}  // namespace
}  // namespace rubato::chip
