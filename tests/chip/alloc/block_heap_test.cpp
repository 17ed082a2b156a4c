// Size classes, alignment, and the block that each caller gets.
// SPDX-License-Identifier: MIT
#include "chip/alloc/block_heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

constexpr Addr kLowest = Addr{1} << 36, kLimit = Addr{1} << 37;

struct BlockHeapTest : ::testing::Test {
  AddressSpace memory;
  BlockHeap heap{memory, 4, kLowest, kLimit};
};

TEST_F(BlockHeapTest, RoundsToSixteensLinesAndPages) {
  EXPECT_EQ(BlockHeap::rounded(0), 16u);
  EXPECT_EQ(BlockHeap::rounded(16), 16u);
  EXPECT_EQ(BlockHeap::rounded(17), 32u);
  EXPECT_EQ(BlockHeap::rounded(33), 64u);
  EXPECT_EQ(BlockHeap::rounded(65), 128u);
  EXPECT_EQ(BlockHeap::rounded(512), 512u);
  EXPECT_EQ(BlockHeap::rounded(513), 640u);
  EXPECT_EQ(BlockHeap::rounded(1025), 1280u);
  EXPECT_EQ(BlockHeap::rounded(16384), 16384u);
  EXPECT_EQ(BlockHeap::rounded(16385), 20480u);
  EXPECT_EQ(BlockHeap::rounded(1000001), 1048576u);
  EXPECT_EQ(BlockHeap::rounded(1048577), 1179648u);
}

TEST_F(BlockHeapTest, BlocksAreMappedZeroAlignedAndDisjoint) {
  std::map<Addr, Addr> blocks;
  Rng rng(1);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t bytes = rng.below(i % 10 == 0 ? 100000 : 700);
    const std::uint64_t alignment = std::uint64_t{16} << (i % 16 == 0 ? rng.below(12) : 0);
    const auto block = heap.take(i % 4, bytes, alignment);
    ASSERT_NE(block.address, 0u);
    EXPECT_TRUE(block.is_fresh);
    EXPECT_EQ(block.address % alignment, 0u);
    if (bytes >= kLineBytes) {
      EXPECT_EQ(block.address % kLineBytes, 0u);
    }
    const Addr end = block.address + heap.size(block.address);
    EXPECT_GE(end - block.address, bytes);
    EXPECT_TRUE(memory.allows_range(block.address, end - block.address, Page::kRead | Page::kWrite));
    const auto next = blocks.lower_bound(block.address);
    if (next != blocks.end()) {
      EXPECT_GE(next->first, end);
    }
    if (next != blocks.begin()) {
      EXPECT_LE(std::prev(next)->second, block.address);
    }
    blocks[block.address] = end;
  }
}

TEST_F(BlockHeapTest, ABlockReturnsToItsOwnPoolAndTheLastOneComesFirst) {
  const Addr a = heap.take(0, 100).address, b = heap.take(0, 100).address;
  heap.give_back(a);
  heap.give_back(b);
  EXPECT_NE(heap.take(1, 100).address, b) << "another core's";
  EXPECT_EQ(heap.take(0, 100).address, b);
  const auto again = heap.take(0, 100);
  EXPECT_EQ(again.address, a);
  EXPECT_FALSE(again.is_fresh);
}

TEST_F(BlockHeapTest, CoresDoNotShareLines) {
  std::map<std::uint64_t, std::uint32_t> owner;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t pool = i % 4;
    const Addr a = heap.take(pool, 8).address;
    EXPECT_EQ(owner.try_emplace(line_of(a).value, pool).first->second, pool);
  }
}

TEST_F(BlockHeapTest, LargeBlocksAreReusedInTheirSize) {
  const Addr a = heap.take(2, 200000).address;
  heap.give_back(a);
  EXPECT_NE(heap.take(2, 400000).address, a);
  EXPECT_EQ(heap.take(2, 199000).address, a);
}

TEST_F(BlockHeapTest, KnowsItsBlocks) {
  const Addr small = heap.take(0, 48).address, large = heap.take(0, 50000).address;
  EXPECT_EQ(heap.state(small), BlockHeap::State::in_use);
  EXPECT_EQ(heap.state(large), BlockHeap::State::in_use);
  EXPECT_EQ(heap.state(small + 16), BlockHeap::State::none) << "inside a block";
  EXPECT_EQ(heap.state(small + 64), BlockHeap::State::none) << "never handed out";
  EXPECT_EQ(heap.state(large + 4096), BlockHeap::State::none);
  EXPECT_EQ(heap.state(0), BlockHeap::State::none);
  EXPECT_EQ(heap.state(~Addr{0}), BlockHeap::State::none);
  heap.give_back(small);
  EXPECT_EQ(heap.state(small), BlockHeap::State::free);
  heap.retire(large);
  EXPECT_EQ(heap.state(large), BlockHeap::State::free);
  EXPECT_NE(heap.take(0, 50000).address, large) << "retired: not yet";
  heap.give_back(large);
  EXPECT_EQ(heap.take(0, 50000).address, large);
}

TEST_F(BlockHeapTest, SaysWhenTheAddressSpaceIsFull) {
  EXPECT_EQ(heap.take(0, kLimit).address, 0u);
  EXPECT_EQ(heap.take(0, ~std::uint64_t{0}).address, 0u);
  EXPECT_NE(heap.take(0, (kLimit - kLowest) / 2).address, 0u);
  EXPECT_EQ(heap.take(0, kLimit - kLowest).address, 0u);
  EXPECT_EQ(heap.take(0, 64, kLimit * 2).address, 0u);
  EXPECT_NE(heap.take(0, 64).address, 0u);
}

}  // namespace
}  // namespace rubato::chip
