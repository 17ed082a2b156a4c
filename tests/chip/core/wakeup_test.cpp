// SPDX-License-Identifier: MIT
#include "chip/core/wakeup.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rubato::chip {
namespace {

/// Goes on at the times that it is given, one after another.
struct Sleeper final : EventHandler {
  Sleeper(Timeline& t, bool goes_on_at_once) : wakeup(t, *this, 7, goes_on_at_once) {}
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t generation) override {
    EXPECT_EQ(kind, 7U);
    ++events;
    if (!wakeup.is_live(generation)) return;
    wakeup.handle(now, [this](Cycle at) {
      went_on.push_back(at.value);
      if (next.empty()) return;
      wakeup.schedule(Cycle{next.front()});
      next.erase(next.begin());
    });
  }
  Wakeup wakeup;
  std::vector<std::uint64_t> next, went_on;
  unsigned events = 0;
};

using Times = std::vector<std::uint64_t>;

void run(Timeline& timeline) {
  while (timeline.step()) {
  }
}

TEST(Wakeup, TheEarliestTimeCountsAndItsEntryIsTheOnlyLiveOne) {
  Timeline timeline;
  Sleeper sleeper{timeline, false};
  sleeper.wakeup.schedule(Cycle{50});
  sleeper.wakeup.schedule(Cycle{20});
  sleeper.wakeup.schedule(Cycle{30});
  run(timeline);
  EXPECT_EQ(sleeper.went_on, Times{20});
  EXPECT_EQ(sleeper.events, 2U) << "that of 50 is ignored, for 30 there was none";
}

TEST(Wakeup, ACancelledEntryIsIgnored) {
  Timeline timeline;
  Sleeper sleeper{timeline, false};
  sleeper.wakeup.schedule(Cycle{20});
  sleeper.wakeup.cancel();
  sleeper.wakeup.schedule(Cycle{60});
  run(timeline);
  EXPECT_EQ(sleeper.went_on, Times{60});
}

TEST(Wakeup, WhatTheHandlerSchedulesComesWhenItHasEnded) {
  Timeline timeline;
  Sleeper sleeper{timeline, false};
  sleeper.next = {25, 26};
  sleeper.wakeup.schedule(Cycle{20});
  run(timeline);
  EXPECT_EQ(sleeper.went_on, (Times{20, 25, 26}));
  EXPECT_EQ(sleeper.events, 3U);
}

TEST(Wakeup, ItGoesOnAtOnceWhereNothingElseHappensBefore) {
  Timeline timeline;
  Sleeper sleeper{timeline, true}, other{timeline, false};
  sleeper.next = {25, 30, 35};
  sleeper.wakeup.schedule(Cycle{20});
  other.wakeup.schedule(Cycle{30});
  run(timeline);
  EXPECT_EQ(sleeper.went_on, (Times{20, 25, 30, 35}));
  EXPECT_EQ(sleeper.events, 2U) << "25 at once, 30 by the timeline since another event is then, 35 at once";
}

}  // namespace
}  // namespace rubato::chip
