// The timeline runs entries in time order, and in the order of scheduling within a cycle, near and far alike.
// SPDX-License-Identifier: MIT
#include "chip/time/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

struct Recorder final : EventHandler {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  void on_event(Cycle now, std::uint32_t, std::uint64_t payload) override {
    seen.emplace_back(now.value, payload);
  }
};

TEST(Timeline, RunsEntriesOfOneCycleInTheOrderOfScheduling) {
  Timeline timeline;
  Recorder r;
  for (std::uint64_t i = 0; i < 5; ++i) timeline.schedule(Cycle{7}, &r, 0, i);
  timeline.schedule(Cycle{6}, &r, 0, 99);
  while (timeline.step()) {
  }
  ASSERT_EQ(r.seen.size(), 6u);
  EXPECT_EQ(r.seen[0], (std::pair<std::uint64_t, std::uint64_t>{6, 99}));
  for (std::uint64_t i = 0; i < 5; ++i)
    EXPECT_EQ(r.seen[i + 1], (std::pair<std::uint64_t, std::uint64_t>{7, i}));
}

TEST(Timeline, KeepsOrderBetweenFarAndNearEntriesOfOneCycle) {
  Timeline timeline;
  Recorder r;
  timeline.schedule(Cycle{5000}, &r, 0, 1);  // far when scheduled
  timeline.schedule(Cycle{4500}, &r, 0, 0);
  timeline.step();
  EXPECT_EQ(timeline.now(), Cycle{4500});
  timeline.schedule(Cycle{5000}, &r, 0, 2);  // near now
  while (timeline.step()) {
  }
  ASSERT_EQ(r.seen.size(), 3u);
  EXPECT_EQ(r.seen[1].second, 1u);
  EXPECT_EQ(r.seen[2].second, 2u);
}

TEST(Timeline, StopsBeforeThePauseAndGoesOnWhenThatIsMoved) {
  Timeline timeline;
  Recorder r;
  for (const std::uint64_t at : {3, 9, 5000}) timeline.schedule(Cycle{at}, &r);
  timeline.pause_at(Cycle{9});
  EXPECT_TRUE(timeline.step());
  EXPECT_FALSE(timeline.step());
  EXPECT_EQ(timeline.next(), Cycle{9});
  timeline.pause_at(Cycle{5000});
  EXPECT_TRUE(timeline.step());
  EXPECT_FALSE(timeline.step());
  timeline.pause_at(kNever);
  EXPECT_TRUE(timeline.step());
  EXPECT_EQ(timeline.now(), Cycle{5000});
}

TEST(Timeline, NextIsTheCycleOfTheEarliestPendingEntry) {
  Timeline timeline;
  Recorder r;
  EXPECT_EQ(timeline.next(), kNever);
  timeline.schedule(Cycle{1023}, &r);
  EXPECT_EQ(timeline.next(), Cycle{1023});
  timeline.schedule(Cycle{0}, &r);
  EXPECT_EQ(timeline.next(), Cycle{0});
  timeline.step();
  EXPECT_EQ(timeline.next(), Cycle{1023});
  timeline.step();
  EXPECT_EQ(timeline.next(), kNever);
  EXPECT_FALSE(timeline.step());
}

/// Schedules more from within: the pattern of the chip, checked against a stable sort.
struct Cascade final : EventHandler {
  Timeline* timeline = nullptr;
  Rng rng{3};
  std::uint64_t count = 0;
  Cycle last{};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> scheduled, seen;
  void add(Cycle at) {
    scheduled.emplace_back(at.value, count);
    timeline->schedule(at, this, 0, count++);
  }
  void on_event(Cycle now, std::uint32_t, std::uint64_t payload) override {
    EXPECT_GE(now, last);
    last = now;
    seen.emplace_back(now.value, payload);
    for (std::uint64_t i = rng.below(3); i > 0 && count < 20000; --i)
      add(now + (rng.below(10) == 0 ? rng.below(5000) : rng.below(1100) / (1 + rng.below(50))));
  }
};

TEST(Timeline, RunsRandomCascadesInStableTimeOrder) {
  Timeline timeline;
  Cascade cascade;
  cascade.timeline = &timeline;
  for (int i = 0; i < 100; ++i) cascade.add(Cycle{static_cast<std::uint64_t>(i) * 37});
  while (timeline.step()) {
  }
  std::stable_sort(cascade.scheduled.begin(), cascade.scheduled.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  EXPECT_GT(cascade.count, 1000u);
  EXPECT_EQ(cascade.seen, cascade.scheduled);
}

}  // namespace
}  // namespace rubato::chip
