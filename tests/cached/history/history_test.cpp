// SPDX-License-Identifier: MIT
#include "tests/cached/history/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "cached/discipline/disciplines.hpp"

namespace rubato::cached::history {
namespace {

Event event(std::uint64_t invoked, std::uint64_t responded, Kind kind, bool done, std::string value,
            std::uint64_t unique) {
  Event e;
  e.invoked = invoked, e.responded = responded, e.kind = kind, e.done = done;
  (kind == Kind::get ? e.value : e.argument) = std::move(value);
  e.unique = unique;
  return e;
}

OrderFound judged(const std::vector<Event>& events) {
  const auto hash = [](const State& state) { return state ? state->unique : 0; };
  return find_order(std::span<const Event>(events), State(), state_after, hash, std::uint64_t{1000});
}

TEST(History, WhatIsFoundWasStoredBeforeOrMeanwhile) {
  EXPECT_EQ(judged({event(1, 4, Kind::set, true, "a", 7), event(2, 3, Kind::get, true, "a", 7)}),
            OrderFound::yes);
  EXPECT_EQ(judged({event(3, 4, Kind::set, true, "a", 7), event(1, 2, Kind::get, true, "a", 7)}),
            OrderFound::no);
}

TEST(History, AnOldValueIsNotFoundAfterANewOne) {
  const Event first = event(1, 2, Kind::set, true, "a", 7), second = event(3, 8, Kind::set, true, "b", 8);
  const Event old = event(4, 5, Kind::get, true, "a", 7), fresh = event(6, 7, Kind::get, true, "b", 8);
  EXPECT_EQ(judged({first, second, old, fresh}), OrderFound::yes);
  const Event too_late = event(9, 10, Kind::get, true, "a", 7);
  EXPECT_EQ(judged({first, second, fresh, too_late}), OrderFound::no);
}

TEST(History, OneOfTwoRemovalsFindsTheItem) {
  const Event stored = event(1, 2, Kind::set, true, "a", 7);
  EXPECT_EQ(judged({stored, event(3, 6, Kind::remove, true, "", 0), event(4, 5, Kind::remove, false, "", 0)}),
            OrderFound::yes);
  EXPECT_EQ(judged({stored, event(3, 6, Kind::remove, true, "", 0), event(4, 5, Kind::remove, true, "", 0)}),
            OrderFound::no);
}

class HistoryTest : public testing::TestWithParam<Discipline> {
 protected:
  Clock clock;
};

TEST_P(HistoryTest, IsLinearizableWhileTheTableGrowsAndPagesMove) {
#ifdef __SANITIZE_THREAD__  // T96
  if (GetParam().name.starts_with("tm")) GTEST_SKIP() << "transactional units are built without sanitizers";
#endif
  std::uint64_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto cache = GetParam().make(options(), clock);
    cache->start();
    const unsigned power = cache->memory().hash_power;
    EXPECT_EQ(History(*cache, {.seed = seed}).run(), std::nullopt) << "seed " << seed;
    EXPECT_GT(cache->memory().hash_power, power);
    moved += cache->mover().pages;
  }
  EXPECT_GT(moved, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, HistoryTest, testing::ValuesIn(disciplines().begin(), disciplines().end()),
                         [](const auto& of) {
                           std::string name(of.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rubato::cached::history
