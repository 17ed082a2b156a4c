// When the watch looks again: by hand from policy.hpp, on both sides of each change.
// SPDX-License-Identifier: MIT
#include "native/worker/watch_pace.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using rubato::native::WatchPace;
using std::chrono::microseconds;
namespace policy = rubato::native::policy;

constexpr microseconds kHurried{policy::kHurriedMicroseconds}, kShortest{policy::kWatchMicroseconds};

/// Looks until the period is no hurried one any more.
unsigned hurried_looks(WatchPace& pace, bool is_quiet, bool has_turns) {
  unsigned looks = 0;
  for (; looks < 10'000; ++looks) {
    pace.note_look(is_quiet, has_turns);
    if (pace.period() != kHurried) break;
  }
  return looks;
}

TEST(WatchPace, FindsWhatALongHandlerHasSentWithin100Microseconds) {
  // The system adds about 20 to a sleep.
  EXPECT_LE(policy::kWaitedMicroseconds + policy::kHurriedMicroseconds + 20, 100u);
}

TEST(WatchPace, HurriesForEightLooksHoweverQuiet) {
  WatchPace pace;
  pace.hurry();
  EXPECT_EQ(pace.period(), kHurried);
  EXPECT_EQ(hurried_looks(pace, true, false), 7u);
  EXPECT_EQ(pace.period(), kShortest);
}

TEST(WatchPace, HurriesBesideTurnsAsLongAsSavedLooksLast) {
  WatchPace pace;
  EXPECT_EQ(hurried_looks(pace, false, true), policy::kSavedLooks);
  EXPECT_EQ(pace.period(), kShortest);
  EXPECT_EQ(hurried_looks(pace, false, true), 0u);
}

TEST(WatchPace, SpendsNothingBesideTasksThatAreNoTurns) {
  WatchPace pace;
  EXPECT_EQ(hurried_looks(pace, false, false), 0u);
  EXPECT_EQ(hurried_looks(pace, false, true), policy::kSavedLooks);
}

TEST(WatchPace, SavesALookAtATimeWhileThereIsNothingToFind) {
  WatchPace pace;
  hurried_looks(pace, false, true);
  for (int look = 0; look < 2; ++look) pace.note_look(true, true);
  for (int look = 0; look < 3; ++look) pace.note_idle();
  EXPECT_EQ(hurried_looks(pace, false, true), 5u);
  for (unsigned look = 0; look < 2 * policy::kSavedLooks; ++look) pace.note_idle();
  EXPECT_EQ(hurried_looks(pace, false, true), policy::kSavedLooks) << "not more than that";
}

TEST(WatchPace, ExpectsOthersAfterALongHandlerAndAPause) {
  WatchPace pace;
  hurried_looks(pace, false, true);
  pace.note_long_handler(std::chrono::seconds(100));
  EXPECT_EQ(hurried_looks(pace, false, true), policy::kSavedLooks);
  pace.begin();
  EXPECT_EQ(pace.period(), kHurried);
  EXPECT_EQ(hurried_looks(pace, false, true), 7 + policy::kSavedLooks);
}

/// As a clock has it that began long ago.
constexpr microseconds kBegan = std::chrono::hours(1000);

TEST(WatchPace, LooksTwiceAsFarAsFromOneLongHandlerToTheNext) {
  WatchPace pace;
  pace.note_long_handler(kBegan);
  EXPECT_EQ(hurried_looks(pace, false, true), policy::kSavedLooks) << "the first one has none before it";
  pace.note_long_handler(kBegan + 600 * kHurried);
  EXPECT_EQ(hurried_looks(pace, false, true), 1200u);
  pace.note_long_handler(kBegan + 1200 * kHurried);
  pace.begin();
  EXPECT_EQ(hurried_looks(pace, false, true), 7 + 1200u) << "also after a pause";
}

TEST(WatchPace, LooksNoFartherThanAFifthOfACpuIsWorth) {
  WatchPace pace;
  pace.note_long_handler(kBegan);
  pace.note_long_handler(kBegan + policy::kMostSavedLooks * kHurried);
  EXPECT_EQ(hurried_looks(pace, false, true), policy::kMostSavedLooks);
  WatchPace other;
  other.note_long_handler(kBegan);
  other.note_long_handler(kBegan + policy::kMostSavedLooks * kHurried + microseconds(1));
  EXPECT_EQ(hurried_looks(other, false, true), policy::kSavedLooks) << "the looks would find none";
}

TEST(WatchPace, ForgetsTheDistanceWhereNoLongHandlerFollows) {
  WatchPace pace;
  pace.note_long_handler(kBegan);
  pace.note_long_handler(kBegan + 600 * kHurried);
  hurried_looks(pace, false, true);
  pace.begin();
  EXPECT_EQ(hurried_looks(pace, false, true), 7 + 600u) << "half of it: the looks before found none";
  for (int pause = 0; pause < 3; ++pause) {
    pace.begin();
    hurried_looks(pace, false, true);
  }
  pace.begin();
  EXPECT_EQ(hurried_looks(pace, false, true), 7 + policy::kSavedLooks);
}

TEST(WatchPace, ForgetsAnEighthOfTheDistanceWithEachLongHandlerThatIsNearer) {
  WatchPace pace;
  pace.note_long_handler(kBegan);
  pace.note_long_handler(kBegan + 400 * kHurried);
  pace.note_long_handler(kBegan + 401 * kHurried);
  EXPECT_EQ(hurried_looks(pace, false, true), 700u);
}

TEST(WatchPace, LooksLessAndLessBesideAQuietTask) {
  WatchPace pace;
  pace.note_look(false, false);
  EXPECT_EQ(pace.period(), microseconds(500));
  EXPECT_FALSE(WatchPace::is_slow(pace.period()));
  pace.note_look(true, true);
  EXPECT_EQ(pace.period(), microseconds(562));
  EXPECT_TRUE(WatchPace::is_slow(pace.period()));
  for (int look = 0; look < 100; ++look) pace.note_look(true, false);
  EXPECT_EQ(pace.period(), microseconds(4000));
  pace.note_look(false, false);
  EXPECT_EQ(pace.period(), microseconds(500));
}

TEST(WatchPace, HasNoHurryWhereNoWorkerIsBusy) {
  WatchPace pace;
  pace.hurry();
  EXPECT_FALSE(WatchPace::is_unhurried(pace.period()));
  pace.note_idle();
  EXPECT_EQ(pace.period(), microseconds(500));
  EXPECT_TRUE(WatchPace::is_unhurried(pace.period()));
  pace.note_look(false, false);
  EXPECT_EQ(pace.period(), microseconds(500));
}

}  // namespace
