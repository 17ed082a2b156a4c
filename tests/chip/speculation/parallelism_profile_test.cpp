// SPDX-License-Identifier: MIT
#include "chip/speculation/parallelism_profile.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace rubato::chip {
namespace {

using Instant = ParallelismProfile::Instant;
using Locales = std::map<Locale, ParallelismProfile::Waiting>;

Instant instant_of(std::uint32_t idle, Locales locales, std::vector<ParallelismProfile::Running> running,
                   std::uint64_t region = 1) {
  Instant instant;
  instant.region = region;
  instant.idle = idle;
  instant.locales = std::move(locales);
  instant.running = std::move(running);
  return instant;
}

TEST(ParallelismProfile, AnInstantWithoutIdleCoresExplainsNothing) {
  ParallelismProfile profile;
  profile.add(instant_of(0, {}, {{1, 100}}));
  EXPECT_EQ(profile.samples(), 1U);
  EXPECT_EQ(profile.idle_samples(), 0U);
  EXPECT_TRUE(profile.few().empty());
}

// Three of four cores are idle, and two tasks wait: they explain two, the task that runs the third.
TEST(ParallelismProfile, EachWaitingTaskExplainsOneIdleCore) {
  ParallelismProfile profile;
  profile.add(instant_of(3, {{7, {2, 100}}}, {{1, 200}}));
  EXPECT_DOUBLE_EQ(profile.locales().at(7).idle, 2);
  EXPECT_DOUBLE_EQ(profile.few().at(1), 1);
  EXPECT_DOUBLE_EQ(profile.tasks().at(1).idle, 1);
  EXPECT_EQ(profile.lone_samples(), 0U);
}

// Six tasks wait, four for a locale and two for a timestamp, and three cores are idle: half a core each.
TEST(ParallelismProfile, MoreWaitingTasksThanIdleCoresShareThem) {
  ParallelismProfile profile;
  Instant instant = instant_of(3, {{7, {4, 100}}}, {});
  instant.waiting[static_cast<unsigned>(TaskWait::timestamp)] = 2;
  profile.add(instant);
  EXPECT_DOUBLE_EQ(profile.locales().at(7).idle, 2);
  EXPECT_DOUBLE_EQ(profile.waiting(TaskWait::timestamp), 1);
  EXPECT_TRUE(profile.few().empty());
}

// A thousand spilled tasks do not outweigh the one whose reason is known.
TEST(ParallelismProfile, SpilledTasksExplainWhatNoOtherDoes) {
  ParallelismProfile profile;
  Instant instant = instant_of(3, {{7, {1, 100}}}, {});
  instant.waiting[static_cast<unsigned>(TaskWait::memory)] = 1000;
  profile.add(instant);
  EXPECT_DOUBLE_EQ(profile.locales().at(7).idle, 1);
  EXPECT_DOUBLE_EQ(profile.waiting(TaskWait::memory), 2);
}

TEST(ParallelismProfile, LoneSamplesAreCountedByRegion) {
  ParallelismProfile profile;
  for (const std::uint64_t region : {1, 1, 2}) profile.add(instant_of(3, {}, {{1, 200}}, region));
  profile.add(instant_of(2, {}, {{1, 200}, {2, 200}}, 2));
  EXPECT_EQ(profile.lone_samples(), 3U);
  EXPECT_EQ(profile.lone_regions(), 2U);
}

}  // namespace
}  // namespace rubato::chip
