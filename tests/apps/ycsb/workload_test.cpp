// SPDX-License-Identifier: MIT
#include "apps/ycsb/workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rubato::apps::ycsb {
namespace {

TEST(Zipfian, GivesRanksTheirProbabilities) {
  constexpr std::uint64_t kRanks = 5000, kDraws = 1'000'000;
  const Zipfian zipfian(kRanks);
  double zeta = 0;
  for (std::uint64_t i = 1; i <= kRanks; ++i) zeta += std::pow(static_cast<double>(i), -Zipfian::kTheta);
  EXPECT_NEAR(zipfian.first(), 1 / zeta, 1e-12) << "also beyond the terms that are summed one by one";
  Rng rng(1);
  std::vector<double> share(kRanks);
  for (std::uint64_t i = 0; i < kDraws; ++i) share[zipfian(rng)] += 1.0 / kDraws;
  EXPECT_NEAR(share[0], 1 / zeta, 0.002);
  EXPECT_NEAR(share[1], std::pow(2, -Zipfian::kTheta) / zeta, 0.002);
  double first_hundred = 0, expected = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    first_hundred += share[i];
    expected += std::pow(static_cast<double>(i + 1), -Zipfian::kTheta) / zeta;
  }
  EXPECT_NEAR(first_hundred, expected, 0.02)
      << "Gray's method is approximate between the first ranks and the last";
}

TEST(Zipfian, GrowsAsIfItHadBegunLarger) {
  Zipfian small(2000);
  for (int i = 0; i < 500; ++i) small.grow();
  EXPECT_NEAR(small.first(), Zipfian(2500).first(), 1e-12);
}

TEST(RecordChooser, LatestPrefersTheRecordsInsertedLast) {
  RecordChooser choose(Distribution::latest, 1000);
  choose.grow();
  Rng rng(1);
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < 100'000; ++i) ++counts[choose(rng)];
  EXPECT_GT(counts[1000], counts[999]);
  EXPECT_GT(counts[999], counts[900]);
  EXPECT_LE(counts.rbegin()->first, 1000u);
}

TEST(KeySpace, TurnsRecordsIntoKeysAndBack) {
  for (const KeyOrder order : {KeyOrder::hashed, KeyOrder::ordered}) {
    const KeySpace space(order);
    for (std::uint64_t record = 0; record < 10'000; ++record) {
      EXPECT_EQ(space.record_of(space.key_of(record)), record);
    }
    EXPECT_EQ(space.record_of(space.key_of(~0u)), ~0u);
  }
}

TEST(KeySpace, SortsTheKeysOfAllRecords) {
  const std::vector<Key> keys = sorted_keys(KeySpace(KeyOrder::hashed), 100'000);
  EXPECT_EQ(keys.size(), 100'000u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

double share_of(const std::vector<Request>& requests, Kind kind) {
  const auto count =
      std::count_if(requests.begin(), requests.end(), [=](const Request& r) { return r.kind == kind; });
  return static_cast<double>(count) / static_cast<double>(requests.size());
}

TEST(Workload, MixesWhatYcsbMixes) {
  const std::map<char, std::vector<std::pair<Kind, double>>> expected = {
      {'A', {{Kind::lookup, 0.5}, {Kind::update, 0.5}}},
      {'B', {{Kind::lookup, 0.95}, {Kind::update, 0.05}}},
      {'C', {{Kind::lookup, 1}}},
      {'D', {{Kind::lookup, 0.95}, {Kind::insert, 0.05}}},
      {'E', {{Kind::scan, 0.95}, {Kind::insert, 0.05}}},
      {'F', {{Kind::lookup, 0.5}, {Kind::add, 0.5}}},
  };
  for (const auto& [name, mix] : expected) {
    const auto requests = make_requests({.name = name, .records = 1000, .operations = 100'000});
    EXPECT_EQ(requests.size(), 100'000u);
    for (const auto& [kind, share] : mix) EXPECT_NEAR(share_of(requests, kind), share, 0.01) << name;
  }
}

TEST(Workload, InsertsTheNextRecordsInTurnAndScansOneToAHundred) {
  const auto requests = make_requests({.name = 'E', .records = 1000, .operations = 50'000});
  const KeySpace space(KeyOrder::hashed);
  std::uint64_t next = 1000;
  unsigned shortest = 1000, longest = 0;
  for (const Request& r : requests) {
    if (r.kind == Kind::insert) {
      EXPECT_EQ(space.record_of(r.key), next++);
    } else {
      EXPECT_LT(space.record_of(r.key), next);
      shortest = std::min<unsigned>(shortest, r.length);
      longest = std::max<unsigned>(longest, r.length);
    }
  }
  EXPECT_EQ(shortest, 1u);
  EXPECT_EQ(longest, 100u);
}

TEST(Workload, ChurnSlidesAWindowOverTheRecords) {
  const auto requests =
      make_requests({.name = kChurn, .key_order = KeyOrder::ordered, .records = 1000, .operations = 100'000});
  EXPECT_NEAR(share_of(requests, Kind::insert), 0.4, 0.01);
  EXPECT_NEAR(share_of(requests, Kind::remove), 0.4, 0.01);
  EXPECT_NEAR(share_of(requests, Kind::lookup), 0.15, 0.01);
  std::uint64_t first = 0, end = 1000;
  for (const Request& r : requests) {
    if (r.kind == Kind::insert) {
      ASSERT_EQ(r.key, end++);
    } else if (r.kind == Kind::remove) {
      ASSERT_EQ(r.key, first++);
    } else {
      ASSERT_GE(r.key, first);
      ASSERT_LT(r.key, end);
    }
    ASSERT_LE(end - first, 1001u);
    ASSERT_GE(end - first, 1000u);
  }
}

TEST(Workload, DependsOnTheSeedAlone) {
  const auto keys = [](std::uint64_t seed) {
    std::vector<Key> result;
    for (const Request& r : make_requests({.name = 'A', .operations = 100, .seed = seed}))
      result.push_back(r.key);
    return result;
  };
  EXPECT_EQ(keys(1), keys(1));
  EXPECT_NE(keys(1), keys(2));
}

}  // namespace
}  // namespace rubato::apps::ycsb
