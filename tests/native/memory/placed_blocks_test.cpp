// Memory of resources on NUMA nodes: on this machine's own, whatever it has.
// SPDX-License-Identifier: MIT
#include "native/memory/placed_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "native/topology/numa.hpp"
#include "rubato/numa.hpp"
#include "rubato/rubato.hpp"

namespace rubato {
namespace {

using native::PlacedBlocks;

class PlacedBlocksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (numa_nodes().empty()) GTEST_SKIP() << "without hwloc";
    node_ = numa_nodes().front();
    void* const block = blocks_.allocate(64, 64, node_);
    if (block == nullptr) GTEST_SKIP() << "the system does not place memory";
    blocks_.free(block, 64);
  }
  unsigned node_ = 0;
  PlacedBlocks blocks_;
};

TEST_F(PlacedBlocksTest, DoNotOverlapAndAreUsedAgain) {
  std::set<unsigned char*> first, second;
  for (std::set<unsigned char*>* const made : {&first, &second}) {
    for (int i = 0; i < 3000; ++i) {
      auto* const block = static_cast<unsigned char*>(blocks_.allocate(700, 64, node_));
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
      std::memset(block, i % 256, 700);
      ASSERT_TRUE(made->insert(block).second) << "handed out twice";
    }
    for (unsigned char* const block : *made) {
      EXPECT_EQ(std::count(block, block + 700, *block), 700) << "overlaps another one";
    }
    EXPECT_EQ(blocks_.bytes_on(node_), 3000u * 700);
    for (unsigned char* const block : *made) EXPECT_TRUE(blocks_.free(block, 700));
    EXPECT_EQ(blocks_.bytes_on(node_), 0u);
  }
  EXPECT_EQ(first, second);
}

#if !defined(__SANITIZE_THREAD__)
TEST_F(PlacedBlocksTest, LieInTheAddressesOfTheirNode) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5} << 20}) {
    for (int i = 0; i<3000; i += bytes> 4096 ? 1000 : 1) {
      const auto address = reinterpret_cast<std::uintptr_t>(blocks_.allocate(bytes, 64, node_));
      EXPECT_EQ(native::node_of_address(address), node_);
      EXPECT_EQ(native::node_of_address(address + bytes - 1), node_);
    }
  }
}
#endif

TEST_F(PlacedBlocksTest, OfMoreThanAPageOrItsAlignmentHavePagesOfTheirOwn) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{4097}, std::size_t{5} << 20}) {
    auto* const block = static_cast<unsigned char*>(blocks_.allocate(bytes, 4096, node_));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0u);
    std::memset(block, 1, bytes);
    EXPECT_TRUE(blocks_.free(block, bytes));
    EXPECT_FALSE(blocks_.free(block, bytes)) << "its pages went back to the system";
  }
  EXPECT_EQ(blocks_.allocate(100, 8192, node_), nullptr);
}

TEST_F(PlacedBlocksTest, AreToldFromOthers) {
  int other = 0;
  void* const block = blocks_.allocate(64, 64, node_);
  EXPECT_FALSE(blocks_.free(&other, sizeof other));
  EXPECT_TRUE(blocks_.free(block, 64));
  EXPECT_EQ(blocks_.allocate(64, 64, 0x7fffffff), nullptr) << "there is no such node";
}

struct Object {
  explicit Object(int value) { std::memset(bytes, value, sizeof bytes); }
  unsigned char bytes[3000];
};

TEST_F(PlacedBlocksTest, HoldResourcesThatAnyThreadFrees) {
  const std::uint64_t before = numa_bytes(node_);
  std::vector<resource<Object>> objects;
  std::jthread([&] {
    for (int i = 0; i < 300; ++i) objects.push_back(make_resource_on<Object>(node_, {}, i % 256));
  }).join();
  EXPECT_GE(numa_bytes(node_), before + 300 * sizeof(Object));
  const resource<Object> elsewhere = make_resource<Object>({}, 1);
  EXPECT_LT(numa_bytes(node_), before + 301 * (sizeof(Object) + 64)) << "the scope has ended";
  for (int i = 0; i < 300; ++i) {
    const auto& bytes = objects[static_cast<std::size_t>(i)]->bytes;
    EXPECT_EQ(std::count(bytes, bytes + 3000, i % 256), 3000);
  }
  for (const auto& object : objects) remove(object);
  remove(elsewhere);
  EXPECT_EQ(numa_bytes(node_), before);
}

TEST(Resource, OnANodeThatThereIsNotLiesAnywhere) {
  const resource<Object> object = make_resource_on<Object>(0x7fffffff, {}, 7);
  EXPECT_EQ(object->bytes[2999], 7);
  remove(object);
}

}  // namespace
}  // namespace rubato
