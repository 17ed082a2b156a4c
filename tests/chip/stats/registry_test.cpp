// Registered statistics: histograms, regions, and stats.json exactly (C24).
// SPDX-License-Identifier: MIT
#include "chip/stats/registry.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "chip/session/snapshot.hpp"
#include "chip/session/stats_json.hpp"
#include "chip/session/time_series.hpp"

namespace rubato::chip {
namespace {

TEST(Histogram, PutsZeroApartAndPowersOfTwoInTheNextBucket) {
  Histogram h;
  for (const std::uint64_t v : {0u, 1u, 2u, 3u, 4u, 7u, 8u}) h.add(v);
  EXPECT_EQ(h.bucket(0), 1u);
  EXPECT_EQ(h.bucket(1), 1u);
  EXPECT_EQ(h.bucket(2), 2u);
  EXPECT_EQ(h.bucket(3), 2u);
  EXPECT_EQ(h.bucket(4), 1u);
  EXPECT_EQ(h.samples(), 7u);
  EXPECT_EQ(h.sum(), 25u);
}

TEST(Histogram, KeepsWhatIsTooLargeInTheLastBucket) {
  Histogram h;
  h.add(std::numeric_limits<std::uint64_t>::max());
  h.add(std::uint64_t{1} << 38);
  h.add((std::uint64_t{1} << 38) - 1, 3);
  EXPECT_EQ(h.bucket(39), 2u);
  EXPECT_EQ(h.bucket(38), 3u);
  EXPECT_EQ(h.samples(), 5u);
}

TEST(RegistryDeathTest, RefusesTwoStatisticsOfOneName) {
  StatRegistry registry;
  std::uint64_t n = 0;
  registry.counter("a.b", "x", "y", &n);
  EXPECT_DEATH(registry.counter("a.b", "x", "y", &n), "two statistics of one name");
}

class Regions : public ::testing::Test {
 protected:
  Regions() {
    registry_.counter("tile.0.l2.hits", "accesses", "hits", &hits_[0]);
    registry_.counter("tile.1.l2.hits", "accesses", "hits", &hits_[1]);
    registry_.total("chip.hits", "accesses", "all hits", [this] { return hits_[0] + hits_[1]; });
    registry_.value("chip.ratio", "", "a ratio", [this] { return ratio_; });
    registry_.histogram("chip.depth", "tasks", "a depth", &depth_);
  }
  StatRegistry registry_;
  CycleAccount account_{2};
  std::uint64_t hits_[2] = {};
  double ratio_ = 0;
  Histogram depth_;
};

TEST_F(Regions, AddUpAndLeaveOutWhatIsBetweenThem) {
  RegionRecorder recorder(registry_, account_);
  hits_[0] = 100;
  depth_.add(5);
  recorder.begin();
  hits_[0] = 107;
  hits_[1] = 2;
  depth_.add(3);
  recorder.end();
  hits_[0] = 1000;
  depth_.add(9);
  recorder.begin();
  hits_[0] = 1001;
  ratio_ = 0.25;
  recorder.end();
  ratio_ = 0.75;
  const StatValues values = recorder.values();
  EXPECT_EQ(recorder.regions(), 2u);
  EXPECT_EQ(std::get<std::uint64_t>(values[0]), 8u);
  EXPECT_EQ(std::get<std::uint64_t>(values[1]), 2u);
  EXPECT_EQ(std::get<std::uint64_t>(values[2]), 10u);
  EXPECT_EQ(std::get<double>(values[3]), 0.25);
  EXPECT_EQ(std::get<Histogram>(values[4]).samples(), 1u);
  EXPECT_EQ(std::get<Histogram>(values[4]).sum(), 3u);
}

TEST_F(Regions, CountWhatAnOpenRegionHasSoFar) {
  RegionRecorder recorder(registry_, account_);
  EXPECT_EQ(std::get<std::uint64_t>(recorder.values()[0]), 0u);
  hits_[0] = 5;
  recorder.begin();
  hits_[0] = 6;
  account_.charge(CoreId{0}, CycleClass::idle, CyclePart::core, 4);
  EXPECT_EQ(std::get<std::uint64_t>(recorder.values()[0]), 1u);
  EXPECT_EQ(recorder.function_cycles().at(0).sum(), 4u);
}

TEST_F(Regions, GiveExactlyThisStatsJson) {
  RegionRecorder recorder(registry_, account_);
  account_.charge(CoreId{0}, CycleClass::idle, CyclePart::core, 1);
  recorder.begin();
  hits_[0] = 3;
  depth_.add(2);
  ratio_ = std::numeric_limits<double>::quiet_NaN();
  account_.run_function(CoreId{1}, 0x10074);
  account_.charge(CoreId{1}, CycleClass::nonspeculative, CyclePart::l2, 9);
  recorder.end();
  hits_[0] = 4;
  const std::string text = stats_json({.registry = registry_,
                                       .roi = recorder.values(),
                                       .run = read_stats(registry_),
                                       .roi_functions = recorder.function_cycles(),
                                       .run_functions = account_.by_function(),
                                       .aborts = {},
                                       .symbol = [](Addr) { return std::string("visit"); },
                                       .line_symbol = {}});
  const auto json = nlohmann::json::parse(text);
  auto expected = nlohmann::json::parse(R"json({
    "format": 1,
    "stats": {"tile.*.l2.hits": {"unit": "accesses", "description": "hits"},
              "chip.hits": {"unit": "accesses", "description": "all hits"},
              "chip.ratio": {"unit": "", "description": "a ratio"},
              "chip.depth": {"unit": "tasks", "description": "a depth"}},
    "roi": {"tile.0.l2.hits": 3, "tile.1.l2.hits": 0, "chip.hits": 3},
    "run": {"tile.0.l2.hits": 4, "tile.1.l2.hits": 0, "chip.hits": 4},
    "functions": {
      "roi": [{"function": "visit", "address": "0x10074", "cycles": {"nonspeculative": {"l2": 9}}}],
      "run": [{"function": "(no task)", "address": "0x0", "cycles": {
    "idle" : { "core" : 1 }}
},
              {"function": "visit", "address": "0x10074", "cycles": {"nonspeculative": {"l2": 9}}}]
},
    "conflicts": {"lines": [], "line_count": 0, "functions": []}
})json");
  auto buckets = nlohmann::json::array();
  for (unsigned i = 0; i < Histogram::kBuckets; ++i) buckets.push_back(i == 2 ? 1 : 0);
  for (const char* root : {"roi", "run"}) {
    expected[root]["chip.depth"] = {{"buckets", buckets}, {"samples", 1}, {"sum", 2}};
  }
  EXPECT_EQ(json, expected);
}

TEST_F(Regions, KeepCountsExactBeyondWhatADoubleHolds) {
  hits_[0] = (std::uint64_t{1} << 63) + 1;
  RegionRecorder recorder(registry_, account_);
  const std::string text = stats_json({.registry = registry_,
                                       .roi = recorder.values(),
                                       .run = read_stats(registry_),
                                       .roi_functions = {},
                                       .run_functions = {},
                                       .aborts = {},
                                       .symbol = {},
                                       .line_symbol = {}});
  EXPECT_NE(text.find("\"tile.0.l2.hits\": 9223372036854775809"), std::string::npos);
}

TEST(StatsJson, HasOfEachRootItsOwnEnergy) {
  // A tile's L2 of 64 KiB with 8 ways at 1 pJ takes 4 pJ a look-up (tests/chip/coherence/energy).
  Config config;
  config.chip.cores = config.chip.cores_per_tile = 1;
  config.l2 = {.size = 64 << 10, .ways = 8, .latency = 7};
  config.energy = {.sram_pj = 1, .flit_hop_pj = 0, .leakage_mw_per_mib = 0, .memory_nj = 0};
  config = resolve(config);
  StatRegistry registry;
  std::uint64_t lookups[2] = {};
  registry.counter("tile.0.l2.lookups", "accesses", "of one", &lookups[0]);
  registry.counter("tile.1.l2.lookups", "accesses", "of another", &lookups[1]);
  const CycleAccount account(1);
  RegionRecorder recorder(registry, account);
  lookups[0] = 500;
  recorder.begin();
  lookups[0] = 600;
  lookups[1] = 400;
  recorder.end();
  const auto json = nlohmann::json::parse(stats_json({.registry = registry,
                                                      .roi = recorder.values(),
                                                      .run = read_stats(registry),
                                                      .roi_functions = {},
                                                      .run_functions = {},
                                                      .aborts = {},
                                                      .config = &config,
                                                      .symbol = {},
                                                      .line_symbol = {}}));
  EXPECT_DOUBLE_EQ(json["roi"]["energy.l2.dynamic"], 2);
  EXPECT_DOUBLE_EQ(json["run"]["energy.l2.dynamic"], 4);
  EXPECT_DOUBLE_EQ(json["run"]["energy.total"], 4);
  EXPECT_EQ(json["stats"]["energy.l2.dynamic"]["unit"], "nJ");
  EXPECT_EQ(json["stats"]["energy.edp"]["unit"], "nJ s");
}

TEST(KindOf, ReplacesComponentsThatAreNumbers) {
  EXPECT_EQ(kind_of("tile.12.l2.hits"), "tile.*.l2.hits");
  EXPECT_EQ(kind_of("core.3"), "core.*");
  EXPECT_EQ(kind_of("l2.b4.7x"), "l2.b4.7x");
  EXPECT_EQ(kind_of("tile.1.link.2.flits"), "tile.*.link.*.flits");
}

TEST_F(Regions, SampleWhatFellIntoEachInterval) {
  TimeSeries series(registry_, 100, {"tile.*.hits", "chip.ratio", "chip.depth"});
  hits_[0] = 5;
  ratio_ = 0.5;
  depth_.add(4);
  depth_.add(6);
  series.sample(Cycle{100});
  hits_[0] = 6;
  hits_[1] = 7;
  series.sample(Cycle{200});
  series.sample(Cycle{200});
  series.sample(Cycle{230});
  EXPECT_EQ(nlohmann::json::parse(series.json()),
            nlohmann::json::parse(R"({"interval": 100, "cycles": [100, 200, 230],
    "series": {"tile.0.l2.hits": [5, 1, 0], "tile.1.l2.hits": [0, 7, 0], "chip.ratio": [0.5, 0.5, 0.5],
               "chip.depth.mean": [5.0, null, null]}})"));
}

TEST_F(Regions, RefuseToSampleWhatDoesNotExist) {
  try {
    TimeSeries series(registry_, 100, {"tile.*.hits", "nothing.*"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--series nothing.*: no statistic of this chip has such a name");
  }
}

}  // namespace
}  // namespace rubato::chip
