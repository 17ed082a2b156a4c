// Guest memory: rights on both sides of a page boundary, zeroed pages, free ranges.
// SPDX-License-Identifier: MIT
#include "chip/memory/address_space.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

constexpr std::uint64_t kPage = AddressSpace::kPageBytes;
constexpr std::uint8_t kRw = Page::kRead | Page::kWrite;

TEST(AddressSpace, NothingIsMappedAtFirst) {
  AddressSpace memory;
  EXPECT_EQ(memory.attributes(0), 0);
  EXPECT_EQ(memory.attributes(AddressSpace::kSize - 1), 0);
  EXPECT_EQ(memory.attributes(AddressSpace::kSize), 0);
  EXPECT_EQ(memory.attributes(~Addr{0}), 0);
  EXPECT_EQ(memory.mapped_bytes(), 0u);
}

TEST(AddressSpace, RightsEndExactlyAtThePageBoundary) {
  AddressSpace memory;
  memory.map(0x10000, kPage, kRw);
  EXPECT_TRUE(memory.allows(0x10ff8, 8, kRw));
  EXPECT_FALSE(memory.allows(0x10ff9, 8, kRw));
  EXPECT_FALSE(memory.allows(0xfff9, 8, kRw));
  EXPECT_FALSE(memory.allows(0x10000, 1, Page::kExecute));
  EXPECT_TRUE(memory.allows_range(0x10000, kPage, kRw));
  EXPECT_FALSE(memory.allows_range(0x10000, kPage + 1, kRw));
  EXPECT_FALSE(memory.allows_range(0x10000, ~std::uint64_t{0}, kRw));
  EXPECT_FALSE(memory.allows(~Addr{0}, 8, kRw));  // wraps around
}

TEST(AddressSpace, LastPageOfTheSpaceIsUsable) {
  AddressSpace memory;
  memory.map(AddressSpace::kSize - kPage, kPage, kRw);
  memory.store<std::uint64_t>(AddressSpace::kSize - 8, 42);
  EXPECT_EQ(memory.load<std::uint64_t>(AddressSpace::kSize - 8), 42u);
  EXPECT_FALSE(memory.allows(AddressSpace::kSize - 7, 8, kRw));
}

TEST(AddressSpace, PagesReadZeroWhenMappedAgain) {
  AddressSpace memory;
  memory.map(0x10000, 2 * kPage, kRw);
  memory.store<std::uint32_t>(0x10000, 7);
  memory.store<std::uint32_t>(0x11000, 8);
  memory.unmap(0x10000, kPage);
  EXPECT_EQ(memory.mapped_bytes(), kPage);
  memory.map(0x10000, kPage, kRw);
  EXPECT_EQ(memory.load<std::uint32_t>(0x10000), 0u);
  EXPECT_EQ(memory.load<std::uint32_t>(0x11000), 8u);
  memory.map(0x11000, kPage, kRw);  // over a mapped page, as MAP_FIXED does
  EXPECT_EQ(memory.load<std::uint32_t>(0x11000), 0u);
  EXPECT_EQ(memory.mapped_bytes(), 2 * kPage);
  EXPECT_EQ(memory.peak_mapped_bytes(), 2 * kPage);
}

TEST(AddressSpace, CountsWhatMayBeWritten) {
  AddressSpace memory;
  memory.map(0x10000, 4 * kPage, kRw);
  memory.map(0x20000, 2 * kPage, Page::kRead);
  memory.map(0x30000, 8 * kPage, 0);
  EXPECT_EQ(memory.writable_bytes(), 4 * kPage);
  memory.protect(0x11000, kPage, Page::kRead);
  memory.protect(0x30000, 2 * kPage, kRw);
  EXPECT_EQ(memory.writable_bytes(), 5 * kPage);
  EXPECT_EQ(memory.writable_bytes(0x10000, 2 * kPage), kPage);
  memory.map(0x10000, 2 * kPage, kRw);  // over one page of each kind
  EXPECT_EQ(memory.writable_bytes(), 6 * kPage);
  memory.unmap(0x11000, 0x30000);  // what lies between is not mapped
  EXPECT_EQ(memory.writable_bytes(), kPage);
}

TEST(AddressSpace, ProtectKeepsContents) {
  AddressSpace memory;
  memory.map(0x10000, kPage, kRw);
  memory.store<std::uint32_t>(0x10010, 7);
  const auto generation = memory.generation();
  memory.protect(0x10000, kPage, 0);
  EXPECT_GT(memory.generation(), generation);
  EXPECT_EQ(memory.attributes(0x10000), Page::kMapped);
  EXPECT_FALSE(memory.allows(0x10010, 4, Page::kRead));
  memory.protect(0x10000, kPage, kRw);
  EXPECT_EQ(memory.load<std::uint32_t>(0x10010), 7u);
}

TEST(AddressSpace, FindsTheLowestFreeRangeThatFits) {
  AddressSpace memory;
  EXPECT_EQ(memory.find_free(kPage, 0x10000), 0x10000u);
  memory.map(0x10000, kPage, kRw);
  memory.map(0x12000, kPage, kRw);
  EXPECT_EQ(memory.find_free(kPage, 0x10000), 0x11000u);
  EXPECT_EQ(memory.find_free(2 * kPage, 0x10000), 0x13000u);
  EXPECT_EQ(memory.find_free(kPage, 0x12000), 0x13000u);
  EXPECT_EQ(memory.find_free(kPage, 0x10000, 0x11000), 0u);
  EXPECT_EQ(memory.find_free(kPage, 0x10000, 0x12000), 0x11000u);
  EXPECT_EQ(memory.find_free(AddressSpace::kSize, 0x10000), 0u);
  memory.map(0x11000, kPage, kRw);
  EXPECT_EQ(memory.find_free(kPage, 0x10800), 0x13000u);
}

TEST(AddressSpace, ASmallerOneEndsWhereItsSizeSays) {
  constexpr std::uint64_t kSmall = std::uint64_t{1} << AddressSpace::kLeastBits;
  AddressSpace memory(kSmall);
  EXPECT_EQ(memory.size(), kSmall);
  EXPECT_EQ(memory.find_free(kPage, kSmall - kPage), kSmall - kPage);
  memory.map(kSmall - kPage, kPage, kRw);
  memory.store<std::uint64_t>(kSmall - 8, 42);
  EXPECT_EQ(memory.load<std::uint64_t>(kSmall - 8), 42u);
  EXPECT_EQ(memory.attributes(kSmall), 0);
  EXPECT_FALSE(memory.allows(kSmall - 7, 8, kRw));
  EXPECT_FALSE(memory.allows_range(kSmall - kPage, 2 * kPage, kRw));
  EXPECT_EQ(memory.find_free(kPage, kSmall - kPage), 0u);
}

TEST(AddressSpace, MappedRangesMergeAndSplit) {
  AddressSpace memory;
  memory.map(0x10000, kPage, kRw);
  memory.map(0x12000, kPage, kRw);
  EXPECT_FALSE(memory.all_mapped(0x10000, 3 * kPage));
  memory.map(0x11000, kPage, kRw);
  EXPECT_TRUE(memory.all_mapped(0x10000, 3 * kPage));
  EXPECT_FALSE(memory.all_mapped(0x10000, 3 * kPage + 1));
  memory.unmap(0x11000, kPage);
  EXPECT_TRUE(memory.all_mapped(0x10000, kPage));
  EXPECT_FALSE(memory.all_mapped(0x11000, kPage));
  EXPECT_TRUE(memory.none_mapped(0x11000, kPage));
  EXPECT_FALSE(memory.none_mapped(0x11000, kPage + 1));
  EXPECT_TRUE(memory.all_mapped(0x12000, kPage));
}

}  // namespace
}  // namespace rubato::chip
