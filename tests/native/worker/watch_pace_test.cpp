// When the watch looks again: by hand from policy.hpp, on both sides of each change.
// SPDX-License-Identifier: MIT
#include "native/worker/watch_pace.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using rubato::native::WatchPace;
using std::chrono::microseconds;

TEST(WatchPace, FindsALongHandlerWithin100MicrosecondsOfItsHurry) {
  WatchPace pace;
  pace.hurry();
  // The first look comes at once, by the wake-up, and the third one hands over.
  microseconds until_third{0};
  for (int look = 0; look < 2; ++look) {
    pace.note_look(false);
    until_third += pace.period();
  }
  EXPECT_EQ(until_third, microseconds(80));
}

TEST(WatchPace, HurriesForEightLooksHoweverQuiet) {
  WatchPace pace;
  pace.hurry();
  for (int look = 0; look < 7; ++look) {
    pace.note_look(look % 2 == 0);
    EXPECT_EQ(pace.period(), microseconds(40)) << look;
  }
  pace.note_look(true);
  EXPECT_EQ(pace.period(), microseconds(500));
}

TEST(WatchPace, LooksLessAndLessBesideAQuietTask) {
  WatchPace pace;
  pace.note_look(false);
  EXPECT_EQ(pace.period(), microseconds(500));
  pace.note_look(true);
  EXPECT_EQ(pace.period(), microseconds(562));
  for (int look = 0; look < 100; ++look) pace.note_look(true);
  EXPECT_EQ(pace.period(), microseconds(4000));
  pace.note_look(false);
  EXPECT_EQ(pace.period(), microseconds(500));
}

TEST(WatchPace, HasNoHurryWhereNoWorkerIsBusy) {
  WatchPace pace;
  pace.hurry();
  pace.note_idle();
  EXPECT_EQ(pace.period(), microseconds(500));
  pace.note_look(false);
  EXPECT_EQ(pace.period(), microseconds(500));
}

}  // namespace
