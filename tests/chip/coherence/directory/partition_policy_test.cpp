// Predictions of a home for other splits of its storage, and its moves (K59).
// SPDX-License-Identifier: MIT
#include "chip/coherence/directory/partition_policy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kBuckets = 256;

PartitionPolicy policy() { return PartitionPolicy({.ways = 8, .least = 1, .most = 7, .buckets = kBuckets}); }
/// So many requests need the entry at this depth.
PartitionEpoch needs(std::uint32_t depth, std::uint64_t requests) {
  PartitionEpoch epoch{.needed_at = std::vector<std::uint64_t>(9)};
  epoch.needed_at[depth] = requests;
  return epoch;
}
/// Misses of lines that are in no cache, while many others are.
PartitionEpoch reads(std::uint64_t memory_reads, std::uint64_t lines_out) {
  PartitionEpoch epoch = needs(1, 0);
  epoch.memory_reads = memory_reads;
  epoch.lines_out = lines_out;
  return epoch;
}
/// The ways in each of so many epochs.
std::vector<std::uint32_t> run(PartitionPolicy& policy, std::uint32_t ways, const PartitionEpoch& epoch,
                               int epochs) {
  std::vector<std::uint32_t> all;
  for (int i = 0; i < epochs; ++i) all.push_back(ways = policy.next(ways, epoch));
  return all;
}
using Ways = std::vector<std::uint32_t>;

TEST(PartitionPolicy, PredictsReconstructionsFromDepths) {
  PartitionEpoch epoch = needs(3, 100);
  epoch.needed_at[6] = 50;
  EXPECT_EQ(policy().reconstructions(1, epoch), 150);
  EXPECT_EQ(policy().reconstructions(2, epoch), 150);
  EXPECT_EQ(policy().reconstructions(3, epoch), 50);
  EXPECT_EQ(policy().reconstructions(6, epoch), 0);
}

// Held against the filter itself, from empty to overfull. A single sub-table overflows earlier: 0.4 % of the
// reads.
TEST(PartitionPolicy, PredictsFalsePositivesAsTheFilterMakesThem) {
  for (const std::uint32_t sub_tables : {1U, 2U, 4U, 7U})
    for (const std::uint64_t lines : {500U, 1000U, 3000U, 3900U, 4200U, 5120U, 8000U}) {
      DLeftFilter filter(sub_tables, kBuckets);
      Rng rng(lines);
      std::unordered_set<std::uint64_t> in;
      while (in.size() < lines)
        if (const std::uint64_t line = rng.below(1U << 30); in.insert(line).second)
          filter.insert(LineAddr{line});
      constexpr std::uint64_t kProbes = 100'000;
      double maybe = 0;
      for (std::uint64_t i = 0; i < kProbes; ++i)
        maybe += filter.may_hold(LineAddr{(std::uint64_t{1} << 40) + i}) ? 1 : 0;
      const double predicted = policy().false_positives(8 - sub_tables, reads(kProbes, lines));
      EXPECT_NEAR(predicted, maybe, 0.15 * maybe + 400) << sub_tables << " sub-tables, " << lines << " lines";
    }
}

TEST(PartitionPolicy, MovesInTheSecondEpochTwoWaysAtMostAndThenRestsForTwo) {
  PartitionPolicy p = policy();
  EXPECT_EQ(run(p, 1, needs(7, 1000), 9), (Ways{1, 3, 3, 3, 5, 5, 5, 7, 7}));
  EXPECT_EQ(run(p, 7, needs(7, 1000), 3), (Ways{7, 7, 7})) << "it is where it wants to be";
}

TEST(PartitionPolicy, GivesTheFilterMoreWhereMemoryIsReadAndFiltersAreFull) {
  PartitionPolicy p = policy();
  EXPECT_EQ(run(p, 7, reads(3000, 5120), 2), (Ways{7, 5}));
  // 5120 lines fill 2.7 of the sub-tables: with three of them one in 26 is a false positive, and more save
  // nothing.
  PartitionPolicy other = policy();
  EXPECT_EQ(run(other, 5, reads(3000, 5120), 4), (Ways{5, 5, 5, 5}));
}

TEST(PartitionPolicy, StaysWhereTheNextEpochWantsSomethingElse) {
  PartitionPolicy p = policy();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(p.next(4, needs(7, 1000)), 4U);
    EXPECT_EQ(p.next(4, reads(4000, 9000)), 4U);
  }
}

// On both sides of an eighth of a way's rows: 32.
TEST(PartitionPolicy, DoesNotMoveForLittle) {
  PartitionPolicy p = policy(), q = policy();
  EXPECT_EQ(run(p, 4, needs(5, 32), 3), (Ways{4, 4, 4}));
  EXPECT_EQ(run(q, 4, needs(5, 33), 3), (Ways{4, 5, 5}));
}

// On both sides of a tenth of what it costs now; what no split saves is a part of it.
TEST(PartitionPolicy, DoesNotMoveForATenth) {
  PartitionEpoch tenth = needs(8, 900), more = needs(8, 900);
  tenth.needed_at[5] = 100;
  more.needed_at[5] = 101;
  PartitionPolicy p = policy(), q = policy();
  EXPECT_EQ(run(p, 4, tenth, 3), (Ways{4, 4, 4}));
  EXPECT_EQ(run(q, 4, more, 3), (Ways{4, 5, 5}));
}

}  // namespace
}  // namespace rubato::chip
