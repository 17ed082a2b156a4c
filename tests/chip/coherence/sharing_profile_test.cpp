// SPDX-License-Identifier: MIT
#include "chip/coherence/sharing_profile.hpp"

#include <gtest/gtest.h>

#include <string>

#include "chip/stats/registry.hpp"

namespace rubato::chip {
namespace {

class SharingProfileTest : public testing::Test {
 protected:
  SharingProfileTest() { profile_.register_stats(registry_); }
  std::uint64_t count(const char* name) const {
    return *registry_.find(std::string("chip.sharing.") + name)->counter;
  }
  static constexpr LineAddr kLine{7};
  static constexpr TileId kA{0}, kB{1};
  SharingProfile profile_;
  StatRegistry registry_;
};

TEST_F(SharingProfileTest, LinesOfOneTileAreNotShared) {
  profile_.on_miss(kA, kLine, true, true);
  profile_.on_loss(kA, kLine, true);
  profile_.on_miss(kA, kLine, true, true);
  EXPECT_EQ(count("misses"), 2U);
  EXPECT_EQ(count("lines_out"), 2U);
  EXPECT_EQ(count("shared_misses"), 0U);
  EXPECT_EQ(count("active"), 0U);
  EXPECT_EQ(count("migrations"), 0U);
}

TEST_F(SharingProfileTest, ALineThatAnotherTakesIsActiveOnce) {
  profile_.on_miss(kA, kLine, true, true);
  profile_.on_loss(kA, kLine, false);  // it goes to B
  profile_.on_miss(kB, kLine, true, true);
  profile_.on_loss(kB, kLine, false);
  profile_.on_miss(kA, kLine, true, true);
  EXPECT_EQ(count("lines_out"), 1U);
  EXPECT_EQ(count("active"), 1U);
  EXPECT_EQ(count("shared_misses"), 2U);
  EXPECT_EQ(count("migrations"), 2U);
}

TEST_F(SharingProfileTest, WhatAnotherWroteLastIsSharedThoughItWasAtHome) {
  profile_.on_miss(kA, kLine, true, true);
  profile_.on_loss(kA, kLine, true);
  profile_.on_miss(kB, kLine, false, true);
  EXPECT_EQ(count("shared_misses"), 1U);
  EXPECT_EQ(count("active"), 0U);
  EXPECT_EQ(count("lines_out"), 2U);
  EXPECT_EQ(count("migrations"), 0U);
}

TEST_F(SharingProfileTest, WarmingIsRememberedButNotCounted) {
  profile_.on_miss(kA, kLine, false, false);
  EXPECT_EQ(count("misses"), 0U);
  profile_.on_miss(kB, kLine, false, true);
  EXPECT_EQ(count("misses"), 1U);
  EXPECT_EQ(count("shared_misses"), 1U);
  EXPECT_EQ(count("active"), 1U);
  EXPECT_EQ(count("lines_out"), 1U) << "active lines are a share of these";
}

TEST_F(SharingProfileTest, LinesThatWarmingMadeActiveAreCountedOnceWithThoseThatAreOut) {
  profile_.on_miss(kA, kLine, false, false);
  profile_.on_miss(kB, kLine, false, false);
  EXPECT_EQ(count("active"), 0U);
  profile_.on_loss(kA, kLine, false);
  for (const TileId tile : {kA, kB, kA}) profile_.on_miss(tile, kLine, false, true);
  EXPECT_EQ(count("active"), 1U);
  EXPECT_EQ(count("lines_out"), 1U);

  profile_.on_loss(kA, kLine, true);
  profile_.on_loss(kB, kLine, true);  // at home again
  profile_.on_miss(kA, kLine, false, true);
  EXPECT_EQ(count("active"), 1U);
  EXPECT_EQ(count("lines_out"), 2U);
}

}  // namespace
}  // namespace rubato::chip
