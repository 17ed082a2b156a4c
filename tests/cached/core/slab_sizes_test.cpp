// SPDX-License-Identifier: MIT
#include "cached/core/slab_sizes.hpp"

#include <gtest/gtest.h>

namespace rubato::cached {
namespace {

// The sizes that `memcached -vv` of Debian 12 prints with default options.
TEST(SlabSizes, AreMemcachedsWithDefaultOptions) {
  const SlabSizes sizes(1.25, 96, 524288);
  const std::size_t first[] = {96, 120, 152, 192, 240, 304, 384, 480, 600, 752, 944, 1184};
  for (unsigned c = 1; c <= 12; ++c) EXPECT_EQ(sizes.size_of(c), first[c - 1]) << c;
  EXPECT_EQ(sizes.last(), 39u);
  EXPECT_EQ(sizes.size_of(39), 524288u);
}

TEST(SlabSizes, AnItemGetsTheSmallestClassThatHoldsIt) {
  const SlabSizes sizes(1.25, 96, 524288);
  EXPECT_EQ(sizes.class_for(1), 1u);
  EXPECT_EQ(sizes.class_for(96), 1u);
  EXPECT_EQ(sizes.class_for(97), 2u);
  EXPECT_EQ(sizes.class_for(120), 2u);
  EXPECT_EQ(sizes.class_for(121), 3u);
  EXPECT_EQ(sizes.class_for(524288), 39u);
  EXPECT_EQ(sizes.class_for(524289), 0u);
}

}  // namespace
}  // namespace rubato::cached
