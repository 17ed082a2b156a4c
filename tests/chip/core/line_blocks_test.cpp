// The blocks that name a contended line, whose memory is handed out again meanwhile. Core 0 and core 1 write
// the line at 0x200040 in turn; each transfer costs ten cycles.
// SPDX-License-Identifier: MIT
#include "chip/core/line_blocks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rubato::chip {
namespace {

constexpr Addr kMalloc = 0x10000, kHeap = 0x200000, kBlock = kHeap + 0x40;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

class TenCycles final : public MemorySystem {
 public:
  AccessResult access(CoreId, LineAddr, AccessKind, Cycle now) override {
    AccessResult result;
    result.done = true;
    result.cycle = now + 10;
    return result;
  }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}
};

struct LineBlocksTest : testing::Test {
  LineBlocksTest() {
    for (std::uint32_t core = 0; core < 2; ++core) contention.attach(CoreId{core}, counters[core]);
  }
  /// The function that calls from `caller` gets a block.
  void allocate(Addr block, std::uint64_t bytes, Addr caller = 0x12000) {
    HartState hart;
    hart.pc = kMalloc;
    hart.x[reg::a0] = bytes;
    hart.x[reg::ra] = caller;
    sites.on_served(hart, block);
  }
  void contend(int times, Addr address = kBlock) {
    for (int i = 0; i < times; ++i) {
      const CoreId core{static_cast<std::uint32_t>(i % 2)};
      ++counters[core.value].stores;
      contention.access(core, line_of(address), AccessKind::store, Cycle{0});
      contention.on_store(core, address, 8);
    }
  }
  std::vector<AllocatedBlock> named(std::uint64_t bytes = kAll) {
    return line_blocks.blocks_of(line_of(kBlock), bytes);
  }
  Addr caller_of(const AllocatedBlock& block) { return sites.site(block.site).calls.front() + 1; }

  Symbols symbols{std::vector<Symbols::Symbol>{{kMalloc, 4, {}, "malloc", true}}};
  AddressSpace memory;
  isa::BlockCache code{memory};
  AllocationSites sites{symbols, memory, code, {kHeap, kHeap + 0x10000}};
  TenCycles memory_system;
  Timeline timeline;
  LineContention contention{memory_system, timeline, 2};
  LineBlocks line_blocks{contention, sites};
  PipelineCounters counters[2];
};

TEST_F(LineBlocksTest, ALineIsNamedByTheBlocksOfItsBytes) {
  allocate(kBlock, 24);
  allocate(kBlock + 32, 24);
  contend(10);
  EXPECT_EQ(named().size(), 2U);
  EXPECT_EQ(named(0xff).size(), 1U);
  EXPECT_EQ(named(0xff).front().begin, kBlock);
  EXPECT_EQ(named(std::uint64_t{0xff} << 32).front().begin, kBlock + 32);
  EXPECT_TRUE(named(std::uint64_t{0xff} << 24).empty()) << "between the blocks";
}

TEST_F(LineBlocksTest, ALineWithoutABlockHasNoName) {
  contend(10);
  EXPECT_TRUE(named().empty());
}

TEST_F(LineBlocksTest, TheBlockThatCostMostNamesTheLine) {
  allocate(kBlock, 64, 0x12000);
  contend(20);
  allocate(kBlock, 48, 0x13000);
  contend(4);
  ASSERT_EQ(named().size(), 1U);
  EXPECT_EQ(named().front().bytes, 64U);
  EXPECT_EQ(caller_of(named().front()), 0x12000U);
  contend(40);
  EXPECT_EQ(named().front().bytes, 48U);
  EXPECT_EQ(caller_of(named().front()), 0x13000U);
}

TEST_F(LineBlocksTest, ABlockThatComesBackKeepsItsCost) {
  for (int i = 0; i < 3; ++i) {
    allocate(kBlock, 64, 0x12000);
    contend(20);
    allocate(kBlock, 48, 0x13000);
    contend(24);
    allocate(kBlock, 32, static_cast<Addr>(0x14000 + 0x100 * i));
    contend(30);
  }
  EXPECT_EQ(named().front().bytes, 48U) << "30 transfers at a time, but of other blocks each time";
}

TEST_F(LineBlocksTest, ABlockBesideTheLineChangesNothing) {
  allocate(kBlock, 64);
  contend(10);
  allocate(kBlock + 64, 64, 0x13000);
  allocate(kHeap, 64, 0x13000);
  EXPECT_EQ(caller_of(named().front()), 0x12000U);
}

}  // namespace
}  // namespace rubato::chip
