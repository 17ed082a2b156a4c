// A run is looked at when looks are due and at no other cycle; its observer hears of what was agreed.
// SPDX-License-Identifier: MIT
#include "chip/time/run_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "chip/time/call_clock.hpp"

namespace rubato::chip {
namespace {

using Look = RunClock::Look;
using Taken = std::vector<std::pair<std::uint64_t, Look>>;

struct Nothing final : EventHandler {
  void on_event(Cycle, std::uint32_t, std::uint64_t) override {}
};

/// Runs `timeline` to its end and takes the looks that are due.
Taken run(Timeline& timeline, RunClock& clock) {
  Taken taken;
  bool is_over = false;
  while (!timeline.empty() && !is_over) {
    if (timeline.step()) continue;
    const Cycle now = timeline.pause();
    clock.look(now, [&](Look look) {
      taken.emplace_back(now.value, look);
      is_over = look == Look::limit;
    });
  }
  return taken;
}

TEST(RunClock, TakesEachLookAtItsPeriodAndThoseOfOneCycleInOneOrder) {
  Timeline timeline;
  Nothing nothing;
  timeline.schedule(Cycle{13}, &nothing);
  RunClock clock(timeline);
  clock.every(Look::progress, 6);  // the order of these calls does not matter
  clock.every(Look::count, 4);
  clock.every(Look::sample, 6);
  clock.observe(nullptr, 12);
  const Taken expected{{4, Look::count},  {6, Look::sample},    {6, Look::progress}, {8, Look::count},
                       {12, Look::count}, {12, Look::interval}, {12, Look::sample},  {12, Look::progress}};
  EXPECT_EQ(run(timeline, clock), expected);
}

TEST(RunClock, TakesNoOtherLookAtTheLimit) {
  Timeline timeline;
  Nothing nothing;
  timeline.schedule(Cycle{20}, &nothing);
  RunClock clock(timeline);
  clock.every(Look::limit, 10);
  clock.every(Look::progress, 5);
  const Taken expected{{5, Look::progress}, {10, Look::limit}};
  EXPECT_EQ(run(timeline, clock), expected);
}

TEST(RunClock, NeverPausesWithoutALookAndLooksBeforeTheEventsOfItsCycle) {
  Timeline timeline;
  Nothing nothing;
  RunClock clock(timeline);
  clock.every(Look::sample, 0);
  EXPECT_EQ(timeline.pause(), kNever);
  clock.every(Look::sample, 7);
  timeline.schedule(Cycle{7}, &nothing);
  EXPECT_FALSE(timeline.step());  // the pause comes first
  EXPECT_EQ(run(timeline, clock), (Taken{{7, Look::sample}}));
  EXPECT_EQ(timeline.pause(), Cycle{14});
}

struct Heard final : ChipObserver {
  std::vector<std::string> calls;
  bool goes_on = true;
  void on_region_begin(Cycle at) override { calls.push_back("begin " + std::to_string(at.value)); }
  void on_region_end(Cycle at) override { calls.push_back("end " + std::to_string(at.value)); }
  void on_marker(bool begins, const std::string& name) override {
    calls.push_back((begins ? "+" : "-") + name);
  }
  void on_interval(Cycle at) override { calls.push_back("interval " + std::to_string(at.value)); }
  bool on_progress(const Progress& progress) override {
    calls.push_back("progress " + std::to_string(progress.committed));
    return goes_on;
  }
};

TEST(RunClock, TellsItsObserverOfRegionsOnce) {
  Timeline timeline;
  RunClock clock(timeline);
  Heard heard;
  clock.observe(&heard, 0);
  clock.leave_roi(Cycle{1});  // none has begun
  clock.enter_roi(Cycle{2});
  EXPECT_TRUE(clock.is_in_roi());
  clock.show_marker(true, "phase");
  clock.show_interval(Cycle{3});
  clock.show_marker(false, "phase");
  clock.leave_roi(Cycle{4});
  clock.leave_roi(Cycle{5});
  EXPECT_FALSE(clock.is_in_roi());
  EXPECT_EQ(heard.calls, (std::vector<std::string>{"begin 2", "+phase", "interval 3", "-phase", "end 4"}));
}

TEST(RunClock, LetsItsObserverEndTheRunAndGoesOnWithoutOne) {
  Timeline timeline;
  RunClock clock(timeline);
  EXPECT_TRUE(clock.show_progress({}));
  Heard heard;
  clock.observe(&heard, 0);
  EXPECT_TRUE(clock.show_progress({.committed = 3}));
  heard.goes_on = false;
  EXPECT_FALSE(clock.show_progress({.committed = 4}));
  EXPECT_EQ(heard.calls, (std::vector<std::string>{"progress 3", "progress 4"}));
}

TEST(RunClockDeathTest, RefusesARegionOfInterestInsideAnother) {
  Timeline timeline;
  RunClock clock(timeline);
  clock.enter_roi(Cycle{2});
  EXPECT_DEATH(clock.enter_roi(Cycle{3}), "inside another");
}

TEST(CallClock, IsTheLaterOfTheTimelineAndTheCall) {
  Timeline timeline;
  Nothing nothing;
  timeline.schedule(Cycle{10}, &nothing);
  CallClock clock(timeline);
  clock.begin(Cycle{6}, 3);  // a core that is ahead
  EXPECT_EQ(clock.now(), Cycle{6});
  EXPECT_EQ(clock.caller(), 3);
  clock.advance(Cycle{4});
  EXPECT_EQ(clock.now(), Cycle{6});
  timeline.step();
  EXPECT_EQ(clock.now(), Cycle{10});
  clock.set(Cycle{12});
  EXPECT_EQ(clock.now(), Cycle{12});
  EXPECT_EQ(clock.caller(), 3);
}

}  // namespace
}  // namespace rubato::chip
