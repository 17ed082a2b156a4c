// The profile of a filter: which "maybe" is in vain, and why.
// SPDX-License-Identifier: MIT
#include "chip/coherence/filter/filter_profile.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "chip/coherence/filter/banked_filter.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kLine{7};

/// A filter with its profile, told the same.
struct Profiled {
  explicit Profiled(LineFilter& of) : filter(of), profile(of) { profile.register_stats(registry, 0); }
  void insert(LineAddr line) {
    filter.insert(line);
    profile.insert(line);
  }
  void erase(LineAddr line) {
    filter.erase(line);
    profile.erase(line);
  }
  /// Asks as a home does.
  bool may_hold(LineAddr line) {
    const bool maybe = filter.may_hold(line);
    if (maybe) profile.on_maybe(line);
    return maybe;
  }
  std::uint64_t alike() const { return *registry.find("tile.0.filter.vain_alike")->counter; }
  std::uint64_t regular() const { return *registry.find("tile.0.filter.vain_regular")->counter; }
  std::uint64_t shared() const { return *registry.find("tile.0.filter.vain_shared")->counter; }

  LineFilter& filter;
  FilterProfile profile;
  StatRegistry registry;
};

LineAddr line_like(const DLeftFilter& filter, LineAddr line) {
  LineAddr other = line;
  do ++other.value;
  while (filter.hash(other) != filter.hash(line));
  return other;
}

TEST(FilterProfile, AMaybeOfACountedLineIsRight) {
  DLeftFilter filter(4, 4);
  Profiled p(filter);
  p.insert(kLine);
  EXPECT_TRUE(p.may_hold(kLine));
  EXPECT_EQ(p.alike() + p.shared(), 0U);
}

TEST(FilterProfile, AMaybeIsInVainAsLongAsALineOfTheSameHashIsCounted) {
  DLeftFilter filter(4, 4);
  Profiled p(filter);
  const LineAddr twin = line_like(filter, kLine), third = line_like(filter, twin);
  p.insert(twin);
  p.insert(third);
  EXPECT_TRUE(p.may_hold(kLine));
  p.erase(twin);
  EXPECT_TRUE(p.may_hold(kLine)) << "the third line is counted";
  EXPECT_EQ(p.alike(), 2U);
  p.erase(third);
  EXPECT_FALSE(p.may_hold(kLine));
  EXPECT_EQ(p.alike(), 2U);
  EXPECT_EQ(p.shared(), 0U);
}

TEST(FilterProfile, TwoRegionsCollideLineByLineForTheHashIsLinear) {
  DLeftFilter filter(4, 16);
  Profiled p(filter);
  const std::uint64_t region = 1 << 20, difference = line_like(filter, LineAddr{0}).value;
  for (std::uint64_t l = 0; l < 64; ++l) p.insert(LineAddr{region ^ l});
  for (std::uint64_t l = 0; l < 64; ++l) EXPECT_TRUE(p.may_hold(LineAddr{region ^ l ^ difference})) << l;
  EXPECT_EQ(p.alike(), 64U);
  EXPECT_EQ(p.regular(), 64U);
}

TEST(FilterProfile, CountersOfOverflowAreSharedByLinesOfOtherHashes) {
  DLeftFilter filter(1, 1);
  Profiled p(filter);
  for (std::uint64_t l = 0; filter.overflow() < 64; ++l) p.insert(LineAddr{l});
  std::uint64_t maybe = 0;
  for (std::uint64_t l = 1 << 20; l < (1 << 20) + 512; ++l) maybe += p.may_hold(LineAddr{l}) ? 1 : 0;
  EXPECT_EQ(p.alike() + p.shared(), maybe);
  EXPECT_GT(p.alike(), 0U);
  EXPECT_GT(p.shared(), p.alike())
      << "72 lines have counters of overflow in nearly all of ten ranges of 512 hashes";
}

TEST(FilterProfile, LinesOfDifferentBanksAreNotAlike) {
  const DLeftFilter bank(4, 4);
  const LineAddr twin = line_like(bank, kLine);
  std::vector<std::unique_ptr<LineFilter>> banks;
  for (int i = 0; i < 2; ++i) banks.push_back(std::make_unique<DLeftFilter>(4, 4));
  BankedFilter filter(std::move(banks));
  EXPECT_EQ(filter.key(kLine) == filter.key(twin), kLine.value % 2 == twin.value % 2);
  EXPECT_NE(filter.key(LineAddr{2}), filter.key(LineAddr{3}));
}

}  // namespace
}  // namespace rubato::chip
