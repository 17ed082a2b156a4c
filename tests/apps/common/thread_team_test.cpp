// A team of threads: barriers that reduce and sum, and the frontier that stands on them.
// SPDX-License-Identifier: MIT
#include "apps/common/thread_team.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "apps/common/frontier.hpp"

namespace rubato::apps {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(ThreadTeam, RunsEachMemberOnce) {
  for (const std::uint32_t threads : {1, 2, 5, 8}) {
    std::vector<std::atomic<int>> runs(threads);
    ThreadTeam::run(threads, [&](ThreadTeam::Member& me) { ++runs[me.index()]; });
    for (const auto& run : runs) EXPECT_EQ(run, 1);
  }
}

TEST(ThreadTeam, PartsCoverEverythingOnce) {
  std::vector<std::atomic<int>> covered(10);
  ThreadTeam::run(4, [&](ThreadTeam::Member& me) {
    for (std::size_t i = me.part_begin(covered.size()); i != me.part_end(covered.size()); ++i) ++covered[i];
  });
  for (const auto& times : covered) EXPECT_EQ(times, 1);
}

TEST(ThreadTeam, NoMemberLeavesABarrierBeforeAllAreThere) {
  constexpr int kBarriers = 60;
  for (const std::uint32_t threads : {1, 2, 3, 6}) {
    std::vector<std::atomic<int>> arrived(kBarriers);
    std::atomic<int> early{0};
    ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
      for (std::atomic<int>& here : arrived) {
        ++here;
        me.barrier();
        if (here != static_cast<int>(threads)) ++early;
      }
    });
    EXPECT_EQ(early, 0) << threads << " threads";
  }
}

TEST(ThreadTeam, AllMinReturnsTheLeastOfAllToAll) {
  for (const std::uint32_t threads : {1, 2, 3, 6, 8}) {
    std::atomic<int> wrong{0};
    ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
      for (std::uint64_t least = 0; least < threads; ++least) {  // member `least` has it
        const std::uint64_t distance = (me.index() + threads - least) % threads;
        if (me.all_min(100 + distance) != 100) ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

TEST(ThreadTeam, SumBeforeAddsTheMembersBefore) {
  for (const std::uint32_t threads : {1, 2, 3, 6, 8}) {
    std::atomic<int> wrong{0};
    ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
      for (std::uint64_t i = 1; i <= 60; ++i) {
        const std::uint64_t t = me.index();  // the value of member t is i + t
        if (me.sum_before(i + t) != i * t + t * (t - 1) / 2) ++wrong;
        me.barrier();
        if (i % 3 == 0) me.barrier();
      }
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

TEST(Frontier, HandsOutWhatWasFoundOnceInEqualParts) {
  constexpr std::uint32_t kThreads = 4, kFound = 1000;
  std::vector<std::atomic<int>> visits(kFound);
  std::vector<std::size_t> parts(kThreads);
  std::atomic<bool> ends = false;
  Frontier frontier(kThreads);
  ThreadTeam::run(kThreads, [&](ThreadTeam::Member& me) {
    Frontier::Part part(frontier, me);
    for (int turn = 0; turn < 3; ++turn) {
      if (me.index() == 2) {  // one alone finds anything
        for (std::uint32_t v = 0; v < kFound; ++v) part.found().push_back(v);
      }
      part.advance();
      part.for_each([&](std::uint32_t v) { ++visits[v], ++parts[me.index()]; });
    }
    if (!part.advance()) ends = true;
  });
  for (const auto& times : visits) EXPECT_EQ(times, 3);
  EXPECT_THAT(parts, Each(3 * kFound / kThreads));
  EXPECT_TRUE(ends);
}

TEST(Frontier, OfOneVertexIsThatOfItsMember) {
  Frontier frontier(3);
  std::vector<std::vector<std::uint32_t>> seen(3);
  ThreadTeam::run(3, [&](ThreadTeam::Member& me) {
    Frontier::Part part(frontier, me);
    if (me.index() == 0) part.found().push_back(7);
    while (part.advance()) part.for_each([&](std::uint32_t v) { seen[me.index()].push_back(v); });
  });
  EXPECT_THAT(seen, ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(7)));
}

}  // namespace
}  // namespace rubato::apps
