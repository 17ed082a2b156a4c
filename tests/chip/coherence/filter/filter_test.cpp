// The filters of lines in private caches: never a false "no", exact where the rules say so, and as many false
// "maybe" as their formulas.
// SPDX-License-Identifier: MIT
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/filter/banked_filter.hpp"
#include "chip/coherence/filter/counting_filter.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"
#include "chip/coherence/filter/exact_filter.hpp"
#include "chip/coherence/filter/line_filter.hpp"
#include "chip/vocabulary/types.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kAbsent = std::uint64_t{1} << 40;  // lines from here on are never inserted
constexpr int kProbes = 1'000'000;

/// Lines counted by a filter, in no particular order.
class Counted {
 public:
  explicit Counted(LineFilter& filter) : filter_(&filter) {}
  void insert_random(Rng& rng, std::uint64_t lines) {
    const LineAddr line{rng.below(lines)};
    if (!there_.insert(line.value).second) return;
    lines_.push_back(line);
    filter_->insert(line);
  }
  void erase_random(Rng& rng) {
    std::swap(lines_[rng.below(lines_.size())], lines_.back());
    erase_last();
  }
  /// Flushes as a home does when a counter of `line` is at its maximum; returns how many lines went.
  std::size_t flush(LineAddr line) {
    if (!filter_->is_saturated(line)) return 0;
    const auto victims =
        std::partition(lines_.begin(), lines_.end(), [&](LineAddr l) { return !filter_->is_saturated(l); }) -
        lines_.begin();
    const std::size_t flushed = lines_.size() - static_cast<std::size_t>(victims);
    for (std::size_t i = 0; i < flushed; ++i) erase_last();
    return flushed;
  }
  void erase_all() {
    while (!lines_.empty()) erase_last();
  }
  const std::vector<LineAddr>& lines() const { return lines_; }
  bool contains(LineAddr line) const { return there_.contains(line.value); }

 private:
  void erase_last() {
    filter_->erase(lines_.back());
    there_.erase(lines_.back().value);
    lines_.pop_back();
  }

  LineFilter* filter_;
  std::vector<LineAddr> lines_;
  std::unordered_set<std::uint64_t> there_;
};

double false_positives(LineFilter& filter, Rng& rng) {
  int maybe = 0;
  for (int i = 0; i < kProbes; ++i) maybe += filter.may_hold(LineAddr{kAbsent + rng.below(kAbsent)}) ? 1 : 0;
  return static_cast<double>(maybe) / kProbes;
}

/// Standard deviation of a measured rate whose expectation is p.
double sampling_sigma(double p) { return std::sqrt(p * (1 - p) / kProbes); }

/// A home's traffic on few lines; `check` runs after each insertion, flush or erasure.
void random_traffic(LineFilter& filter, std::uint64_t seed, std::uint64_t lines, int steps,
                    const std::function<void(const Counted&)>& check) {
  Rng rng(seed);
  Counted counted(filter);
  std::uint64_t target = lines / 2;
  for (int i = 0; i < steps; ++i) {
    if (i % 200 == 0) target = rng.below(lines + 1);  // fills and empties
    if (counted.lines().size() < target) {
      counted.insert_random(rng, lines);
      if (!counted.lines().empty()) counted.flush(counted.lines().back());
    } else if (!counted.lines().empty()) {
      counted.erase_random(rng);
    }
    for (const LineAddr line : counted.lines())
      ASSERT_TRUE(filter.may_hold(line)) << "seed " << seed << " step " << i << " line " << line.value;
    check(counted);
    if (testing::Test::HasFatalFailure()) return;
  }
  counted.erase_all();
  for (std::uint64_t l = 0; l < lines; ++l) ASSERT_FALSE(filter.may_hold(LineAddr{l})) << "seed " << seed;
}

TEST(DLeftFilter, NeverSaysNoOfACountedLineAndIsExactByHashWithoutOverflow) {
  bool overflowed = false, exact = false;
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    Rng shape(seed);
    const auto sub_tables = static_cast<std::uint32_t>(1 + shape.below(4));
    const std::uint32_t buckets = 1U << shape.below(3);
    const std::uint32_t maximum = shape.below(3) == 0 ? 1 : 7;
    DLeftFilter filter(sub_tables, buckets, maximum);
    const std::uint64_t lines = 16 + shape.below(std::uint64_t{24} * sub_tables * buckets);
    ASSERT_NO_FATAL_FAILURE(random_traffic(filter, seed, lines, 2000, [&](const Counted& counted) {
      overflowed |= filter.overflow() > 0;
      if (filter.overflow() > 0) return;
      exact = true;
      std::unordered_set<std::uint32_t> hashes;
      for (const LineAddr line : counted.lines()) hashes.insert(filter.hash(line));
      for (std::uint64_t l = 0; l < lines; l += 7)
        ASSERT_EQ(filter.may_hold(LineAddr{l}), hashes.contains(filter.hash(LineAddr{l}))) << "seed " << seed;
    }));
    EXPECT_EQ(filter.overflow(), 0U);
  }
  EXPECT_TRUE(overflowed);
  EXPECT_TRUE(exact);
}

void traffic_with(DLeftFilter::Fault fault) {
  DLeftFilter filter(1, 2, 7, fault);
  random_traffic(filter, 1, 64, 2000, [](const Counted&) {});
}
// K95.
TEST(DLeftFilterFaults, MakeItSayNoOfACountedLine) {
  ASSERT_NO_FATAL_FAILURE(traffic_with(DLeftFilter::Fault::none));
  EXPECT_FATAL_FAILURE(traffic_with(DLeftFilter::Fault::overflow_uncounted), "filter.may_hold(line)");
  EXPECT_FATAL_FAILURE(traffic_with(DLeftFilter::Fault::overflow_cleared), "filter.may_hold(line)");
}

// Two lines of one hash: the first is counted in overflow, the second in a cell that has become free; then
// the first is erased, from the second's cell.
TEST(DLeftFilter, LinesOfEqualHashTakeEachOthersPlaces) {
  DLeftFilter filter(1, 1);
  std::vector<LineAddr> full;
  std::unordered_set<std::uint32_t> hashes;
  std::uint64_t next = 0;
  const auto new_hash = [&] {
    while (!hashes.insert(filter.hash(LineAddr{next})).second) ++next;
    return LineAddr{next++};
  };
  while (full.size() < DLeftFilter::kCells) {
    full.push_back(new_hash());
    filter.insert(full.back());
  }
  const LineAddr first = new_hash();
  for (std::uint64_t l = kAbsent, twins = 0; twins < 20; ++l) {
    const LineAddr second{l};
    if (filter.hash(second) != filter.hash(first)) continue;
    ++twins;
    filter.insert(first);
    ASSERT_EQ(filter.overflow(), 1U);
    filter.erase(full[0]);
    filter.insert(second);
    ASSERT_EQ(filter.overflow(), 1U);
    filter.erase(first);
    EXPECT_TRUE(filter.may_hold(second));
    filter.erase(second);
    EXPECT_EQ(filter.overflow(), 0U);
    EXPECT_FALSE(filter.may_hold(second));
    filter.insert(full[0]);
  }
}

// Overflow counters begin anew when nothing is in overflow, those too that have lost count at their maximum.
TEST(DLeftFilter, ForgetsOverflowThatIsOver) {
  DLeftFilter filter(1, 1);
  // With one bucket a hash is its remainder, and its overflow counter follows from that.
  const auto line_of_hash = [&](std::uint32_t h) {
    std::uint64_t l = 0;
    while (filter.hash(LineAddr{l}) != h) ++l;
    return LineAddr{l};
  };
  for (std::uint32_t h = 0; h < DLeftFilter::kCells; ++h) filter.insert(line_of_hash(h));
  for (std::uint32_t h = 8; h < 20; ++h) filter.insert(line_of_hash(h));  // one counter, stuck at 7
  EXPECT_TRUE(filter.may_hold(line_of_hash(30)));  // that counter too: a false positive
  for (std::uint32_t h = 8; h < 20; ++h) filter.erase(line_of_hash(h));
  EXPECT_EQ(filter.overflow(), 0U);
  filter.insert(line_of_hash(500));  // another counter
  EXPECT_EQ(filter.overflow(), 1U);
  EXPECT_TRUE(filter.may_hold(line_of_hash(500)));
  EXPECT_FALSE(filter.may_hold(line_of_hash(8)));
}

TEST(DLeftFilter, SaturatesWhenACellReachesItsMaximumAndFlushingItsHashEmptiesIt) {
  DLeftFilter filter(4, 32);
  const LineAddr first{5};
  std::vector<LineAddr> same;
  for (std::uint64_t l = 5; same.size() < 7; ++l)
    if (filter.hash(LineAddr{l}) == filter.hash(first)) same.emplace_back(l);
  for (const LineAddr line : same) {
    EXPECT_FALSE(filter.is_saturated(first));
    filter.insert(line);
  }
  EXPECT_TRUE(filter.is_saturated(first));
  for (const LineAddr line : same) filter.erase(line);
  EXPECT_FALSE(filter.may_hold(first));
}

struct TwoBanks {
  explicit TwoBanks(std::uint32_t buckets) {
    std::vector<std::unique_ptr<LineFilter>> banks;
    for (DLeftFilter*& bank : of) {
      auto made = std::make_unique<DLeftFilter>(2, buckets);
      bank = made.get();
      banks.push_back(std::move(made));
    }
    all = std::make_unique<BankedFilter>(std::move(banks));
  }
  DLeftFilter* of[2];
  std::unique_ptr<BankedFilter> all;
};

TEST(BankedFilter, CountsALineInItsBankOnly) {
  const TwoBanks banks(4);
  banks.all->insert(LineAddr{6});
  EXPECT_TRUE(banks.of[0]->may_hold(LineAddr{6}) && banks.all->may_hold(LineAddr{6}));
  EXPECT_EQ(banks.of[1]->rows().read + banks.of[1]->rows().written, 0U);
  EXPECT_FALSE(banks.all->may_hold(LineAddr{7}));
  banks.all->erase(LineAddr{6});
  EXPECT_FALSE(banks.all->may_hold(LineAddr{6}));
}

TEST(BankedFilter, NeverSaysNoOfACountedLineAndCountsTheRowsOfAllBanks) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const TwoBanks banks(1);
    random_traffic(*banks.all, seed, 60, 500, [](const Counted&) {});
    std::uint64_t read = 0, written = 0;
    for (const DLeftFilter* bank : banks.of) read += bank->rows().read, written += bank->rows().written;
    EXPECT_EQ(banks.all->rows().read, read);
    EXPECT_EQ(banks.all->rows().written, written);
    EXPECT_GT(written, 0U);
  }
}

/// Random traffic, in which sub-tables come and go at any moment, one bucket at a time. After each event what
/// the filter says is held against the lines that it counts.
class MovingTraffic {
 public:
  MovingTraffic(DLeftFilter& filter, std::uint64_t seed, std::uint64_t lines)
      : filter_(&filter), counted_(filter), rng_(seed), lines_(lines) {}

  /// Runs until the first fault. @returns it; empty: none.
  std::string run(int steps) {
    std::uint64_t target = lines_ / 2;
    for (int i = 0; i < steps; ++i) {
      if (i % 200 == 0) target = rng_.below(lines_ + 1);  // fills and empties
      if (counted_.lines().size() < target) {
        counted_.insert_random(rng_, lines_);
        if (!counted_.lines().empty()) counted_.flush(counted_.lines().back());
      } else if (!counted_.lines().empty()) {
        counted_.erase_random(rng_);
      }
      if (std::string what = violation(); !what.empty()) return "after traffic: " + what;
      move();
      if (std::string what = violation(); !what.empty()) return "after a move: " + what;
    }
    counted_.erase_all();
    return violation();
  }
  unsigned left = 0, came = 0;
  bool met_overflow = false;

 private:
  std::string violation() {
    for (const LineAddr line : counted_.lines())
      if (!filter_->may_hold(line)) return "no, of a line that is counted";
    met_overflow |= filter_->overflow() > 0;
    if (filter_->overflow() > 0) return {};
    std::unordered_set<std::uint32_t> hashes;
    for (const LineAddr line : counted_.lines()) hashes.insert(filter_->hash(line));
    for (std::uint64_t l = 0; l < lines_; ++l)
      if (filter_->may_hold(LineAddr{l}) && !hashes.contains(filter_->hash(LineAddr{l})))
        return "maybe, of a hash that no line has";
    return {};
  }
  void move() {
    if (filter_->is_leaving()) {
      if (rng_.below(4) != 0) return;
      filter_->move_bucket();
      left += filter_->is_leaving() ? 0 : 1;
    } else if (rng_.below(16) != 0) {
      return;
    } else if (rng_.below(2) == 0 && filter_->sub_tables() < DLeftFilter::kMaxSubTables) {
      filter_->add_sub_table();
      ++came;
    } else if (filter_->sub_tables() > 1) {
      filter_->begin_leaving();
    }
  }

  DLeftFilter* filter_;
  Counted counted_;
  Rng rng_;
  std::uint64_t lines_;
};

// K57, K58.
TEST(DLeftFilter, KeepsWhatItCountsWhileSubTablesComeAndGo) {
  unsigned left = 0, came = 0;
  bool met_overflow = false;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Rng shape(seed);
    const std::uint32_t buckets = 1U << shape.below(4);
    DLeftFilter filter(static_cast<std::uint32_t>(1 + shape.below(4)), buckets, shape.below(3) == 0 ? 1 : 7);
    MovingTraffic traffic(filter, seed, 16 + shape.below(std::uint64_t{40} * buckets));
    ASSERT_EQ(traffic.run(2000), "") << "seed " << seed;
    EXPECT_EQ(filter.overflow(), 0U);
    left += traffic.left;
    came += traffic.came;
    met_overflow |= traffic.met_overflow;
  }
  EXPECT_GT(left, 200U);
  EXPECT_GT(came, 200U);
  EXPECT_TRUE(met_overflow);
}

// Each of the eight permutations is rolled back: nothing is in overflow, so that the filter stays exact.
TEST(DLeftFilter, RollsCellsBackFromEverySubTable) {
  constexpr std::uint64_t kLines = 1500;
  DLeftFilter filter(DLeftFilter::kMaxSubTables, 32);
  std::unordered_set<std::uint32_t> hashes;
  for (std::uint64_t l = 0; l < kLines; ++l) {
    filter.insert(LineAddr{l});
    hashes.insert(filter.hash(LineAddr{l}));
  }
  std::uint32_t moved = 0;
  while (filter.sub_tables() > 1) {
    filter.begin_leaving();
    for (std::uint32_t bucket = 0; bucket < 32; ++bucket) {
      ASSERT_TRUE(filter.is_leaving());
      moved += filter.move_bucket();
    }
    ASSERT_FALSE(filter.is_leaving());
    if (filter.overflow() > 0) break;
    for (std::uint64_t l = 0; l < 4 * kLines; ++l)
      ASSERT_EQ(filter.may_hold(LineAddr{l}), hashes.contains(filter.hash(LineAddr{l})));
  }
  // Six sub-tables have 1536 cells: at least until then all found places.
  EXPECT_LE(filter.sub_tables(), 6U);
  EXPECT_GT(moved, 300U);
}

// Cells move with their counts, and a sub-table that is added when lines are in overflow says nothing of
// them.
TEST(DLeftFilter, MovesACellWithItsCountIntoOverflowAndBackIntoCells) {
  DLeftFilter filter(2, 1);
  std::vector<LineAddr> full, same;
  std::unordered_set<std::uint32_t> hashes;
  for (std::uint64_t l = 0; full.size() < 2 * DLeftFilter::kCells; ++l) {
    if (!hashes.insert(filter.hash(LineAddr{l})).second) continue;
    full.emplace_back(l);
    filter.insert(full.back());
  }
  // The last is in the right sub-table, for the left one takes the first of equals; four more are beside it.
  for (std::uint64_t l = kAbsent; same.size() < 4; ++l)
    if (filter.hash(LineAddr{l}) == filter.hash(full.back())) same.emplace_back(l);
  for (const LineAddr line : same) filter.insert(line);
  ASSERT_EQ(filter.overflow(), 0U);
  filter.begin_leaving();
  EXPECT_TRUE(filter.may_hold(same[0])) << "looked up while it leaves";
  EXPECT_EQ(filter.move_bucket(), DLeftFilter::kCells);
  EXPECT_FALSE(filter.is_leaving());
  EXPECT_EQ(filter.overflow(), DLeftFilter::kCells + 4) << "eight hashes, one of them five times";
  filter.add_sub_table();
  for (const LineAddr line : full) EXPECT_TRUE(filter.may_hold(line));
  for (const LineAddr line : same) filter.erase(line);
  EXPECT_TRUE(filter.may_hold(full.back()));
  for (const LineAddr line : full) filter.erase(line);
  EXPECT_EQ(filter.overflow(), 0U);
  for (const LineAddr line : full) EXPECT_FALSE(filter.may_hold(line));
}

/// Seven sub-tables of 64 buckets that were two for a while, with `lines` lines that come and go. @returns
/// how many probes of 100 say "maybe".
double maybe_after_moves(std::size_t lines) {
  DLeftFilter filter(7, 64);
  Rng rng(1);
  std::vector<LineAddr> in;
  std::size_t oldest = 0;
  const auto turn_over = [&] {
    for (std::size_t i = 0; i < 8 * lines; ++i) {
      const LineAddr line{rng.below(kAbsent)};
      if (filter.is_saturated(line)) continue;
      filter.insert(line);
      in.push_back(line);
      if (in.size() - oldest > lines) filter.erase(in[oldest++]);
    }
  };
  turn_over();
  while (filter.sub_tables() > 2) {
    filter.begin_leaving();
    while (filter.is_leaving()) filter.move_bucket();
  }
  turn_over();
  while (filter.sub_tables() < 7) filter.add_sub_table();
  turn_over();
  return 100 * false_positives(filter, rng);
}
// Lines in overflow are not in the counters of sub-tables that came later. Those counters are of use again
// when no line is in overflow.
TEST(DLeftFilter, IsAsGoodAsBeforeAMoveOnceNothingIsInOverflow) {
  const auto formula = [](double lines) { return 100 * (1 - std::pow(1 - 1 / (64.0 * 512), lines)); };
  EXPECT_NEAR(maybe_after_moves(3300), formula(3300), 1) << "of 3584 cells";
  EXPECT_GT(maybe_after_moves(4000), 90) << "more than cells: some are in overflow at any time";
}

// K95. On 64 lines in sub-tables of 2 buckets: many are in overflow, or come there when a sub-table leaves.
TEST(DLeftFilterFaults, AreFoundWhileSubTablesComeAndGo) {
  DLeftFilter sound(2, 2, 7);
  EXPECT_EQ(MovingTraffic(sound, 1, 64).run(5000), "");
  for (const DLeftFault fault : all_faults<DLeftFault>(kDLeftFaultNames)) {
    DLeftFilter filter(2, 2, 7, fault);
    EXPECT_NE(MovingTraffic(filter, 1, 64).run(5000), "") << fault_name(kDLeftFaultNames, fault);
  }
}

// 16 cores, 40 % of the private lines: 256 buckets a sub-table.
TEST(DLeftFilter, FalsePositivesFollowTheFormulaWithoutOverflow) {
  constexpr double hashes = 256 * 512;
  for (const std::uint32_t sub_tables : {3U, 4U, 7U})
    for (const double load : {0.05, 0.4, 0.8}) {
      DLeftFilter filter(sub_tables, 256);
      Rng rng(sub_tables);
      Counted counted(filter);
      const auto n = static_cast<std::size_t>(load * 256 * 8 * sub_tables);
      while (counted.lines().size() < n) counted.insert_random(rng, kAbsent);
      for (int i = 0; i < 100'000; ++i) {
        counted.erase_random(rng);
        counted.insert_random(rng, kAbsent);
      }
      ASSERT_EQ(filter.overflow(), 0U);
      const double lines = static_cast<double>(counted.lines().size());
      const double expected = 1 - std::pow(1 - 1 / hashes, lines);
      // Pairs of lines of equal hash are a Poisson number.
      const double contents_sigma = std::sqrt(lines * lines / (2 * hashes)) / hashes;
      const double sigma = std::hypot(sampling_sigma(expected), contents_sigma);
      EXPECT_NEAR(false_positives(filter, rng), expected, 5 * sigma)
          << sub_tables << " sub-tables, load " << load;
    }
}

TEST(DLeftFilter, FalsePositivesFollowTheFormulaWithOverflow) {
  constexpr double buckets = 128, sub_tables = 4;
  for (const std::size_t n : {4100U, 4600U, 5120U}) {
    DLeftFilter filter(4, 128);
    Rng rng(n);
    Counted counted(filter);
    while (counted.lines().size() < n) counted.insert_random(rng, kAbsent);
    const double v = static_cast<double>(filter.overflow());
    ASSERT_GT(v, 0);
    // No line overflows before 94 % of the cells are taken; and each hash needs a cell of its own, or
    // overflows.
    std::unordered_set<std::uint32_t> hashes;
    for (const LineAddr line : counted.lines()) hashes.insert(filter.hash(line));
    EXPECT_LE(v, static_cast<double>(n) - 0.94 * 8 * sub_tables * buckets);
    EXPECT_GE(v, static_cast<double>(hashes.size()) - 8 * sub_tables * buckets);
    const double cells = 1 - std::pow(1 - 1 / (buckets * 512), static_cast<double>(n) - v);
    const double counter = 1 - std::pow(1 - 1 / (10 * buckets), v);
    const double expected = 1 - (1 - cells) * (1 - std::pow(counter, sub_tables));
    const double measured = false_positives(filter, rng);
    EXPECT_NEAR(measured, expected, 0.15 * expected) << n << " lines, overflow " << v;
  }
}

TEST(CountingFilter, NeverSaysNoOfACountedLine) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    Rng shape(seed);
    const auto sub_tables = static_cast<std::uint32_t>(1 + shape.below(4));
    CountingFilter filter(sub_tables, static_cast<std::uint32_t>(1 + shape.below(4)),
                          shape.below(2) == 0 ? 1 : 15);
    ASSERT_NO_FATAL_FAILURE(random_traffic(filter, seed, 16 + shape.below(400), 2000, [](const Counted&) {}));
  }
}

TEST(CountingFilter, FalsePositivesFollowTheFormula) {
  constexpr double counters = 32 * 256;
  for (const std::uint32_t sub_tables : {2U, 4U, 7U})
    for (const std::size_t n : {500U, 2000U, 6000U}) {
      CountingFilter filter(sub_tables, 256);
      Rng rng(n + sub_tables);
      Counted counted(filter);
      while (counted.lines().size() < n) counted.insert_random(rng, kAbsent);
      const double filled = 1 - std::pow(1 - 1 / counters, static_cast<double>(n));
      const double expected = std::pow(filled, sub_tables);
      // At most as if each counter were filled by itself.
      const double contents_sigma =
          expected * std::sqrt(sub_tables * filled * (1 - filled) / counters) / filled;
      const double sigma = std::hypot(sampling_sigma(expected), contents_sigma);
      EXPECT_NEAR(false_positives(filter, rng), expected, 5 * sigma)
          << sub_tables << " sub-tables, " << n << " lines";
    }
}

TEST(LineFilter, CountsARowOfEachSubTableAnAccess) {
  DLeftFilter d_left(4, 16);
  CountingFilter conventional(3, 16);
  const LineAddr line{77};
  d_left.insert(line);
  conventional.insert(line);
  EXPECT_TRUE(d_left.may_hold(line));
  EXPECT_TRUE(conventional.may_hold(line));
  EXPECT_EQ(d_left.rows().read, 8U);
  EXPECT_EQ(d_left.rows().written, 1U);  // its cell alone
  EXPECT_EQ(conventional.rows().read, 6U);
  EXPECT_EQ(conventional.rows().written, 3U);
}

TEST(ExactFilter, IsNeverWrong) {
  ExactFilter filter;
  ASSERT_NO_FATAL_FAILURE(random_traffic(filter, 1, 100, 2000, [&](const Counted& counted) {
    for (std::uint64_t l = 0; l < 100; ++l)
      ASSERT_EQ(filter.may_hold(LineAddr{l}), counted.contains(LineAddr{l}));
  }));
}

TEST(NoFilter, KnowsNothing) {
  NoFilter filter;
  EXPECT_TRUE(filter.may_hold(LineAddr{3}));
  filter.insert(LineAddr{3});
  filter.erase(LineAddr{3});
  EXPECT_TRUE(filter.may_hold(LineAddr{3}));
  EXPECT_FALSE(filter.is_saturated(LineAddr{3}));
}

}  // namespace
}  // namespace rubato::chip
