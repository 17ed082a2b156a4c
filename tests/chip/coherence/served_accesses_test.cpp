// Accesses by the state of the line that they find in the private caches, and requests by the part of the
// chip that served them: step by step, under each protocol.
// SPDX-License-Identifier: MIT
#include "chip/coherence/served_accesses.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/chip/coherence/energy/one_by_one.hpp"
#include "tests/chip/coherence/token/users.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load, kStore = AccessKind::store;
constexpr LineAddr kA{4096}, kB{4098}, kC{4100};  // of one set of an L1, which has two ways

Config four_tiles(const std::string& protocol) {
  Config config = tiny_caches(4, 1);
  config.coherence.protocol = protocol;
  config.coherence.capacity = 8;
  config.coherence.check = false;
  config.coherence.states = true;
  return config;
}

/// "shared, exclusive, modified" of the hits of a cache, and silent upgrades.
std::string hits_by_state(const OneAtATime& chip, const std::string& cache) {
  const CountsByKind counts = chip.counts();
  const auto of = [&](const std::string& kind) {
    const auto found = counts.find(kind);
    return std::to_string(found == counts.end() ? 0 : found->second);
  };
  return of(cache + ".hits_shared") + ", " + of(cache + ".hits_exclusive") + ", " +
         of(cache + ".hits_modified") + "; " + of("core.*.l1d.silent_upgrades");
}

class EveryProtocol : public testing::TestWithParam<const char*> {};

TEST_P(EveryProtocol, CountsHitsOfAnL1ByTheStateThatTheyFind) {
  OneAtATime chip(four_tiles(GetParam()));
  chip.use(0, kA, kLoad);  // from memory: exclusive
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "0, 0, 0; 0");
  chip.use(0, kA, kLoad);
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "0, 1, 0; 0");
  chip.use(0, kA, kStore);
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "0, 2, 0; 1") << "no request is needed";
  chip.use(0, kA, kLoad);
  chip.use(0, kA, kStore);
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "0, 2, 2; 1");
  chip.use(1, kA, kLoad);
  chip.use(0, kA, kLoad);
  chip.use(1, kA, kLoad);
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "2, 2, 2; 1");
  chip.use(1, kA, kStore);
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "2, 2, 2; 1") << "an upgrade is no hit, nor silent";
  const CountsByKind counts = chip.counts();
  EXPECT_EQ(counts.at("core.*.l1d.hits"), 6U);
}

TEST_P(EveryProtocol, CountsHitsOfAnL2ByTheStateOfTheTilesLine) {
  OneAtATime chip(four_tiles(GetParam()));
  for (const LineAddr line : {kA, kB, kC}) chip.use(0, line, kLoad);  // the L1 keeps the last two
  EXPECT_EQ(hits_by_state(chip, "tile.*.l2"), "0, 0, 0; 0");
  chip.use(0, kA, kStore);
  EXPECT_EQ(hits_by_state(chip, "tile.*.l2"), "0, 1, 0; 1") << "the tile had the right";
  chip.use(0, kB, kLoad);
  chip.use(0, kC, kLoad);  // A leaves the L1, modified
  EXPECT_EQ(hits_by_state(chip, "tile.*.l2"), "0, 3, 0; 1");
  chip.use(0, kA, kLoad);
  EXPECT_EQ(hits_by_state(chip, "tile.*.l2"), "0, 3, 1; 1");
  chip.use(1, kA, kLoad);
  for (const LineAddr line : {kB, kC, kA}) chip.use(0, line, kLoad);
  EXPECT_EQ(hits_by_state(chip, "tile.*.l2"), "1, 5, 1; 1");
  EXPECT_EQ(chip.counts().at("tile.*.l2.hits"), 7U);
}

TEST_P(EveryProtocol, CountsNeitherStatesNorLatenciesOfWarming) {
  OneAtATime chip(four_tiles(GetParam()));
  for (const LineAddr line : {kA, kB, kC, kA, kA})
    for (const AccessKind kind : {kLoad, kStore}) chip.warm(0, line, kind);
  EXPECT_EQ(hits_by_state(chip, "core.*.l1d"), "0, 0, 0; 0");
  EXPECT_EQ(hits_by_state(chip, "tile.*.l2"), "0, 0, 0; 0");
  for (const char* name : {"l2.latency", "llc.latency", "llc.latency_other_tile", "llc.latency_memory"})
    EXPECT_EQ(chip.latencies(std::string("tile.*.") + name).samples(), 0U) << name;
}

// However often cores took a line from one another in fast-forward, it is at rest when timed accesses begin.
TEST_P(EveryProtocol, LetsNoTimedAccessWaitForWarming) {
  const auto latency_behind = [](unsigned rounds) {
    OneAtATime chip(four_tiles(GetParam()));
    for (unsigned i = 0; i < rounds; ++i)
      for (const std::uint32_t core : {0U, 1U}) chip.warm(core, kA, kStore);
    chip.use(2, kA, kLoad);
    return chip.latencies("tile.*.llc.latency_other_tile").sum();
  };
  EXPECT_GT(latency_behind(1), 0U);
  EXPECT_EQ(latency_behind(1000), latency_behind(1));
}

INSTANTIATE_TEST_SUITE_P(Served, EveryProtocol,
                         testing::Values("mesi", "sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& of) { return std::string(of.param); });

/// Samples and sum of one histogram.
std::string latency(const MemoryHierarchy& memory, const std::string& name) {
  StatRegistry registry;
  memory.register_stats(registry);
  const Histogram& h = *registry.find(name)->histogram;
  return std::to_string(h.samples()) + ": " + std::to_string(h.sum());
}
std::string one_of(Latency cycles) { return "1: " + std::to_string(cycles); }

class EveryTokenProtocol : public testing::TestWithParam<const char*> {};

TEST_P(EveryTokenProtocol, CountsLatenciesOfRequestsAtTheHome) {
  Users users(tiles(GetParam(), 4, 1));
  const LineAddr line = users.line_of(TileId{3}, 0);
  users.ask(0, line, kLoad);
  const Latency of_memory = users.performed(0) - Cycle{0};
  EXPECT_GT(of_memory, 120U);
  EXPECT_EQ(latency(users.memory(), "tile.3.llc.latency_memory"), one_of(of_memory));
  const Cycle asked = users.now();
  users.ask(1, line, kLoad);
  const Latency of_tile = users.performed(1) - asked;
  EXPECT_LT(of_tile, 120U);
  EXPECT_EQ(latency(users.memory(), "tile.3.llc.latency_other_tile"), one_of(of_tile));
  users.ask(1, line, kLoad);  // a hit of its L1
  EXPECT_EQ(users.performed(2), users.now());
  EXPECT_EQ(latency(users.memory(), "tile.3.llc.latency_memory"), one_of(of_memory));
  EXPECT_EQ(latency(users.memory(), "tile.3.llc.latency"), "0: 0");
  EXPECT_EQ(latency(users.memory(), "tile.1.l2.latency"), "0: 0");
}

// The second core of a tile joins the request of the first: one request, one sample.
TEST_P(EveryTokenProtocol, CountsARequestOnceHoweverManyCoresWait) {
  Users users(tiles(GetParam(), 4, 2));
  const LineAddr line = users.line_of(TileId{1}, 0);
  for (const std::uint32_t core : {0U, 1U}) users.ask(core, line, kLoad);
  const Latency first = users.performed(0) - Cycle{0};
  EXPECT_EQ(latency(users.memory(), "tile.1.llc.latency_memory"), one_of(first));
  EXPECT_EQ(latency(users.memory(), "tile.0.l2.latency_other_l1").substr(0, 2), "1:")
      << "a hit, when it has come";
}

INSTANTIATE_TEST_SUITE_P(Served, EveryTokenProtocol, testing::Values("sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace rubato::chip
