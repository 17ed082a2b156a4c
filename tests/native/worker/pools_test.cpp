// Pool of a locale, and worker of a pool. R2.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>

#include "native/engine.hpp"
#include "native/topology/numa.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

/// A task after another of one locale, each 20 us.
void go_on_at(std::uint64_t locale, int left) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
  while (std::chrono::steady_clock::now() < end) {
  }
  if (left != 0) create<nonspec>(go_on_at, {.on = locale}, locale, left - 1);
}

native::TaskPool& pool_of(std::uint64_t locale) {
  return native::the_engine().pools.of(engine::locale_bits(locale));
}

class Pools : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, Pools, ::testing::Values(1u, 2u, 8u));

TEST_P(Pools, AreGivenToAFewLocalesOneEachAtOneWorkerAfterTheOther) {
  use_workers(GetParam());
  std::set<unsigned> indices;
  std::map<unsigned, unsigned> at_home;
  for (std::uint64_t locale = 0; locale < 16; ++locale) {
    indices.insert(pool_of(locale).index);
    ++at_home[pool_of(locale).home];
  }
  EXPECT_EQ(indices.size(), 16u);
  EXPECT_EQ(at_home.size(), GetParam());
  for (const auto& [worker, pools] : at_home) EXPECT_EQ(pools, 16 / GetParam()) << worker;
}

std::uint64_t resource_at(std::uint64_t address) { return engine::handle::kResource | address; }

/// The first homes of the pools of many resources in the addresses of a NUMA node.
std::set<unsigned> homes_of(native::SharedPools& pools, std::uint64_t node) {
  std::set<unsigned> homes;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t handle =
        resource_at(native::NodeAddresses::kFirst + node * native::NodeAddresses::kBytes + i * 1024);
    homes.insert(pools.of(handle).home);
    EXPECT_EQ(&pools.of(handle), &pools.of(handle));
  }
  return homes;
}

TEST(DividedPools, OfResourcesOnANodeHaveTheirFirstHomesThere) {
  native::SharedPools pools;
  pools.make(4, {0, 2, 2, 0});
  pools.divide();
  for (int times = 0; times < 2; ++times) {
    EXPECT_THAT(homes_of(pools, 0), testing::ElementsAre(0, 3));
    EXPECT_THAT(homes_of(pools, 2), testing::ElementsAre(1, 2));
    for (const std::uint64_t without_workers : {1, 3, 126})
      EXPECT_THAT(homes_of(pools, without_workers), testing::ElementsAre(0, 1, 2, 3)) << without_workers;
    pools.make(4, {0, 2, 2, 0});
  }
}

TEST(DividedPools, StayThoseOfOtherLocales) {
  native::SharedPools pools;
  pools.make(4, {0, 0, 1, 1});
  const std::uint64_t address = native::NodeAddresses::kFirst + native::NodeAddresses::kBytes;
  std::map<std::uint64_t, native::TaskPool*> before;
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (const std::uint64_t handle :
         {engine::handle::kLocale | (address + i * 64), resource_at(0x7f0000001000 + i * 64)})
      before[handle] = &pools.of(handle);
  }
  pools.divide();
  for (const auto& [handle, pool] : before) EXPECT_EQ(&pools.of(handle), pool);
}

TEST(DividedPools, AreTheSameOnAMachineOfOneNode) {
  native::SharedPools with, without;
  with.make(4, {5, 5, 5, 5});
  without.make(4, {});
  for (native::SharedPools* const pools : {&with, &without}) {
    pools->divide();
    EXPECT_THAT(homes_of(*pools, 5), testing::ElementsAre(0, 1, 2, 3));
  }
}

TEST(StolenPools, StayWhereTheyWereStolenTo) {
  use_workers(2);
  std::uint64_t second = 1;
  while (pool_of(second).home != pool_of(0).home) ++second;
  constexpr int kTasks = 1000;
  const std::uint64_t stolen_before = native::counters().pools_stolen;
  for (const std::uint64_t locale : {std::uint64_t{0}, second}) {
    create<nonspec>(go_on_at, {.on = locale}, locale, kTasks - 1);
  }
  run();
  EXPECT_LT(native::counters().pools_stolen - stolen_before, kTasks / 10);
}

}  // namespace
