// SPDX-License-Identifier: MIT
#include "cached/core/slabs.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace rubato::cached {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

TEST(Slabs, GivesEachChunkOnceAndStopsAtTheLimit) {
  Slabs slabs(SlabSizes(1.25, 96, kPageSize / 2), 2 * kMegabyte, false);
  std::set<Item*> chunks;
  while (Item* chunk = slabs.allocate(1)) EXPECT_TRUE(chunks.insert(chunk).second);
  EXPECT_EQ(chunks.size(), 2 * (kMegabyte / 96));
  slabs.free(*chunks.begin());
  EXPECT_EQ(slabs.allocate(1), *chunks.begin());
  EXPECT_EQ(slabs.allocate(1), nullptr);
}

TEST(Slabs, AClassGetsItsFirstPageEvenAtTheLimit) {
  Slabs slabs(SlabSizes(1.25, 96, kPageSize / 2), kMegabyte, false);
  ASSERT_NE(slabs.allocate(1), nullptr);
  EXPECT_NE(slabs.allocate(2), nullptr);
  EXPECT_EQ(slabs.allocated(), 2 * kMegabyte);
}

TEST(Slabs, ToKeepToTheLimitAClassGetsNoFirstPageUnlessAskedTo) {
  Slabs slabs(SlabSizes(1.25, 96, kPageSize / 2), kMegabyte, false, /*keep_to_limit=*/true);
  ASSERT_NE(slabs.allocate(1), nullptr);
  EXPECT_EQ(slabs.allocate(2), nullptr);
  EXPECT_NE(slabs.allocate_beyond(2), nullptr);
  EXPECT_EQ(slabs.allocated(), 2 * kMegabyte);
}

TEST(Slabs, AMovingPageGivesNothingOutAndBelongsToItsNewClassAfterwards) {
  Slabs slabs(SlabSizes(1.25, 96, kPageSize / 2), 2 * kMegabyte, false);
  std::vector<Item*> chunks;
  while (Item* chunk = slabs.allocate(1)) chunks.push_back(chunk);
  const std::size_t page = slabs.page_of(chunks[0]);
  ASSERT_EQ(slabs.begin_move(page), kMegabyte / 96);
  for (Item* chunk : chunks)
    if (slabs.page_of(chunk) == page) slabs.free(chunk);
  EXPECT_EQ(slabs.allocate(1), nullptr);
  slabs.end_move(5);
  EXPECT_EQ(slabs.class_of_page(page), 5u);
  EXPECT_EQ(slabs.page_of(slabs.allocate(5)), page);
  EXPECT_EQ(slabs.slab_class(1).pages, 1u);
}

TEST(Slabs, AnAbandonedMoveLeavesAllFreeChunksUsable) {
  Slabs slabs(SlabSizes(1.25, 96, kPageSize / 2), kMegabyte, false);
  Item* used = slabs.allocate(1);
  slabs.free(slabs.allocate(1));
  const std::uint32_t fresh = slabs.begin_move(slabs.page_of(used));
  slabs.withdraw(used + 2);
  slabs.abandon_move(fresh);
  std::size_t count = 0;
  while (slabs.allocate(1)) ++count;
  EXPECT_EQ(count, kMegabyte / 96 - 1);
}

}  // namespace
}  // namespace rubato::cached
