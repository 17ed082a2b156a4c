// Pool of a locale, and worker of a pool. R2.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>

#include "native/engine.hpp"
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
