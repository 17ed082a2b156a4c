// Shadow tags say of each number of ways what a directory of so many would hold (K59).
// SPDX-License-Identifier: MIT
#include "chip/coherence/directory/shadow_tags.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kWays = 8;

/// A set of a directory of some ways: places, each with a line or none, and when it was last used.
class Set {
 public:
  explicit Set(std::uint32_t ways) : places_(ways) {}
  bool has(std::uint64_t line) const {
    return std::ranges::find(places_, line, &Place::line) != places_.end();
  }
  void use(std::uint64_t line, std::uint64_t now) {
    auto at = std::ranges::find(places_, line, &Place::line);
    if (at == places_.end()) at = std::ranges::min_element(places_, {}, &Place::used);
    *at = {line, now};
  }
  void erase(std::uint64_t line) {
    const auto at = std::ranges::find(places_, line, &Place::line);
    if (at != places_.end()) *at = {};
  }

 private:
  struct Place {
    std::uint64_t line = 0, used = 0;  // 0: none
  };
  std::vector<Place> places_;
};

TEST(ShadowTags, HaveEachLineAtTheDepthFromWhichDirectoriesHaveItWithHolesToo) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    ShadowTags shadow(4, kWays);  // all of four sets
    std::vector<std::vector<Set>> sets(4);
    for (auto& of_ways : sets)
      for (std::uint32_t ways = 1; ways <= kWays; ++ways) of_ways.emplace_back(ways);
    unsigned hits = 0, misses = 0;
    for (std::uint64_t now = 1; now < 5000; ++now) {
      const std::uint64_t line = 4 + rng.below(64);
      auto& of_ways = sets[line % 4];
      if (rng.below(4) == 0) {
        shadow.erase(LineAddr{line});
        for (Set& set : of_ways) set.erase(line);
        continue;
      }
      const std::uint32_t depth = shadow.use(LineAddr{line});
      for (std::uint32_t ways = 1; ways <= kWays; ++ways)
        ASSERT_EQ(of_ways[ways - 1].has(line), depth != 0 && depth <= ways)
            << "seed " << seed << ", access " << now << ", " << ways << " ways, depth " << depth;
      ++(depth != 0 ? hits : misses);
      if (depth == 0) shadow.enter(LineAddr{line});
      for (Set& set : of_ways) set.use(line, now);
    }
    EXPECT_GT(hits, 500U);
    EXPECT_GT(misses, 500U);
  }
}

TEST(ShadowTags, AreOfOneSetInSixteenAndOfFourAtLeast) {
  for (const auto& [sets, sampled] : {std::pair{4U, 4U}, {32U, 4U}, {64U, 4U}, {128U, 8U}, {1024U, 64U}}) {
    const ShadowTags shadow(sets, kWays);
    unsigned count = 0;
    for (std::uint64_t set = 0; set < sets; ++set) count += shadow.is_sampled(LineAddr{set}) ? 1 : 0;
    EXPECT_EQ(count, sampled) << sets << " sets";
    EXPECT_EQ(shadow.scale(), sets / sampled);
  }
}

// Lines at a distance of 16 sets are in one sampled set of the 16 that they are in, as any others.
TEST(ShadowTags, SampleRegularPatternsAsOthers) {
  const ShadowTags shadow(256, kWays);
  for (std::uint64_t first = 0; first < 16; ++first) {
    unsigned count = 0;
    for (std::uint64_t set = first; set < 256; set += 16) count += shadow.is_sampled(LineAddr{set}) ? 1 : 0;
    EXPECT_EQ(count, 1U) << first;
  }
}

TEST(ShadowTags, KnowNothingOfOtherSets) {
  ShadowTags shadow(256, kWays);
  std::uint64_t beside = 0;
  while (shadow.is_sampled(LineAddr{beside})) ++beside;
  shadow.enter(LineAddr{beside});
  EXPECT_EQ(shadow.use(LineAddr{beside}), 0U);
}

}  // namespace
}  // namespace rubato::chip
